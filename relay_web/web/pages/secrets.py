"""An endpoint's signing secret: shown and replaced by admins, after their password, and audited."""

from datetime import timedelta
from typing import Final

from flask import Response, flash, g, request, session

from relay_web.engine.registration import rotate_secret
from relay_web.errors import Conflict, Invalid, TooMany
from relay_web.web import auth
from relay_web.web.pages import allow, audited
from relay_web.web.pages.endpoints import SHOW_ONCE, bp
from relay_web.web.parts import parts
from relay_web.web.render import address, fragment, now, page, see_other, wants_part

OVERLAPS: Final = {
    "0": "at once",
    "1": "after 1 hour",
    "24": "after 24 hours",
    "72": "after 3 days",
}


@bp.post("/<endpoint_id>/reveal")
def reveal(endpoint_id: str) -> Response:
    """The secret in clear, for half a minute; the password is asked again where it is long ago."""
    allow("secrets")
    found = parts().store.endpoints.get(g.team.id, endpoint_id)
    error = _confirmed()
    shown = "" if error else parts().vault.open(found.id, found.secrets[0].sealed)
    if shown:
        audited("endpoint.secret_revealed", endpoint_id)
    context = {
        "endpoint": found,
        "live_secrets": found.live_secrets(now()),
        "revealed": shown,
        "ask_password": bool(error),
        "password_error": error if request.form.get("password") else "",
    }
    status = 422 if error else 200
    if wants_part():
        return fragment("secret", status=status, **context)
    return page("secret", status=status, **context)


@bp.post("/<endpoint_id>/rotate")
def rotate(endpoint_id: str) -> Response:
    """A new secret; the old one also signs until the overlap is over."""
    allow("secrets")
    hours = request.form.get("overlap", "24")
    overlap = timedelta(hours=int(hours)) if hours in OVERLAPS else timedelta(hours=24)
    try:
        rotate_secret(parts().store, parts().vault, g.team.id, endpoint_id, overlap=overlap)
    except (Conflict, Invalid) as refused:
        flash(refused.message, "wait")
    else:
        audited("endpoint.secret_rotated", endpoint_id, overlap=str(int(overlap.total_seconds())))
        session[SHOW_ONCE] = endpoint_id
        flash(f"The secret was rotated. The old one stops {OVERLAPS.get(hours, '')}.", "ok")
    return see_other(address("endpoints.show", endpoint_id=endpoint_id) + "#secret")


@bp.post("/<endpoint_id>/secrets/<secret_id>/end")
def end(endpoint_id: str, secret_id: str) -> Response:
    """An old secret stops signing before its time."""
    allow("secrets")
    found = parts().store.endpoints.end_secret(g.team.id, endpoint_id, secret_id)
    audited("endpoint.secret_ended", endpoint_id)
    if wants_part():
        heard = "The old secret has stopped."
        kept = found.live_secrets(now())
        return fragment("secret", "say", heard=heard, endpoint=found, live_secrets=kept)
    flash("The old secret has stopped.", "ok")
    return see_other(address("endpoints.show", endpoint_id=endpoint_id) + "#secret")


def _confirmed() -> str:
    """Empty once the person's password is fresh; else the sentence that asks for it."""
    if auth.is_confirmed():
        return ""
    try:
        auth.confirm(request.form.get("password", ""))
    except (Invalid, TooMany) as refused:
        return refused.message
    return ""
