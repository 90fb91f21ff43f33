"""A team's API keys: made, shown once, revoked."""

import hashlib
import hmac
from datetime import timedelta
from typing import Final

from flask import Response, flash, g, request

from relay_web.domain.limits import check_line
from relay_web.domain.roles import Deed, Scope
from relay_web.errors import Invalid
from relay_web.store.api_keys import key_from
from relay_web.web.forms import collect, typed
from relay_web.web.pages import allow, audited
from relay_web.web.pages.people import bp
from relay_web.web.parts import parts
from relay_web.web.render import address, now, page, see_other

SCOPE_WORDS: Final = {
    Scope.PUBLISH: "send events",
    Scope.READ: "read everything but secrets",
    Scope.ADMIN: "everything, endpoints and retries included",
}
LIVES: Final = {"": "never", "30": "in 30 days", "90": "in 90 days", "365": "in a year"}


@bp.get("/keys")
def keys() -> Response:
    return _keys({}, made="")


@bp.post("/keys")
def make_key() -> Response:
    """A new key, shown in this answer only; the same form sent again shows the same one."""
    allow(Deed.ADMINISTER)
    values, errors = collect(
        {
            "name": lambda: check_line(request.form.get("name", ""), field="name", longest=60),
            "scope": _scopes,
            "life": _life,
        }
    )
    if errors:
        return _keys(errors, made="", status=422)
    key, text = parts().store.accounts.keys.add(
        g.team.id,
        name=values["name"],
        scopes=values["scope"],
        by=g.access.person.email,
        expires_at=now() + values["life"] if values["life"] else None,
        key=_text(),
    )
    audited("key.made", key.id, name=key.name, scopes=" ".join(sorted(key.scopes)))
    return _keys({}, made=text)


@bp.post("/keys/<key>/revoke")
def revoke_key(key: str) -> Response:
    allow(Deed.ADMINISTER)
    parts().store.accounts.keys.revoke(g.team.id, key)
    audited("key.revoked", key)
    flash("The key was revoked; it stops everywhere within 2 seconds.", "ok")
    return see_other(address("settings.keys"))


def _keys(errors: dict[str, str], *, made: str, status: int = 200) -> Response:
    return page(
        "keys",
        status=status,
        keys=parts().store.accounts.keys.of_team(g.team.id),
        made=made,
        errors=errors,
        value=typed("name"),
        scopes=SCOPE_WORDS,
        lives=LIVES,
    )


def _scopes() -> list[Scope]:
    try:
        scopes = [Scope(text) for text in request.form.getlist("scope")]
    except ValueError:
        raise Invalid("Choose among the scopes shown.") from None
    if not scopes:
        raise Invalid("Choose at least one scope.")
    return scopes


def _life() -> timedelta | None:
    text = request.form.get("life", "")
    if text not in LIVES:
        raise Invalid("Choose one of the times shown.")
    return timedelta(days=int(text)) if text else None


def _text() -> str | None:
    """The key that this one form makes: a second click gives it again instead of another one."""
    action = request.form.get("action_id", "")
    if not action:
        return None
    label = f"key of form {action} by {g.access.person.id} in {g.team.id}".encode()
    return key_from(hmac.digest(parts().settings.secret_key.encode(), label, hashlib.sha512))
