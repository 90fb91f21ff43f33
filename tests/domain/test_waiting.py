"""One sentence says why a delivery waits, and the scheduler holds for the same reason."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from relay_web.domain.delivery import Delivery, Last, Lease, State
from relay_web.domain.endpoint import Endpoint, EndpointState
from relay_web.domain.waiting import Reason, endpoint_hold, why

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ENDPOINT = Endpoint(
    id="ep_1", team="t", url="https://a.example/", name="Billing", created_at=NOW, state_since=NOW
)
DUE = Delivery.from_doc(
    {
        "_id": "dlv_1", "team": "t", "event": "msg_1", "webhook_id": "msg_1", "endpoint": "ep_1",
        "type": "a", "state": "pending", "lane": "ep_1", "due_at": NOW, "lease_token": 0,
        "tries": 0, "round_tries": 0, "unresolved": 0, "rev": 0, "created_at": NOW,
        "trigger": "schedule",
    }
)  # fmt: skip
LATER = NOW + timedelta(minutes=5)

CASES = {
    "a worker holds it": (
        replace(DUE, state=State.LEASED, lease=Lease("L", "worker.2", NOW), due_at=LATER),
        ENDPOINT, 1, Reason.HELD_BY_WORKER, "worker.2 until 12:05:00",
    ),
    "its endpoint is paused": (
        DUE, replace(ENDPOINT, state=EndpointState.PAUSED), 1, Reason.ENDPOINT_HELD, "not lost",
    ),
    "its endpoint is suspended": (
        DUE, replace(ENDPOINT, state=EndpointState.SUSPENDED), 1, Reason.ENDPOINT_HELD, "suspended",
    ),
    "its endpoint was deleted": (DUE, None, 1, Reason.ENDPOINT_DELETED, "deleted"),
    "its endpoint cools down": (
        DUE, replace(ENDPOINT, cool_until=LATER), 1, Reason.COOLING_DOWN, "12:05:00",
    ),
    "it backs off": (
        replace(
            DUE, due_at=LATER, tries=3, round_tries=3, last=Last(503, "server_error", NOW, "L")
        ),
        ENDPOINT, 1, Reason.BACKOFF, "Retry 4 of 8 at 12:05:00 UTC after 503",
    ),
    "no worker beats": (DUE, ENDPOINT, 0, Reason.NO_WORKER, "Nothing is lost"),
    "its endpoint has a rate": (
        DUE, replace(ENDPOINT, rate_per_second=5), 1, Reason.RATE_LIMIT, "5 a second",
    ),
    "its endpoint was resumed just now": (
        DUE, replace(ENDPOINT, ramp_step=0, ramp_since=NOW), 1, Reason.RATE_LIMIT, "slowly",
    ),
    "its endpoint takes few at a time": (
        DUE, replace(ENDPOINT, max_in_flight=2), 1, Reason.IN_FLIGHT_LIMIT, "At most 2",
    ),
    "its endpoint is ordered": (
        DUE, replace(ENDPOINT, ordered=True), 1, Reason.IN_ORDER, "ordered",
    ),
    "nothing but its turn": (DUE, ENDPOINT, 1, Reason.NEXT_SLOT, "Due now"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_reason_is_told(case: tuple[Delivery, Endpoint | None, int, Reason, str]) -> None:
    delivery, endpoint, workers, reason, words = case
    told = why(delivery, endpoint, now=NOW, workers=workers, tries=8)
    assert told is not None
    assert told.reason is reason
    assert words in told.sentence


def test_every_reason_is_told_somewhere() -> None:
    assert {case[3] for case in CASES.values()} == set(Reason) - {Reason.SECRET_UNREADABLE}


@pytest.mark.parametrize("state", [State.DELIVERED, State.FAILED, State.CANCELLED])
def test_what_has_ended_waits_for_nothing(state: State) -> None:
    assert why(replace(DUE, state=state), ENDPOINT, now=NOW, workers=1, tries=8) is None


def test_the_scheduler_holds_for_an_unreadable_secret() -> None:
    hold = endpoint_hold(ENDPOINT, now=NOW, readable=False)
    assert hold is not None
    assert hold.reason is Reason.SECRET_UNREADABLE


def test_a_cool_down_that_is_over_holds_nothing() -> None:
    assert endpoint_hold(replace(ENDPOINT, cool_until=NOW), now=NOW) is None
