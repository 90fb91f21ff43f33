"""Where a person is signed in, and their password."""

from flask import Blueprint, Response, flash, request, url_for

from relay_web.domain.people import check_password
from relay_web.errors import Invalid, TooMany
from relay_web.web import auth
from relay_web.web.parts import parts
from relay_web.web.render import page, see_other

bp = Blueprint("devices", __name__, url_prefix="/account")


@bp.get("/devices")
def index() -> Response:
    return _devices({})


@bp.post("/devices/<session>/end")
def end(session: str) -> Response:
    """Sign one browser out."""
    who = auth.person()
    parts().store.accounts.sessions.end(who.id, session)
    auth.audit_as(who.user, None, "user.device_ended", who.id)
    flash("That browser is signed out.", "ok")
    return see_other(url_for("devices.index"))


@bp.post("/devices/end-others")
def end_others() -> Response:
    """Sign out everywhere but here."""
    who = auth.person()
    parts().store.accounts.sessions.end_others(who.id, who.session.id)
    auth.audit_as(who.user, None, "user.devices_ended", who.id)
    flash("Every other browser is signed out.", "ok")
    return see_other(url_for("devices.index"))


@bp.post("/password")
def set_password() -> Response:
    """A new password; every browser but this one is signed out."""
    who = auth.person()
    try:
        auth.check_credentials(who.email, request.form.get("current", ""))
    except (Invalid, TooMany) as refused:
        wrong = isinstance(refused, Invalid)
        said = "This is not your current password." if wrong else refused.message
        return _devices({"current": said}, status=refused.status)
    try:
        password = check_password(request.form.get("password", ""))
    except Invalid as refused:
        return _devices({"password": refused.message}, status=422)
    users = parts().store.accounts.users
    users.set_password(who.id, auth.hashed(password))
    user = users.get(who.id)
    assert user is not None
    auth.sign_in(user)
    auth.audit_as(user, None, "user.password_changed", user.id)
    flash("Your password is changed, and every other browser is signed out.", "ok")
    return see_other(url_for("devices.index"))


def _devices(errors: dict[str, str], *, status: int = 200) -> Response:
    who = auth.person()
    sessions = parts().store.accounts.sessions.of_user(who.user)
    return page("devices", status=status, sessions=sessions, here=who.session.id, errors=errors)
