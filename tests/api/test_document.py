"""The OpenAPI document says what the routes do, and the health routes say little."""

import pytest

from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.web.api import OPERATIONS
from tests.api.conftest import Api


def test_the_document_and_the_routes_agree_both_ways(api: Api) -> None:
    document = api.client.get("/api/v1/openapi.json").json
    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, methods in document["paths"].items()
        for method in methods
    }
    running = {(o.method, o.path.replace("<", "{").replace(">", "}")) for o in OPERATIONS}
    assert described == running
    assert document["openapi"] == "3.1.0"


def test_every_refusal_is_described_as_a_problem(api: Api) -> None:
    document = api.client.get("/api/v1/openapi.json").json
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                if status >= "4":
                    assert list(answer["content"]) == ["application/problem+json"]


def test_alive_needs_no_database_and_ready_does(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise Unavailable(retry_after=5)

    assert api.client.get("/readyz").status_code == 200
    monkeypatch.setattr(store, "ping", away)
    assert api.client.get("/healthz").status_code == 200
    answer = api.client.get("/readyz")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def test_metrics_ask_for_their_token(api: Api, endpoint: object) -> None:
    api("POST", "/events", {"type": "a", "data": 1})
    assert api.client.get("/metrics").status_code == 401
    token = {"Authorization": "Bearer metrics-token-for-tests"}
    answer = api.client.get("/metrics", headers=token)
    assert answer.status_code == 200
    assert 'relay_deliveries_live{state="pending"} 1.0' in answer.text
    assert "relay_oldest_due_seconds" in answer.text


@pytest.mark.fails_inside
def test_an_unforeseen_error_is_a_problem_without_a_traceback(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret-detail")

    monkeypatch.setattr(store.events, "list", broken)
    answer = api("GET", "/events")
    assert (answer.status_code, answer.json["code"]) == (500, "internal")
    assert "secret-detail" not in answer.text


def test_a_database_that_is_away_is_503_with_what_to_do(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B34."""

    def away(*_: object) -> None:
        raise Unavailable(retry_after=5)

    api("GET", "/events")
    monkeypatch.setattr(store.events, "add", away)
    sent = {"type": "a", "data": 1}
    answer = api("POST", "/events", sent, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "safe to send it again with the same Idempotency-Key" in answer.json["message"]


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/events/../..", "/api/v2/events"])
def test_an_address_that_is_not_there_is_a_problem(api: Api, path: str) -> None:
    answer = api.client.get(path)
    assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")
