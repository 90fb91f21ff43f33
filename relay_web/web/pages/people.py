"""A team's members and open invitations."""

from typing import Final

from flask import Response, flash, g, request

from relay_web.domain.people import check_email
from relay_web.domain.roles import Deed, Role
from relay_web.engine.mail import Mailer
from relay_web.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from relay_web.store.teams import Membership
from relay_web.store.throttle import MAILS
from relay_web.web import auth
from relay_web.web.forms import typed
from relay_web.web.links import whole
from relay_web.web.pages import allow, audited, team_area
from relay_web.web.parts import parts
from relay_web.web.render import address, page, see_other

bp = team_area("settings", "/settings")

_MAIL: Final = """{inviter} invites you to the team {team} on Relay, as {role}.

{link}

The link works once, within 7 days.
"""


@bp.get("")
def index() -> Response:
    return _people({}, link="")


@bp.post("/invites")
def invite() -> Response:
    """Make a link for one address; it is mailed too, where there is a mail server."""
    allow(Deed.ADMINISTER)
    try:
        email, role = check_email(request.form.get("email", "")), _role()
        _check_may_give(role)
        _check_not_member(email)
        auth.slow_down(MAILS, f"{g.team.id} {email}")
        ticket, token = parts().store.accounts.invites.invite(
            team=g.team.id, email=email, role=role, by=g.access.person.id
        )
    except (Invalid, Conflict) as refused:
        return _people({"email": refused.message}, status=refused.status)
    audited("invite.made", ticket.id, email=email, role=role.value)
    return _shown_once(email, role, token)


@bp.post("/invites/<ticket>/resend")
def resend(ticket: str) -> Response:
    """A new link in place of one that was lost; the old one ends."""
    allow(Deed.ADMINISTER)
    invites = parts().store.accounts.invites
    old = next((each for each in invites.of_team(g.team.id) if each.id == ticket), None)
    if old is None or old.role is None:
        raise NotFound
    _check_may_give(old.role)
    auth.slow_down(MAILS, f"{g.team.id} {old.email}")
    invites.withdraw(g.team.id, ticket)
    made, token = invites.invite(
        team=g.team.id, email=old.email, role=old.role, by=g.access.person.id
    )
    audited("invite.resent", made.id, email=old.email)
    return _shown_once(old.email, old.role, token)


@bp.post("/invites/<ticket>/withdraw")
def withdraw(ticket: str) -> Response:
    allow(Deed.ADMINISTER)
    parts().store.accounts.invites.withdraw(g.team.id, ticket)
    audited("invite.withdrawn", ticket)
    flash("The invitation was withdrawn.", "ok")
    return see_other(address("settings.index"))


@bp.post("/members/<user>/role")
def set_role(user: str) -> Response:
    """Give a member another role; what touches an owner takes an owner."""
    allow(Deed.ADMINISTER)
    member, role = _member(user), _role()
    _check_may_change(member)
    _check_may_give(role)
    try:
        parts().store.accounts.teams.set_role(g.team.id, user, role)
    except Conflict as refused:
        return _people({user: refused.message}, status=refused.status)
    audited("member.role_changed", user, before=member.role.value, now=role.value)
    flash(f"{_email(user)} is now {role.value}.", "ok")
    return see_other(address("settings.index"))


@bp.post("/members/<user>/remove")
def remove(user: str) -> Response:
    """Take a person out of the team; anyone may take out themselves."""
    own = user == g.access.person.id
    if not own:
        allow(Deed.ADMINISTER)
        _check_may_change(_member(user))
    try:
        parts().store.accounts.teams.remove(g.team.id, user)
    except Conflict as refused:
        return _people({user: refused.message}, status=refused.status)
    audited("member.left" if own else "member.removed", user)
    flash(f"You have left {g.team.name}." if own else f"{_email(user)} was removed.", "ok")
    return see_other("/" if own else address("settings.index"))


def _people(errors: dict[str, str], *, link: str = "", status: int = 200) -> Response:
    accounts = parts().store.accounts
    members = accounts.teams.members(g.team.id)
    users = accounts.users.by_ids([member.user for member in members])
    invites = accounts.invites.of_team(g.team.id) if g.access.may(Deed.ADMINISTER) else []
    return page(
        "people",
        status=status,
        members=[(member, users[member.user]) for member in members if member.user in users],
        invites=invites,
        roles=[role.value for role in Role if g.access.role.covers(role)],
        errors=errors,
        email=typed("email"),
        link=link,
        owners=sum(member.role is Role.OWNER for member in members),
    )


def _shown_once(email: str, role: Role, token: str) -> Response:
    link = whole("joining.invitation", token=token)
    url = parts().settings.smtp_url
    if url:
        text = _MAIL.format(
            inviter=g.access.person.email, team=g.team.name, role=role.value, link=link
        )
        try:
            Mailer(url).send(email, f"{g.team.name} on Relay", text)
        except Unavailable as refused:
            flash(refused.message, "wait")
        else:
            flash(f"The invitation was mailed to {email}.", "ok")
    return _people({}, link=link)


def _role() -> Role:
    try:
        return Role(request.form.get("role", ""))
    except ValueError:
        raise Invalid("Choose one of the roles.", field="role") from None


def _member(user: str) -> Membership:
    found = parts().store.accounts.teams.membership(g.team.id, user)
    if found is None:
        raise NotFound
    return found


def _email(user: str) -> str:
    found = parts().store.accounts.users.get(user)
    return found.email if found else "A member"


def _check_not_member(email: str) -> None:
    accounts = parts().store.accounts
    user = accounts.users.by_email(email)
    if user is not None and accounts.teams.membership(g.team.id, user.id) is not None:
        raise Conflict("Already a member of this team.", field="email")


def _check_may_give(role: Role) -> None:
    if not g.access.role.covers(role):
        raise Forbidden("Only an owner can make somebody an owner.")


def _check_may_change(member: Membership) -> None:
    if not g.access.role.covers(member.role):
        raise Forbidden("Only an owner can change an owner.")
