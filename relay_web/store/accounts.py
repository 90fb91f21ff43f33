"""People, teams, keys and invitations under one name, and the two ways an account begins."""

import hashlib
import hmac
from collections.abc import Iterator
from typing import Any, TypedDict

from pymongo.database import Database

from relay_web.domain.people import (
    check_email,
    check_password,
    check_team_name,
    hash_password,
    password_matches,
)
from relay_web.domain.roles import Scope
from relay_web.errors import Conflict
from relay_web.store.api_keys import ApiKeys, key_from
from relay_web.store.teams import Team, Teams
from relay_web.store.tickets import INVITE_LIFE, RESET_LIFE, SIGNUP_LIFE, Tickets
from relay_web.store.users import Sessions, User, Users

Doc = dict[str, Any]


class Bootstrapped(TypedDict):
    """What a script gets. `team` is the slug, as in the URL of every page."""

    team: str
    team_id: str
    api_key: str


class Accounts:
    """Everything about who may come in."""

    def __init__(self, db: Database[Doc]) -> None:
        self.users = Users(db)
        self.sessions = Sessions(db)
        self.teams = Teams(db)
        self.keys = ApiKeys(db)
        self.invites = Tickets(db, "invites", INVITE_LIFE)
        self.resets = Tickets(db, "resets", RESET_LIFE)
        self.signups = Tickets(db, "signups", SIGNUP_LIFE)

    def sign_up(self, email: str, password_hash: str, team: str) -> tuple[User, Team]:
        """A new user who owns a new team; raises `Conflict` where the address is taken.

        A crash between the two writes leaves a user without a team, who can make one.
        """
        user = self.users.add(email, password_hash)
        return user, self.teams.add(team, user.id)

    def bootstrap(self, email: str, password: str, team: str, *, secret_key: str) -> Bootstrapped:
        """User, team and API key as asked for, made where missing; the same answer every time.

        The operator's word counts: an existing user gets this password, which ends their sign-ins
        if it differs. A key cannot be read back, so this one is derived from SECRET_KEY and the
        team: same instance, same team, same key, until it is revoked; then the next in line.
        Raises `Invalid`.
        """
        email = check_email(email)
        name = check_team_name(team)
        user = self._user(email, check_password(password))
        found = self.teams.owned_by_name(name, user.id) or self.teams.add(name, user.id)
        for text in _derived_keys(secret_key, found.id):
            key, _ = self.keys.add(
                found.id, name="bootstrap", scopes=Scope, by=user.email, key=text
            )
            if key.revoked_at is None:
                return {"team": found.slug, "team_id": found.id, "api_key": text}
        raise AssertionError("the derived keys never end")

    def _user(self, email: str, password: str) -> User:
        user = self.users.by_email(email)
        if user is None:
            try:
                return self.users.add(email, hash_password(password))
            except Conflict:  # made in this very moment by the same command
                user = self.users.by_email(email)
        assert user is not None
        if not password_matches(user.password_hash, password):
            self.users.set_password(user.id, hash_password(password))
        return user


def _derived_keys(secret_key: str, team_id: str) -> Iterator[str]:
    generation = 0
    while True:
        label = f"bootstrap key {generation} of {team_id}".encode()
        yield key_from(hmac.digest(secret_key.encode(), label, hashlib.sha512))
        generation += 1
