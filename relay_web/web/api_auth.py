"""API keys: read from the Authorization header alone, remembered for less than two seconds."""

import re
import time
from dataclasses import dataclass
from typing import Final

from flask import Flask, current_app, g, request

from relay_web.domain.roles import Deed, scope_for, scopes_may
from relay_web.errors import BadRequest, Forbidden, NotFound, TooMany, Unauthorized
from relay_web.store.api_keys import ApiKey
from relay_web.store.audit import Entry
from relay_web.store.teams import Team
from relay_web.store.throttle import BAD_KEYS
from relay_web.web.parts import parts
from relay_web.web.rates import Rates
from relay_web.web.request_ids import request_id

#: Seconds a key is believed without asking the database: revocation works everywhere within 2 s.
FRESH: Final = 1.5
_REMEMBERED: Final = 1000
_KEY: Final = re.compile(r"rk_[0-9A-Za-z]{40}")
_BEARER: Final = re.compile(r"Bearer +(\S+)", re.IGNORECASE)
#: What each deed is called in "This key cannot …".
_IN_WORDS: Final = {Deed.PUBLISH: "publish", Deed.SEE: "read"}


@dataclass(frozen=True, slots=True)
class Caller:
    """The program that asks: its team, and the key it came with."""

    team: str
    key: ApiKey

    @property
    def name(self) -> str:
        """How timelines and the audit log call it."""
        return f"key {self.key.prefix}…"


class KeyRing:
    """Keys seen lately by this process. Only live keys are remembered, refusals never."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[ApiKey, Team, float]] = {}

    def find(self, text: str) -> tuple[ApiKey, Team] | None:
        """The live key of this text and its team; raises `Unavailable`."""
        now = time.monotonic()
        found = self._seen.get(text)
        if found is not None and now - found[2] < FRESH:
            return found[:2]
        self._seen.pop(text, None)
        accounts = parts().store.accounts
        key = accounts.keys.find(text)
        if key is None:
            return None
        try:
            team = accounts.teams.get(key.team)
        except NotFound:  # a deleted team's keys are worth nothing
            return None
        accounts.keys.used(key)
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[text] = (key, team, now)
        return key, team


def register(app: Flask) -> None:
    """Give this process its memory of keys and its count of requests."""
    app.extensions["relay_keys"] = KeyRing()
    app.extensions["relay_rates"] = Rates()


def caller(deed: Deed) -> Caller:
    """Who may do `deed` with the key of this request.

    Raises `Unauthorized` (in one text for unknown, revoked and expired keys), `Forbidden` naming
    the scope, `BadRequest` for a key in the address, or `TooMany` after many wrong keys.
    """
    ring: KeyRing = current_app.extensions["relay_keys"]
    _refuse_key_in_address(ring)
    header = request.headers.get("Authorization")
    found = _BEARER.fullmatch(header) if header else None
    if found is None:
        raise Unauthorized
    text = found.group(1)
    known = ring.find(text) if _KEY.fullmatch(text) else None
    if known is None:
        _slow_down_guessing()
        raise Unauthorized("This API key is not valid.")
    key, team = known
    if team.suspended is not None:
        raise Forbidden(f"This team is suspended: {team.suspended}.", code="team_suspended")
    if wait := current_app.extensions["relay_rates"].take(team.id):
        raise TooMany(
            f"This team sends too many requests. Try again in {wait} s.", retry_after=wait
        )
    if not scopes_may(key.scopes, deed):
        needed = scope_for(deed)
        what = _IN_WORDS.get(deed, "change anything")
        raise Forbidden(f"This key cannot {what}; scope needed: {needed}.", code="scope_missing")
    g.caller = Caller(key.team, key)
    asking: Caller = g.caller
    return asking


def _slow_down_guessing() -> None:
    address = request.remote_addr or ""
    if wait := parts().store.throttle.hit(BAD_KEYS, address):
        raise TooMany(f"Too many wrong keys. Try again in {wait} s.", retry_after=wait)


def _refuse_key_in_address(ring: KeyRing) -> None:
    """Addresses end up in logs, so a key there has leaked: say so, and leave a mark (B5)."""
    leaked = next(filter(None, map(_KEY.search, request.args.values())), None)
    if leaked is None and not request.args.keys() & {"api_key", "apikey", "access_token"}:
        return
    known = ring.find(leaked.group()) if leaked else None
    if known is not None:
        key, _ = known
        parts().store.audit.record(
            Entry(
                team=key.team,
                action="key.leaked_in_address",
                actor=key.id,
                who=f"key {key.prefix}…",
                target=key.id,
                address=request.remote_addr or "",
                request_id=request_id(),
            )
        )
    raise BadRequest(
        "Put the key in the Authorization header, and replace this one: addresses are logged.",
        code="key_in_address",
    )
