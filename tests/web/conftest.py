"""People in front of the real application on the real database."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
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
from relay_web.web import create_app

PASSWORD = "four plain words here"
#: Scrypt is slow on purpose; one hash serves every person of a run.
_HASH = hash_password(PASSWORD)
_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Development mode: http and loopback allowed."""
    return Settings.load({}, data_dir=tmp_path_factory.mktemp("data"))


@pytest.fixture
def app(settings: Settings, store: Store) -> Flask:
    return create_app(settings, store)


@dataclass
class Visitor:
    """A browser without script: it keeps cookies and sends each form's own token."""

    client: FlaskClient
    home: str
    team: Team
    email: str
    _token: str = field(default="", repr=False)

    def get(self, path: str, **headers: str) -> TestResponse:
        """`path` below the team unless it starts at the root."""
        return self.client.get(self._full(path), headers=_named(headers))

    def part(self, path: str, target: str) -> TestResponse:
        """What htmx gets for the element `target`."""
        return self.get(path, HX_Request="true", HX_Target=target)

    def post(self, path: str, form: dict[str, Any] | None = None, **headers: str) -> TestResponse:
        data = {"csrf_token": self.token(), **(form or {})}
        return self.client.post(self._full(path), data=data, headers=_named(headers))

    def token(self) -> str:
        """This sign-in's token against forged forms, read off a page once."""
        if not self._token:
            found = _TOKEN.search(self.client.get("/account").text)
            assert found is not None
            self._token = found.group(1)
        return self._token

    def _full(self, path: str) -> str:
        return path if path.startswith(("/t/", "/account", "/sign")) else f"{self.home}{path}"


@pytest.fixture
def visit(app: Flask, store: Store) -> Callable[..., Visitor]:
    """Sign somebody in: a new person in the team of that name, in that role."""
    teams: dict[str, Team] = {}

    def enter(team: str = "Acme", role: Role = Role.OWNER) -> Visitor:
        number = store.db.users.count_documents({})
        email = f"person{number}@acme.example"
        user = store.accounts.users.add(email, _HASH)
        if team not in teams:
            owner = user if role is Role.OWNER else store.accounts.users.add("boss@x.org", _HASH)
            teams[team] = store.accounts.teams.add(team, owner.id)
        if role is not Role.OWNER:
            store.accounts.teams.join(teams[team].id, user.id, role)
        client = app.test_client()
        page = client.get("/signin").text
        found = _TOKEN.search(page)
        assert found is not None
        form = {"csrf_token": found.group(1), "email": email, "password": PASSWORD}
        assert client.post("/signin", data=form).status_code == 303
        return Visitor(client, f"/t/{teams[team].slug}", teams[team], email)

    return enter


@pytest.fixture
def ana(visit: Callable[..., Visitor]) -> Visitor:
    """The owner of a team."""
    return visit()


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
