"""The timeline is drawn up from the delivery and its attempts, and tells the fenced ones apart."""

from datetime import UTC, datetime, timedelta
from typing import Any

from relay_web.domain.delivery import Delivery
from relay_web.domain.journal import Attempt, Entry, journal

T0 = datetime(2026, 12, 1, 14, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def delivery(**changes: Any) -> Delivery:
    doc: dict[str, Any] = {
        "_id": "dlv_1", "team": "t", "event": "msg_1", "webhook_id": "msg_1", "endpoint": "ep_1",
        "type": "a", "state": "delivered", "lease_token": 1, "tries": 1, "round_tries": 1,
        "unresolved": 0, "rev": 2, "created_at": T0, "trigger": "schedule",
    }  # fmt: skip
    return Delivery.from_doc(doc | changes)


def attempt(of: Delivery, token: int, *, start: float, end: float, **changes: Any) -> Attempt:
    doc: dict[str, Any] = {
        "_id": f"dlv_1:{token}", "token": token, "lease_id": f"L{token}",
        "worker": f"worker.{token}", "trigger": "schedule", "number": 1,
        "granted_at": at(start), "started_at": at(start),
        "ended_at": at(end), "ms": (end - start) * 1000, "verdict": "delivered", "status": 200,
        "cause": None, "reason": "200 OK", "rule": "", "delay": 0.0, "phases": {}, "request": {},
        "response": None, "remote_ip": None, "tls_version": None,
    }  # fmt: skip
    return Attempt.from_doc(doc | changes, of)


def kinds(of: Delivery, *attempts: Attempt) -> list[Entry]:
    return [line.kind for line in journal(of, attempts, endpoint="Billing")]


def test_delivered_first_time() -> None:
    done = delivery()
    assert kinds(done, attempt(done, 1, start=1, end=2)) == [
        Entry.CREATED, Entry.LEASE, Entry.ATTEMPT, Entry.DELIVERED,
    ]  # fmt: skip


def test_a_late_result_is_told_as_fenced_with_both_sides_of_the_story() -> None:
    loss = {
        "token": 1, "worker": "worker.1", "lease_id": "L1", "granted_at": at(1), "at": at(31),
        "why": "expired",
    }  # fmt: skip
    won = delivery(lost=[loss], lease_token=2)
    lines = journal(
        won,
        [attempt(won, 1, start=1, end=42), attempt(won, 2, start=31, end=32)],
        endpoint="Billing",
    )
    assert [line.kind for line in lines] == [
        Entry.CREATED, Entry.LEASE, Entry.LOST, Entry.TAKEOVER, Entry.LEASE, Entry.ATTEMPT,
        Entry.DELIVERED, Entry.FENCED,
    ]  # fmt: skip
    fenced = lines[-1]
    assert fenced.title == "Late result fenced off"
    assert "token 1" in fenced.detail
    assert "msg_1" in fenced.detail
    assert [line.attempt.counted for line in lines if line.attempt] == [True, False]


def test_a_worker_that_never_reported_leaves_an_unknown_outcome() -> None:
    loss = {
        "token": 1, "worker": "worker.1", "lease_id": "L1", "granted_at": at(1), "at": at(31),
        "why": "expired",
    }  # fmt: skip
    alive = delivery(lost=[loss], state="pending", lane="ep_1", due_at=at(60), tries=0)
    lines = journal(alive, [], endpoint="Billing")
    assert [line.kind for line in lines] == [Entry.CREATED, Entry.LEASE, Entry.LOST, Entry.TAKEOVER]
    assert "unknown" in lines[2].detail


def test_a_failure_says_how_long_it_waits_and_which_rule_chose_it() -> None:
    waiting = delivery(state="pending", lane="ep_1", due_at=at(302), tries=1)
    lines = journal(
        waiting,
        [
            attempt(waiting, 1, start=1, end=2, verdict="retry", status=503, reason="503",
                    delay=300.0, rule="backoff step 2 of 7"),
        ],
        endpoint="Billing",
    )  # fmt: skip
    assert lines[-1].kind is Entry.WAIT
    assert lines[-1].title == "Waits 5 min"
    assert lines[-1].until == at(302)
    assert lines[-1].detail == "backoff step 2 of 7"


def test_an_end_without_a_request_says_why() -> None:
    last = {
        "status": None, "cause": None, "at": at(5), "lease_id": "L1",
        "rule": "the endpoint was deleted",
    }  # fmt: skip
    lines = journal(delivery(state="cancelled", tries=0, last=last), [], endpoint="Billing")
    assert (lines[-1].kind, lines[-1].title) == (Entry.CANCELLED, "Cancelled")
    assert lines[-1].detail == "The endpoint was deleted."
