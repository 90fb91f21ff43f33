"""Signing up where the instance sends mail: the link in it makes the account.

So the form answers the same whether or not the address has one. Without a mail server it cannot:
whoever signs up is let in at once, or told that the address is taken.
"""

from functools import partial
from typing import Any, Final

from flask import Blueprint, Response

from relay_web.engine.mail import Mailer
from relay_web.errors import Conflict, Gone, NotFound
from relay_web.store import Store
from relay_web.store.throttle import MAILS
from relay_web.store.tickets import Ticket, TicketState
from relay_web.web import auth, mailing
from relay_web.web.links import whole
from relay_web.web.parts import parts
from relay_web.web.render import page, see_other

bp = Blueprint("confirming", __name__)

_SUBJECT: Final = "Your Relay account"
_NEW: Final = """Somebody signed up for Relay with this address.

{link}

The link works once, within a day. If it was not you, nothing has happened.
"""
_KNOWN: Final = """Somebody signed up for Relay with this address, which has an account already.

Sign in, or choose a new password there: {link}

If it was not you, nothing has changed.
"""


def begin(mailer: Mailer, wish: dict[str, Any]) -> Response:
    """Mail the link, or that there is an account; `wish` is email, password and team, checked."""
    store, hashed = parts().store, auth.hashed(wish["password"])
    links = {
        "new": whole("confirming.confirm_page", token="TOKEN"),
        "known": whole("account.sign_in_page"),
    }
    mailing.beside(partial(_mail, store, mailer, wish["email"], hashed, wish["team"], links))
    return page("signup_sent", email=wish["email"])


@bp.get("/signup/confirm/<token>")
def confirm_page(token: str) -> Response:
    """Asks to go on; opening the link spends nothing."""
    return _shown(_find(token), token)


@bp.post("/signup/confirm/<token>")
def confirm(token: str) -> Response:
    """Make the account and its team, and let the person in; the link is used up."""
    accounts = parts().store.accounts
    try:
        ticket = accounts.signups.use(token)
        user, team = accounts.sign_up(
            ticket.email, ticket.password_hash or "", ticket.team_name or ""
        )
    except (Gone, NotFound, Conflict):
        return _shown(_find(token), token)
    auth.sign_in(user)
    auth.audit_as(user, team.id, "team.made", team.id, name=team.name)
    return see_other("/")


def _find(token: str) -> Ticket | None:
    try:
        return parts().store.accounts.signups.find(token)
    except NotFound:
        return None


def _shown(ticket: Ticket | None, token: str) -> Response:
    is_open = ticket is not None and ticket.state is TicketState.OPEN
    status = 200 if is_open else 410
    return page("signup_confirm", status=status, ticket=ticket, token=token, is_open=is_open)


def _mail(
    store: Store, mailer: Mailer, email: str, hashed: str, team: str, links: dict[str, str]
) -> None:
    if store.throttle.hit(MAILS, email):
        return
    if store.accounts.users.by_email(email) is None:
        _, token = store.accounts.signups.sign_up(email=email, password_hash=hashed, team=team)
        text = _NEW.format(link=links["new"].replace("TOKEN", token))
    else:
        text = _KNOWN.format(link=links["known"])
    mailer.send(email, _SUBJECT, text)
