"""Who asks: a person with a sign-in cookie, or a program with an API key. Never both."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from flask import Flask, g, request, session
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user

from relay_web.clock import utcnow
from relay_web.domain.people import check_email, hash_password, password_matches
from relay_web.domain.roles import IN_WORDS, NEEDED_ROLE, Deed, Role, role_may
from relay_web.errors import Forbidden, Invalid, NotFound, TooMany, Unauthorized
from relay_web.store.audit import Entry
from relay_web.store.teams import Membership, Team
from relay_web.store.throttle import PER_ACCOUNT, PER_ADDRESS, Rule
from relay_web.store.users import SESSION_DAYS, Session, User
from relay_web.web.native import in_thread
from relay_web.web.parts import parts
from relay_web.web.request_ids import request_id

#: A password typed this recently need not be typed again to see a secret (reliability W15).
CONFIRMED_FOR: Final = timedelta(minutes=15)
_TOUCH_AFTER: Final = timedelta(minutes=1)
_WRONG: Final = "Email or password is wrong."
_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")


class Person(UserMixin):  # type: ignore[misc]
    """The signed-in user behind `current_user`."""

    def __init__(self, user: User, signed_in: Session, token: str) -> None:
        self.user = user
        self.session = signed_in
        self.id = user.id
        self.email = user.email
        self._token = token

    def get_id(self) -> str:
        """What the cookie holds: the token of this one browser's sign-in."""
        return self._token


def register(app: Flask) -> None:
    """Load the person of each page request; the API never reads the cookie."""
    manager = LoginManager()
    manager.session_protection = None  # bound to the database's sign-in, not to a moving address
    manager.user_loader(_load)
    manager.init_app(app)
    app.permanent_session_lifetime = timedelta(days=SESSION_DAYS)


def _load(token: str) -> Person | None:
    sessions = parts().store.accounts.sessions
    found = sessions.find(token)
    if found is None:
        return None
    signed_in, user = found
    if utcnow() - signed_in.seen_at > _TOUCH_AFTER:
        sessions.touch(signed_in.id)
    return Person(user, signed_in, token)


def person() -> Person:
    """Who is signed in; raises `Unauthorized`, which leads to the sign-in page."""
    if not current_user.is_authenticated:
        raise Unauthorized("Sign in first.")
    found: Person = current_user._get_current_object()
    return found


def check_credentials(email: str, password: str) -> User:
    """The user with this password; counts the try first.

    Raises `TooMany` with the seconds to wait, or `Invalid` in the same words and after the same
    time whether the user is unknown or the password is wrong.
    """
    accounts = parts().store.accounts
    subject = email.strip().casefold()
    slow_down(PER_ADDRESS, address())
    slow_down(PER_ACCOUNT, subject)
    try:
        user = accounts.users.by_email(check_email(email))
    except Invalid:
        user = None
    right = in_thread(password_matches, user.password_hash if user else None, password)
    if user is None or not right:
        raise Invalid(_WRONG, code="wrong_credentials")
    parts().store.throttle.clear(PER_ACCOUNT, subject)
    return user


def slow_down(rule: Rule, subject: str) -> None:
    """Count a try; raises `TooMany` where it comes too soon."""
    wait = parts().store.throttle.hit(rule, subject)
    if wait:
        raise TooMany(f"Too many tries. Try again in {wait} s.", retry_after=wait)


def hashed(password: str) -> str:
    """The hash to store, made beside the hub."""
    return in_thread(hash_password, password)


def address() -> str:
    """Where the request came from; behind a proxy that is trusted, what that one saw."""
    return request.remote_addr or ""


def sign_in(user: User) -> None:
    """Open a sign-in for this browser; whatever cookie it had before is dropped (fixation)."""
    session.clear()
    agent = request.user_agent.string
    token = parts().store.accounts.sessions.open(user, address=address(), agent=agent)
    found = _load(token)
    if found is None:  # signed out everywhere in this very moment
        raise Unauthorized("Sign in again.")
    session.permanent = True
    login_user(found)


def sign_out() -> None:
    """End this browser's sign-in, in the database too."""
    if current_user.is_authenticated:
        who = person()
        parts().store.accounts.sessions.end(who.id, who.session.id)
    logout_user()
    session.clear()


def confirm(password: str) -> None:
    """The password, typed again for something delicate; raises `Invalid` or `TooMany`."""
    who = person()
    check_credentials(who.email, password)
    parts().store.accounts.sessions.confirm(who.session.id)


def is_confirmed() -> bool:
    """Whether the password was typed in this browser within the last quarter of an hour."""
    return utcnow() - person().session.confirmed_at <= CONFIRMED_FOR


@dataclass(frozen=True, slots=True)
class Access:
    """A person inside a team."""

    team: Team
    membership: Membership
    person: Person

    @property
    def role(self) -> Role:
        return self.membership.role

    def may(self, deed: Deed | str) -> bool:
        return role_may(self.role, Deed(deed))


def team_access(slug: str, deed: Deed | str = Deed.SEE) -> Access:
    """The signed-in person's access to `/t/<slug>/…`, for doing `deed` there.

    Sets `g.team` and `g.may` for templates. Raises `Unauthorized` without a sign-in, `NotFound`
    alike for no such team and for somebody else's, `Forbidden` with words for a role that is too
    small.
    """
    who = person()
    teams = parts().store.accounts.teams
    team = teams.by_slug(slug)
    membership = teams.membership(team.id, who.id)
    if membership is None:
        raise NotFound
    access = Access(team, membership, who)
    g.team, g.access = team, access
    may: Callable[[Any], bool] = access.may
    g.may = may
    if not access.may(deed):
        needed = NEEDED_ROLE[Deed(deed)].value
        raise Forbidden(
            f"{access.role.value.capitalize()}s cannot {IN_WORDS[Deed(deed)]}. "
            f"Ask {'an' if needed[0] in 'ao' else 'a'} {needed} of {team.name}."
        )
    return access


def audit_as(user: User, team: str | None, action: str, target: str, **details: str) -> None:
    """Keep what a person did before they were inside the team it concerns."""
    parts().store.audit.record(
        Entry(
            team=team,
            action=action,
            actor=user.id,
            who=user.email,
            target=target,
            address=address(),
            request_id=request_id(),
            details=details,
        )
    )


def safe_path(text: str | None, otherwise: str = "/") -> str:
    """`text` if it is a path on this site and nothing else (reliability W10, B71)."""
    return text if text and _PATH.fullmatch(text) else otherwise
