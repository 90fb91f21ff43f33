"""What follows from an answer: every status, every Retry-After, and each attempt fresh."""

import time
from collections.abc import Sequence
from email.utils import formatdate
from itertools import pairwise

import pytest
from standardwebhooks import Webhook

from relay_web.domain.endpoint import EndpointState
from relay_web.engine.actions import Actions
from tests.e2e import invariants
from tests.e2e.stage import DEADLINE, Stage
from tests.e2e.waiting import SOON, eventually
from tests.receiver import Connection, Receiver, Request, Step, answer

TAKEN = [200, 201, 202, 204, 205, 206, 299]
REFUSED = [300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 409, 422]
FAILING = [408, 429, 500, 502, 503, 504]
#: Attempts in all: the first, and one for each step of the schedule.
TRIES = 3


def test_every_status_has_its_one_consequence(stage: Stage) -> None:
    """C10: 2xx is delivered, 410 ends the endpoint, everything else follows the schedule."""
    endpoints = {}
    elsewhere = [("Location", stage.receiver.url("/elsewhere"))]
    for status in [*TAKEN, *REFUSED, *FAILING, 410]:
        headers = elsewhere if 300 <= status < 400 else []
        stage.receiver.script(f"/{status}", answer(status, headers=headers))
        endpoints[status] = stage.endpoint(f"/{status}")
        stage.publish(to=endpoints[status])
    stage.worker(RELAY_RETRY_SCHEDULE="200ms,200ms")
    stage.settled(delivered=len(TAKEN), failed=len(REFUSED) + len(FAILING) + 1)

    for status, endpoint in endpoints.items():
        (delivery,) = stage.deliveries(endpoint=endpoint.id)
        attempts = stage.store.attempts.of(delivery.id)
        once = status in TAKEN or status == 410
        assert [attempt["status"] for attempt in attempts] == [status] * (1 if once else TRIES)
        assert len(stage.receiver.requests(f"/{status}")) == len(attempts)
        # No waiting for a body that cannot come.
        assert all(attempt["ms"] < DEADLINE * 1000 for attempt in attempts)
    assert stage.receiver.requests("/elsewhere") == []

    # A new event for the endpoint that is gone is held, and not sent
    gone = eventually(
        lambda: _disabled(stage, endpoints[410].id), "the endpoint that answered 410 is disabled"
    )
    assert "410" in gone
    stage.publish(to=endpoints[410])
    stage.publish(to=endpoints[200])
    stage.receiver.wait(2, "/200", within=SOON)
    assert len(stage.receiver.requests("/410")) == 1
    invariants.hold(stage)


def _disabled(stage: Stage, endpoint: str) -> str | None:
    found = stage.store.endpoints.get(stage.team, endpoint)
    return found.state_reason if found.state is EndpointState.DISABLED else None


#: Seconds. Retry-After counts in whole seconds, so a date this far ahead may mean one less.
ASKED = 3
BACKOFF = 0.5
DAY = 86_400


def _refusing(status: int, *values: str) -> Step:
    """`{in N}` stands for an HTTP date so many seconds from the moment of the answer."""

    def step(receiver: Receiver, connection: Connection) -> None:
        headers = []
        for value in values:
            if value.startswith("in "):
                value = formatdate(time.time() + float(value.removeprefix("in ")), usegmt=True)
            headers.append(("Retry-After", value))
        answer(status, headers=headers)(receiver, connection)

    return step


#: What is sent, and how many seconds it asks for at the least.
RETRY_AFTER: dict[tuple[str, ...], float] = {
    (f"{ASKED}",): ASKED,
    (f"in {ASKED}",): ASKED - 1,
    ("in -3600",): BACKOFF,
    ("-5",): BACKOFF,
    ("abc",): BACKOFF,
    ("1.5",): BACKOFF,
    ("",): BACKOFF,
    (f"{ASKED}", f"{ASKED}"): BACKOFF,
}


def test_retry_after_is_obeyed_where_it_makes_sense(stage: Stage) -> None:
    """C09: seconds and dates count, rubbish falls back to the schedule, no wait takes a slot."""
    paths = {f"/{number}": values for number, values in enumerate(RETRY_AFTER)}
    for path, values in paths.items():
        stage.receiver.script(path, _refusing(429, *values), _refusing(503, *values), answer(200))
        stage.publish(to=stage.endpoint(path))
    stage.receiver.script("/never", _refusing(503, "99999999999"))
    stage.publish(to=stage.endpoint("/never"))
    control = stage.endpoint("/control")
    stage.worker(RELAY_CONCURRENCY="4", RELAY_RETRY_SCHEDULE=f"{BACKOFF}s,{BACKOFF}s")

    # While they wait, the few slots there are serve others
    stage.receiver.wait(len(paths) + 1, within=SOON)
    stage.publish_many(8, to=control)
    stage.receiver.wait(8, "/control", within=SOON)
    stage.settled(delivered=len(paths) + 8, pending=1)

    for path, values in paths.items():
        requests = stage.receiver.requests(path)
        assert len(requests) == 3
        assert _shortest_pause(requests) >= RETRY_AFTER[values] * 0.8
        assert _statuses(stage, path) == [429, 503, 200]
    (never,) = stage.deliveries(state="pending")
    assert never.due_at is not None and never.last is not None
    assert DAY - 60 < (never.due_at - never.last.at).total_seconds() <= DAY
    invariants.hold(stage)


def _shortest_pause(requests: Sequence[Request]) -> float:
    times = [request.at for request in requests]
    return min(later - earlier for earlier, later in pairwise(times))


def _statuses(stage: Stage, path: str) -> list[int]:
    delivery = stage.receiver.requests(path)[0].headers["relay-delivery"]
    return [attempt["status"] for attempt in stage.store.attempts.of(delivery)]


def test_every_attempt_is_signed_for_its_own_moment(stage: Stage) -> None:
    """C31: one webhook-id on all of them, and none that a receiver could take for a replay."""
    stage.receiver.script("/in", answer(500), answer(500), answer(200), answer(500), answer(200))
    registered = stage.register("/in")
    stage.publish(to=registered.endpoint)
    stage.worker(RELAY_RETRY_SCHEDULE="1500ms,1500ms")
    stage.settled(delivered=1)
    (delivery,) = stage.deliveries()

    # And retried by hand after it was delivered, it is sent once more, whatever comes of it
    Actions(stage.store).retry(stage.team, delivery.id, action_id="once", by="Ada")
    requests = stage.receiver.wait(4, "/in", within=SOON)
    stage.settled(failed=1)

    began = time.time() - time.monotonic()
    assert {request.headers["webhook-id"] for request in requests} == {delivery.webhook_id}
    stamps = [int(request.headers["webhook-timestamp"]) for request in requests]
    assert stamps[0] < stamps[1] < stamps[2] <= stamps[3]
    for request, stamp in zip(requests, stamps, strict=True):
        assert stamp == pytest.approx(began + request.at, abs=2)
        Webhook(registered.secret).verify(request.body, request.headers)
    invariants.hold(stage)
