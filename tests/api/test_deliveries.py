"""Finding deliveries, reading them, sending again, ending."""

from typing import Any

import pytest

from relay_web.store import Store
from tests.api.conftest import Api
from tests.guard import BY_HAND

EVENT = {"type": "invoice.paid", "data": {"n": 1}}


@pytest.fixture
def delivery(api: Api, endpoint: dict[str, Any]) -> dict[str, Any]:
    """One queued delivery."""
    api("POST", "/events", EVENT)
    found: dict[str, Any] = api("GET", "/deliveries").json["items"][0]
    return found


def end(store: Store, delivery_id: str, state: str) -> None:
    """Make a delivery as its end leaves it."""
    done = store.db.deliveries.update_one(
        {"_id": delivery_id},
        {
            "$set": {"state": state, "tries": 8},
            "$unset": {"lane": "", "due_at": "", "lease": "", "slot": ""},
        },
        comment=BY_HAND,
    )
    assert done.matched_count == 1


def lease(store: Store, delivery_id: str) -> None:
    """Hand a delivery to a worker."""
    claims = store.deliveries.claim([delivery_id], worker="w1", lease=30.0)
    assert len(claims) == 1


def test_a_delivery_has_the_promised_fields(api: Api, delivery: dict[str, Any]) -> None:
    detail = api("GET", f"/deliveries/{delivery['id']}").json
    promised = {
        "id", "event_id", "endpoint_id", "state", "lease_token", "tries", "due_at", "created_at",
        "attempts", "timeline",
    }  # fmt: skip
    assert promised <= detail.keys()
    assert (detail["state"], detail["lease_token"], detail["attempts"]) == ("queued", 0, [])
    assert [line["kind"] for line in detail["timeline"]] == ["created"]


def test_the_state_filter_takes_screen_words(
    api: Api, endpoint: dict[str, Any], delivery: dict[str, Any], store: Store
) -> None:
    def found(word: str) -> int:
        return len(api("GET", f"/deliveries?state={word}").json["items"])

    assert (found("queued"), found("held"), found("sending")) == (1, 0, 0)
    api("POST", f"/endpoints/{endpoint['id']}/pause")
    assert (found("queued"), found("held")) == (0, 1)
    api("POST", f"/endpoints/{endpoint['id']}/resume")
    lease(store, delivery["id"])
    assert found("sending") == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=flying", "state"),
        ("state=failed&state=queued", "state"),
        ("state=pending", "state"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("limit=²", "limit"),
        ("since=2020-13-01T00:00:00Z", "since"),
        ("since=yesterday", "since"),
        ("since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z", "since"),
        ("since=2026-01-01T00:00:00Z&until=2026-03-01T00:00:00Z", "since"),
        ("type=a%20b", "type"),
        ("status=failed", "status"),
        ("a[$ne]=1", "a[$ne]"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_named(api: Api, query: str, field: str) -> None:
    """B79, B80 and B81."""
    answer = api("GET", f"/deliveries?{query}")
    assert (answer.status_code, answer.json["field"]) == (422, field)


def test_pages_cover_everything_once(api: Api, endpoint: dict[str, Any]) -> None:
    sent = {"events": [{"type": "a", "data": n} for n in range(23)]}
    assert api("POST", "/events/batch", sent).status_code == 202
    for path in ("/deliveries", "/events"):
        seen: list[str] = []
        after: str | None = ""
        while after is not None:
            page = api("GET", f"{path}?limit=10" + (f"&after={after}" if after else "")).json
            seen += [item["id"] for item in page["items"]]
            after = page["next"]
        assert len(seen) == len(set(seen)) == 23


def test_a_cursor_of_another_list_or_team_is_refused(
    api: Api, endpoint: dict[str, Any], make_api: Any
) -> None:
    """B78."""
    api("POST", "/events/batch", {"events": [{"type": "a", "data": n} for n in range(3)]})
    mine = api("GET", "/deliveries?limit=1").json["next"]
    other = make_api("Other")
    answers = [
        api("GET", f"/events?after={mine}"),
        other("GET", f"/deliveries?after={mine}"),
        api("GET", "/deliveries?after=nonsense"),
        api("GET", "/deliveries?after="),
        api("GET", "/deliveries?after=%F0%9F%98%80"),
    ]
    assert [(a.status_code, a.json["code"]) for a in answers] == [(400, "bad_cursor")] * 5


def test_retrying_a_failed_delivery_queues_it_again(
    api: Api, delivery: dict[str, Any], store: Store
) -> None:
    end(store, delivery["id"], "failed")
    answer = api("POST", f"/deliveries/{delivery['id']}/retry")
    assert (answer.status_code, answer.json["outcome"]) == (202, "done")
    assert answer.json["delivery"]["lease_token"] == 1
    assert store.deliveries.get(api.team_id, delivery["id"]).state == "pending"


def test_the_same_request_twice_is_one_retry(
    api: Api, delivery: dict[str, Any], store: Store
) -> None:
    """B90."""
    end(store, delivery["id"], "failed")
    path, headers = f"/deliveries/{delivery['id']}/retry", {"Idempotency-Key": "click-1"}
    outcomes = [api("POST", path, headers=headers).json["outcome"] for _ in range(2)]
    assert outcomes == ["done", "already"]
    assert len(store.deliveries.get(api.team_id, delivery["id"]).actions) == 1


def test_retry_while_it_is_being_sent_says_so(
    api: Api, delivery: dict[str, Any], store: Store
) -> None:
    """B85."""
    lease(store, delivery["id"])
    answer = api("POST", f"/deliveries/{delivery['id']}/retry")
    assert (answer.status_code, answer.json["outcome"]) == (202, "in_flight")
    assert "Being attempted now" in answer.json["message"]


@pytest.mark.parametrize("verb", ["pause", "delete"])
def test_retry_to_an_endpoint_that_cannot_take_it_is_a_conflict(
    api: Api, endpoint: dict[str, Any], delivery: dict[str, Any], store: Store, verb: str
) -> None:
    """B88."""
    end(store, delivery["id"], "failed")
    path = f"/endpoints/{endpoint['id']}"
    api("DELETE", path) if verb == "delete" else api("POST", f"{path}/pause")
    answer = api("POST", f"/deliveries/{delivery['id']}/retry")
    assert answer.status_code == 409
    assert "endpoint" in answer.json["message"]


def test_retry_past_200_attempts_is_a_conflict(
    api: Api, delivery: dict[str, Any], store: Store
) -> None:
    """B87."""
    end(store, delivery["id"], "failed")
    store.db.deliveries.update_one(
        {"_id": delivery["id"]}, {"$set": {"tries": 200, "lease_token": 200}}, comment=BY_HAND
    )
    answer = api("POST", f"/deliveries/{delivery['id']}/retry")
    assert (answer.status_code, "200" in answer.json["message"]) == (409, True)


def test_retry_without_its_payload_is_gone(
    api: Api, delivery: dict[str, Any], store: Store
) -> None:
    """B86."""
    end(store, delivery["id"], "failed")
    store.db.events.delete_many({})
    assert api("POST", f"/deliveries/{delivery['id']}/retry").status_code == 410


def test_cancel_ends_what_waits_and_says_what_may_still_arrive(
    api: Api, delivery: dict[str, Any], store: Store
) -> None:
    """B83 and B84."""
    lease(store, delivery["id"])
    path = f"/deliveries/{delivery['id']}/cancel"
    answer = api("POST", path)
    assert answer.status_code == 200
    assert "may still arrive" in answer.json["message"]
    assert answer.json["delivery"]["state"] == "cancelled"
    again = api("POST", path)
    assert again.status_code == 409
    assert again.json["message"].startswith("Already cancelled")


def test_replay_sends_what_was_not_delivered(
    api: Api, endpoint: dict[str, Any], store: Store
) -> None:
    api("POST", "/endpoints", {"url": "http://127.0.0.1:8080/b"})
    event = api("POST", "/events", EVENT).json["id"]
    first, second = (item["id"] for item in api("GET", "/deliveries").json["items"])
    end(store, first, "failed")
    end(store, second, "delivered")
    answer = api("POST", f"/events/{event}/replay")
    assert (answer.status_code, answer.json["retried"]) == (202, 1)
    assert store.deliveries.get(api.team_id, first).state == "pending"
    assert store.deliveries.get(api.team_id, second).state == "delivered"


def test_an_event_shows_who_got_it_and_who_did_not_and_why(
    api: Api, endpoint: dict[str, Any]
) -> None:
    api("POST", "/endpoints", {"url": "http://127.0.0.1:8080/u", "event_types": ["user.*"]})
    event = api("POST", "/events", EVENT).json["id"]
    api("POST", "/endpoints", {"url": "http://127.0.0.1:8080/l", "name": "late"})
    detail = api("GET", f"/events/{event}").json
    assert '"data":{"n": 1}' in detail["body"] or '"data":{"n":1}' in detail["body"]
    why = {row["endpoint_id"]: row["why"] for row in detail["fanout"]}
    assert why[endpoint["id"]] is None
    assert sorted(reason for reason in why.values() if reason) == [
        "not subscribed to invoice.paid",
        "registered after this event",
    ]
    assert api("GET", f"/events/{event}/attempts").json == {"items": [], "next": None}
