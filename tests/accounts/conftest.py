"""People in browsers, over the real application and the real database."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from relay_web.domain.people import hash_password
from relay_web.domain.roles import Role
from relay_web.settings import Settings
from relay_web.store import Store
from relay_web.store.teams import Team
from relay_web.store.users import User
from relay_web.web import create_app

PASSWORD = "a long walk home"


@pytest.fixture(scope="session")
def password_hash() -> str:
    """Hashed once: scrypt is slow on purpose."""
    return hash_password(PASSWORD)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def make_app(store: Store, data_dir: Any) -> Callable[..., Flask]:
    """An application in development mode, with these variables set."""

    def make(**environment: str) -> Flask:
        return create_app(Settings.load(environment, data_dir=data_dir), store)

    return make


@pytest.fixture
def app(make_app: Callable[..., Flask]) -> Flask:
    return make_app(RELAY_SIGNUP="open")


@dataclass
class Browser:
    """One browser. Forms are sent as its pages would send them, with their token."""

    client: FlaskClient

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.client.get(path, **options)

    def post(
        self, path: str, form: Any = (), *, page: str = "/signin", **options: Any
    ) -> TestResponse:
        return self.client.post(
            path, data={**dict(form), "csrf_token": self.token(page)}, **options
        )

    def token(self, page: str) -> str:
        """The forgery token of this browser's session, out of a page it can see."""
        for path in (page, "/account", "/signin", "/forgot"):
            found = re.search(r'name="csrf_token" value="([^"]+)"', self.get(path).text)
            if found:
                return found.group(1)
        raise AssertionError("no page with a form")

    def let_in(self, store: Store, user: User) -> None:
        """Signed in without the form, whose scrypt is slow on purpose."""
        token = store.accounts.sessions.open(user, address="127.0.0.1", agent="test")
        with self.client.session_transaction() as session:
            session["_user_id"] = token

    def sign_in(self, email: str, password: str = PASSWORD) -> TestResponse:
        return self.post("/signin", {"email": email, "password": password})


@pytest.fixture
def visitor(app: Flask) -> Browser:
    return Browser(app.test_client())


@pytest.fixture
def make_user(store: Store, password_hash: str) -> Callable[[str], User]:
    return lambda email: store.accounts.users.add(email, password_hash)


@dataclass
class Crew:
    """One team with a person in each role, and somebody who is in another team."""

    team: Team
    users: dict[str, User]
    browsers: dict[str, Browser]


@pytest.fixture
def crew(app: Flask, store: Store, make_user: Callable[[str], User]) -> Crew:
    users = {name: make_user(f"{name}@example.com") for name in (*Role, "stranger")}
    team = store.accounts.teams.add("Acme", users["owner"].id)
    store.accounts.teams.add("Elsewhere", users["stranger"].id)
    for role in (Role.VIEWER, Role.MEMBER, Role.ADMIN):
        store.accounts.teams.join(team.id, users[role].id, role)
    browsers = {}
    for name, user in users.items():
        browsers[name] = Browser(app.test_client())
        browsers[name].let_in(store, user)
    return Crew(team, users, browsers)
