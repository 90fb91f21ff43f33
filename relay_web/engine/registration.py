"""Registering and changing endpoints: the one path for form, API and demo.

Each check raises `Invalid` naming its field before anything is written, so nothing is half saved.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from relay_web.clock import new_id
from relay_web.domain import limits
from relay_web.domain.endpoint import Endpoint, KeyPair, SealedSecret
from relay_web.domain.event_type import check_patterns
from relay_web.domain.headers import StoredHeaders, check_headers, sealed
from relay_web.domain.signing import (
    decode_private_key,
    decode_secret,
    new_private_key,
    new_secret,
    public_key,
)
from relay_web.domain.target import EgressPolicy, check_url
from relay_web.domain.vault import Vault
from relay_web.errors import Invalid
from relay_web.store import Store

#: How long an old secret also signs, unless the caller says otherwise (reliability G6).
DEFAULT_OVERLAP: Final = timedelta(hours=24)
LONGEST_OVERLAP: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An endpoint as somebody asked for it, unchecked. None leaves a thing at its default."""

    url: str
    name: str | None = None
    event_types: Sequence[str] | None = None
    headers: Mapping[str, str] | None = None
    rate_per_second: int | None = None
    max_in_flight: int | None = None
    ordered: bool = False
    description: str | None = None
    secret: str | None = None
    #: Sign with an Ed25519 key of its own too.
    ed25519: bool = False
    retry_schedule: Sequence[float] | None = None


class Registered(NamedTuple):
    """A new endpoint and its signing secret in clear, which is shown this once."""

    endpoint: Endpoint
    secret: str


def register(
    store: Store,
    vault: Vault,
    policy: EgressPolicy,
    team: str,
    draft: Draft,
    *,
    action_id: str | None = None,
) -> Registered:
    """Check and store a new endpoint; the same `action_id` again gives the one it made.

    Raises `Invalid` with the field, or `Conflict` at the team's limit.
    """
    url = check_url(draft.url, policy)
    # A host name that is longer than a name may be is cut, not refused: nobody typed it as a name.
    name = (draft.name or "").strip() or (urlsplit(url).hostname or url)[: limits.NAME]
    checked = _checked(draft)
    secret = draft.secret or new_secret()
    decode_secret(secret)
    now, endpoint_id = store.now(), new_id("ep")
    endpoint = Endpoint(
        id=endpoint_id,
        team=team,
        url=url,
        name=limits.check_line(name, field="name"),
        created_at=now,
        state_since=now,
        ordered=draft.ordered,
        headers=_sealed(vault, endpoint_id, draft.headers or {}),
        secrets=(SealedSecret(new_id("sec"), vault.seal(endpoint_id, secret), now),),
        key_pair=_new_key_pair(vault, endpoint_id) if draft.ed25519 else None,
        **checked,
    )
    kept = store.endpoints.add(endpoint, action_id=action_id)
    if kept is not endpoint:  # the form was sent twice: the first one's secret is the true one
        secret = vault.open(kept.id, kept.secrets[0].sealed) if kept.secrets else ""
    return Registered(kept, secret)


def _checked(draft: Draft) -> dict[str, Any]:
    """The optional fields that were asked for, each through its check."""
    asked = {
        "event_types": draft.event_types,
        "rate_per_second": draft.rate_per_second,
        "max_in_flight": draft.max_in_flight,
        "description": draft.description,
        "retry_schedule": draft.retry_schedule,
    }
    return {key: CHECKS[key](value) for key, value in asked.items() if value is not None}


def edit(
    store: Store,
    vault: Vault,
    policy: EgressPolicy,
    team: str,
    endpoint_id: str,
    changes: Mapping[str, Any],
    *,
    rev: int | None = None,
) -> Endpoint:
    """Check and store `changes`: Draft fields but the secret; None puts one back to its default.

    Raises `Invalid` with the field, `NotFound`, or `Conflict` for a `rev` that has passed.
    """
    before = store.endpoints.get(team, endpoint_id)
    stored: dict[str, Any] = {}
    for key, value in changes.items():
        if value is None:
            if key in ("url", "name"):
                raise Invalid("This cannot be empty.", field=key)
            stored["key_pair" if key == "ed25519" else key] = None
        elif key == "url":
            stored[key] = check_url(value, policy)
        elif key == "headers":
            pairs = _sealed(vault, endpoint_id, value, before.headers)
            stored[key] = [list(pair) for pair in pairs]
        elif key == "ed25519":
            pair = before.key_pair or _new_key_pair(vault, endpoint_id)
            stored["key_pair"] = pair.to_doc() if _flag(value, key) else None
        else:
            stored[key] = CHECKS[key](value)
    if not stored:
        return before
    return store.endpoints.update(team, endpoint_id, rev, stored)


def rotate_secret(
    store: Store,
    vault: Vault,
    team: str,
    endpoint_id: str,
    *,
    overlap: timedelta = DEFAULT_OVERLAP,
    secret: str | None = None,
) -> Registered:
    """A new secret that signs at once; the old ones also sign until `overlap` is over (0: end now).

    Raises `Invalid`, `NotFound`, or `Conflict` where four old ones still sign.
    """
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise Invalid("Use an overlap from 0 seconds to 7 days.", field="overlap")
    text = secret or new_secret()
    decode_secret(text)
    sealed = SealedSecret(new_id("sec"), vault.seal(endpoint_id, text), store.now())
    endpoint = store.endpoints.add_secret(team, endpoint_id, sealed, overlap=overlap)
    return Registered(endpoint, text)


def _sealed(
    vault: Vault, endpoint_id: str, headers: Mapping[str, str], kept: StoredHeaders = ()
) -> StoredHeaders:
    return sealed(check_headers(headers), lambda value: vault.seal(endpoint_id, value), kept)


def _new_key_pair(vault: Vault, endpoint_id: str) -> KeyPair:
    private = new_private_key()
    return KeyPair(vault.seal(endpoint_id, private), public_key(decode_private_key(private)))


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid("Use true or false.", field=field)
    return value


#: The check of each field that needs nothing but its value.
CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "name": lambda value: limits.check_line(value, field="name"),
    "event_types": check_patterns,
    "rate_per_second": lambda value: limits.check_whole(
        value, limits.RATE, field="rate_per_second"
    ),
    "max_in_flight": lambda value: limits.check_whole(
        value, limits.IN_FLIGHT, field="max_in_flight"
    ),
    "ordered": lambda value: _flag(value, "ordered"),
    "description": lambda value: limits.check_text(value, field="description"),
    "retry_schedule": limits.check_schedule,
}
