"""Who may come in with a key, and how fast one that must not stops working."""

from datetime import timedelta
from typing import Any

import pytest

from relay_web.clock import utcnow
from relay_web.domain.roles import Scope
from relay_web.store import Store
from relay_web.web import api_auth
from relay_web.web.rates import Rates
from tests.api.conftest import Api


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic dXNlcjpwYXNz",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer rk_a,Bearer rk_b",
    ],
)
def test_without_a_bearer_key_the_answer_says_to_send_one(api: Api, header: str | None) -> None:
    """B1 and B2."""
    headers = {} if header is None else {"Authorization": header}
    answer = api.client.get("/api/v1/events", headers=headers)
    assert answer.status_code == 401
    assert answer.json["message"] == "Send your API key as a Bearer token."
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_unknown_revoked_and_expired_keys_get_the_same_words(api: Api, store: Store) -> None:
    """B3."""
    keys = store.accounts.keys
    soon = utcnow() - timedelta(seconds=1)
    _, expired = keys.add(api.team_id, name="old", scopes=Scope, by="t", expires_at=soon)
    revoked_key, revoked = keys.add(api.team_id, name="gone", scopes=Scope, by="t")
    keys.revoke(api.team_id, revoked_key.id)
    said = set()
    for text in ("rk_" + "x" * 40, "nonsense", expired, revoked):
        answer = Api(api.client, api.team_id, text)("GET", "/events")
        said.add((answer.status_code, answer.json["message"]))
    assert said == {(401, "This API key is not valid.")}


def test_a_revoked_key_stops_within_two_seconds_in_every_process(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(api_auth.time, "monotonic", lambda: now)
    assert api("GET", "/events").status_code == 200
    for key in store.accounts.keys.of_team(api.team_id):
        store.accounts.keys.revoke(api.team_id, key.id)
    now += 2.0
    assert api("GET", "/events").status_code == 401


def test_a_key_in_the_address_is_refused_and_marked(api: Api, store: Store) -> None:
    """B5."""
    answer = api.client.get(f"/api/v1/events?api_key={api.key}")
    assert (answer.status_code, answer.json["code"]) == (400, "key_in_address")
    marks = store.audit.list(api.team_id, action="key.leaked_in_address").items
    assert [mark.team for mark in marks] == [api.team_id]
    assert api.key not in str(marks)


def test_the_database_holds_no_key(api: Api, store: Store) -> None:
    assert api("GET", "/events").status_code == 200
    assert api.key not in str(list(store.db.api_keys.find()))


def test_the_last_use_is_noted(api: Api, store: Store) -> None:
    api("GET", "/events")
    assert store.accounts.keys.of_team(api.team_id)[0].last_used_at is not None


def test_guessing_keys_is_slowed_down_but_a_right_key_still_works(api: Api) -> None:
    wrong = Api(api.client, api.team_id, "rk_" + "x" * 40)
    statuses = [wrong("GET", "/events").status_code for _ in range(62)]
    assert statuses[:60] == [401] * 60
    assert statuses[60:] == [429, 429]
    assert api("GET", "/events").status_code == 200


def test_a_suspended_team_is_told_why(api: Api, store: Store) -> None:
    """B33."""
    store.db.teams.update_one({"_id": api.team_id}, {"$set": {"suspended": "unpaid invoice"}})
    answer = api("GET", "/events")
    assert answer.status_code == 403
    assert "unpaid invoice" in answer.json["message"]


def test_a_cookie_is_worth_nothing_to_the_api(api: Api) -> None:
    api.client.set_cookie("relay", "anything")
    assert api.client.get("/api/v1/events").status_code == 401


def test_every_answer_carries_the_request_id(api: Api) -> None:
    good = api("GET", "/events", headers={"X-Request-Id": "router-1234"})
    assert good.headers["X-Request-Id"] == "router-1234"
    bad = api("GET", "/events/none", headers={"X-Request-Id": "a b\n"[:3]})
    assert bad.headers["X-Request-Id"] == bad.json["request_id"] != "a b"


def test_a_bootstrap_key_is_the_same_each_time_until_it_is_revoked(store: Store) -> None:
    def bootstrap() -> Any:
        return store.accounts.bootstrap(
            "Ana@Example.com", "a long walk home", "Acme", secret_key="s" * 32
        )

    first = bootstrap()
    assert bootstrap() == first
    key = store.accounts.keys.find(first["api_key"])
    assert key is not None
    store.accounts.keys.revoke(first["team_id"], key.id)
    second = bootstrap()
    assert second["api_key"] != first["api_key"]
    assert second["team_id"] == first["team_id"]
    assert store.accounts.keys.find(second["api_key"]) is not None


def test_a_team_over_its_rate_is_told_to_wait_and_others_are_not(
    api: Api, make_api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B32."""
    monkeypatch.setitem(api.client.application.extensions, "relay_rates", Rates(0.001, 3))
    other = make_api("Other")
    answers = [api("GET", "/events") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert int(answers[3].headers["Retry-After"]) > 900
    assert other("GET", "/events").status_code == 200
