"""How a person comes in: signing up, and taking an invitation."""

from collections.abc import Callable
from hmac import compare_digest
from typing import Any, Final

from flask import Blueprint, Response, flash, request, url_for
from flask_login import current_user

from relay_web.domain.people import check_email, check_password, check_team_name, slug_of
from relay_web.errors import Conflict, Forbidden, Gone, Invalid, NotFound
from relay_web.store.teams import Team
from relay_web.store.throttle import PER_ADDRESS
from relay_web.store.tickets import Ticket, TicketState
from relay_web.store.users import User
from relay_web.web import auth, mailing
from relay_web.web.forms import collect, typed
from relay_web.web.pages import confirming
from relay_web.web.parts import parts
from relay_web.web.render import fragment, page, see_other

bp = Blueprint("joining", __name__)

#: What a role means, for somebody who has not seen Relay yet.
ROLE_WORDS: Final = {
    "viewer": "sees everything, changes nothing",
    "member": "can retry, and register endpoints",
    "admin": "can also manage keys, people and secrets",
    "owner": "can do everything",
}


@bp.get("/signup")
def sign_up_page() -> Response:
    if current_user.is_authenticated:
        return see_other("/")
    return page("signup", values={}, errors={}, asks_token=_asks_token())


@bp.get("/signup/slug")
def slug_hint() -> Response:
    """The address that the typed team name will get, unless it is taken."""
    return fragment("slug_hint", slug=slug_of(request.args.get("team", "")[:100]))


@bp.post("/signup")
def sign_up() -> Response:
    """A new user who owns a new team; where Relay sends mail, once a link in it was opened."""
    asks_token = _asks_token()
    auth.slow_down(PER_ADDRESS, auth.address())
    checks: dict[str, Callable[[], Any]] = {
        "email": lambda: check_email(request.form.get("email", "")),
        "password": lambda: check_password(request.form.get("password", "")),
        "team": lambda: check_team_name(request.form.get("team", "")),
    }
    if asks_token:
        checks["token"] = _check_setup_token
    values, errors = collect(checks)
    mailer = mailing.mailer()
    # The first account is the operator's, who is there to see whether mail works.
    if not errors and mailer is not None and parts().store.accounts.users.any():
        return confirming.begin(mailer, values)
    if not errors:
        try:
            user, team = parts().store.accounts.sign_up(
                values["email"], auth.hashed(values["password"]), values["team"]
            )
        except Conflict as refused:
            errors[refused.field or "team"] = refused.message
        else:
            auth.sign_in(user)
            auth.audit_as(user, team.id, "team.made", team.id, name=team.name)
            return see_other("/")
    shown = {name: typed(name) for name in ("email", "team")}
    return page("signup", status=422, values=shown, errors=errors, asks_token=asks_token)


def _asks_token() -> bool:
    """Whether signing up needs the setup token; raises `Forbidden` where nobody may sign up.

    The very first account of a public instance is the operator's: it needs the token.
    """
    settings = parts().settings
    if parts().store.accounts.users.any():
        if settings.signup == "invite":
            raise Forbidden("People join this instance by invitation. Ask an admin of your team.")
        return False
    if settings.setup_token is None and not settings.development and settings.signup == "invite":
        raise Forbidden(
            "Set RELAY_SETUP_TOKEN to make the first account here, or run `relay bootstrap`."
        )
    return settings.setup_token is not None


def _check_setup_token() -> None:
    wanted = parts().settings.setup_token or ""
    if not compare_digest(request.form.get("token", "").encode(), wanted.encode()):
        raise Invalid("This is not the setup token; it is in RELAY_SETUP_TOKEN.")


@bp.get("/invites/<token>")
def invitation(token: str) -> Response:
    """Shows an invitation; opening it spends nothing."""
    return _invitation(token, {})


@bp.post("/invites/<token>")
def accept(token: str) -> Response:
    """Join the team: as who is signed in, or with a new account for the invited address."""
    ticket, _ = _found(token)
    if ticket is None or ticket.state is not TicketState.OPEN:
        return _invitation(token, {})
    if current_user.is_authenticated:
        return _join(auth.person().user, token)
    auth.slow_down(PER_ADDRESS, auth.address())
    values, errors = collect({"password": lambda: check_password(request.form.get("password", ""))})
    if errors:
        return _invitation(token, errors)
    try:
        user = parts().store.accounts.users.add(ticket.email, auth.hashed(values["password"]))
    except Conflict as refused:
        return _invitation(token, {"password": refused.message})
    auth.sign_in(user)
    return _join(user, token)


def _join(user: User, token: str) -> Response:
    accounts = parts().store.accounts
    try:
        ticket = accounts.invites.use(token, email=user.email)
    except Gone:
        return _invitation(token, {})
    assert ticket.team is not None
    assert ticket.role is not None
    team = accounts.teams.get(ticket.team)
    try:
        accounts.teams.join(team.id, user.id, ticket.role)
    except Conflict as refused:
        flash(refused.message, "idle")
    else:
        auth.audit_as(user, team.id, "member.joined", user.id, role=ticket.role.value)
        flash(f"You are in {team.name} now.", "ok")
    return see_other(url_for("overview.index", team=team.slug))


def _invitation(token: str, errors: dict[str, str]) -> Response:
    """One page for an invitation in any state, so that none of them tells more than the link."""
    accounts = parts().store.accounts
    ticket, team = _found(token)
    open_ = ticket is not None and team is not None and ticket.state is TicketState.OPEN
    inviter = accounts.users.get(ticket.by) if ticket and ticket.by else None
    context = {
        "token": token,
        "ticket": ticket,
        "team_name": team.name if team else "",
        "inviter": inviter.email if inviter else "Somebody who has left",
        "known": open_ and ticket is not None and accounts.users.by_email(ticket.email) is not None,
        "role_words": ROLE_WORDS,
        "errors": errors,
        "is_open": open_,
    }
    status = 422 if errors else 200 if open_ else 410
    return page("invitation", status=status, **context)


def _found(token: str) -> tuple[Ticket, Team] | tuple[None, None]:
    """The invitation and its team; neither where one of them is not there."""
    accounts = parts().store.accounts
    try:
        ticket = accounts.invites.find(token)
        return ticket, accounts.teams.get(ticket.team or "")
    except NotFound:
        return None, None
