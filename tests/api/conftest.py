"""A team with a key, over the real application and the real database."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from relay_web.domain.roles import Scope
from relay_web.settings import Settings
from relay_web.store import Store
from relay_web.web import create_app


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Development mode, with loopback and http allowed and metrics on."""
    given = {"RELAY_METRICS_TOKEN": "metrics-token-for-tests", "RELAY_SIGNUP": "open"}
    return Settings.load(given, data_dir=tmp_path_factory.mktemp("data"))


@pytest.fixture
def app(settings: Settings, store: Store) -> Flask:
    return create_app(settings, store)


@dataclass
class Api:
    """A program of one team: its requests carry its key."""

    client: FlaskClient
    team_id: str
    key: str

    def __call__(
        self, method: str, path: str, body: Any = None, *, headers: Any = (), **options: Any
    ) -> TestResponse:
        """`path` below `/api/v1`; `body` as JSON, or `data=` for raw bytes."""
        if body is not None:
            options["json"] = body
        sent = {"Authorization": f"Bearer {self.key}", **dict(headers)}
        return self.client.open(f"/api/v1{path}", method=method, headers=sent, **options)


@pytest.fixture
def make_api(app: Flask, store: Store) -> Callable[..., Api]:
    """Make a team and a key; called again, another team."""

    def make(name: str = "Acme", scopes: Any = tuple(Scope)) -> Api:
        team = store.accounts.teams.add(name, owner="usr_none")
        _, key = store.accounts.keys.add(team.id, name="test", scopes=scopes, by="usr_none")
        return Api(app.test_client(), team.id, key)

    return make


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    return make_api()


@pytest.fixture
def endpoint(api: Api) -> dict[str, Any]:
    """A registered endpoint that takes every type."""
    answer = api("POST", "/endpoints", {"url": "http://127.0.0.1:8080/hook"})
    assert answer.status_code == 201, answer.json
    made: dict[str, Any] = answer.json
    return made
