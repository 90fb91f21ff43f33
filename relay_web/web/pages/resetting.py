"""A forgotten password. The answers never say whether an address has an account."""

from functools import partial

from flask import Blueprint, Response, flash, request, url_for

from relay_web.domain.people import check_email, check_password
from relay_web.engine.mail import Mailer
from relay_web.errors import Gone, Invalid, NotFound
from relay_web.store import Store
from relay_web.store.throttle import MAILS, PER_ADDRESS
from relay_web.store.tickets import TicketState
from relay_web.web import auth, mailing
from relay_web.web.forms import collect, typed
from relay_web.web.links import whole
from relay_web.web.parts import parts
from relay_web.web.render import page, see_other

bp = Blueprint("resetting", __name__)

_TEXT = """Somebody asked for a new password for your Relay account.

{link}

The link works once, within an hour. If it was not you, nothing has changed.
"""


@bp.get("/forgot")
def forgot_page() -> Response:
    return page("forgot", errors={}, email="", sends_mail=mailing.mailer() is not None, sent=False)


@bp.post("/forgot")
def forgot() -> Response:
    """Send a link, if there is such an account and a mail server; say the same in any case."""
    mailer = mailing.mailer()
    auth.slow_down(PER_ADDRESS, auth.address())
    try:
        email = check_email(request.form.get("email", ""))
    except Invalid as refused:
        context = {"errors": {"email": refused.message}, "email": typed("email")}
        return page("forgot", status=422, sends_mail=mailer is not None, sent=False, **context)
    if mailer is not None:
        address = whole("resetting.reset_page", token="TOKEN")
        mailing.beside(partial(_mail_link, parts().store, mailer, email, address))
    return page("forgot", errors={}, email=email, sends_mail=mailer is not None, sent=True)


@bp.get("/reset/<token>")
def reset_page(token: str) -> Response:
    """Asks for the new password; opening the link spends nothing."""
    return _reset(token, {})


@bp.post("/reset/<token>")
def reset(token: str) -> Response:
    """Set the password and end every sign-in; the link is used up."""
    values, errors = collect({"password": lambda: check_password(request.form.get("password", ""))})
    if errors:
        return _reset(token, errors)
    accounts = parts().store.accounts
    hashed = auth.hashed(values["password"])
    try:
        ticket = accounts.resets.use(token)
    except (Gone, NotFound):
        return _reset(token, {})
    assert ticket.user is not None
    accounts.users.set_password(ticket.user, hashed)
    if (user := accounts.users.get(ticket.user)) is not None:
        auth.audit_as(user, None, "user.password_reset", user.id)
    flash("Your password is set. Sign in with it.", "ok")
    return see_other(url_for("account.sign_in_page"))


def _reset(token: str, errors: dict[str, str]) -> Response:
    try:
        is_open = parts().store.accounts.resets.find(token).state is TicketState.OPEN
    except NotFound:
        is_open = False
    status = 422 if errors else 200 if is_open else 410
    return page("reset", status=status, token=token, errors=errors, is_open=is_open)


def _mail_link(store: Store, mailer: Mailer, email: str, address: str) -> None:
    user = store.accounts.users.by_email(email)
    if user is None or store.throttle.hit(MAILS, email):
        return
    _, token = store.accounts.resets.reset(user=user.id, email=email)
    link = address.replace("TOKEN", token)
    mailer.send(email, "A new password for Relay", _TEXT.format(link=link))
