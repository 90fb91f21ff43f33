"""An endpoint that hangs, or many of them, cost the healthy ones nothing (C36, C51)."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from relay_web.domain.endpoint import Endpoint
from tests.e2e import invariants
from tests.e2e.held import Held
from tests.e2e.stage import Stage
from tests.e2e.waiting import SOON
from tests.e2e.web import Web

BACKLOG = 20_000
BATCH = 100
HEALTHY = 50
#: Seconds within which 95 of 100 events for a healthy endpoint have to arrive.
IN_TIME = 10.0


def _publish_on_time(stage: Stage, endpoint: Endpoint, path: str) -> None:
    """Publish for a healthy endpoint; nearly all of it arrives within `IN_TIME`."""
    published = time.monotonic()
    stage.publish_many(HEALTHY, to=endpoint)
    requests = stage.receiver.wait(HEALTHY, path, within=SOON)
    late = [request.at - published for request in requests if request.at - published > IN_TIME]
    assert len(late) <= HEALTHY * 0.05, late


def test_a_backlog_of_20000_on_a_hanging_endpoint_delays_nobody_else(stage: Stage) -> None:
    # Given a worker whose slots one endpoint would gladly fill for hours
    stage.receiver.script("/dead", Held())
    dead, healthy = stage.endpoint("/dead"), stage.endpoint("/ok")
    for _ in range(BACKLOG // BATCH):
        stage.publish_many(BATCH, to=dead)
    stage.worker(RELAY_CONCURRENCY="20", RELAY_SEND_DEADLINE="15s", RELAY_LEASE="22s")
    stage.receiver.wait(10, "/dead", within=SOON)

    # Then a healthy one is served at once, and the dead one never has more than its half
    _publish_on_time(stage, healthy, "/ok")
    assert len(stage.deliveries(state="leased", endpoint=dead.id)) <= 10
    assert len(stage.receiver.requests("/dead")) <= 10


@pytest.mark.parametrize("number", [1, 3])
def test_dead_endpoints_get_their_attempts_and_healthy_ones_their_events(
    stage: Stage, number: int
) -> None:
    dead = [stage.endpoint(f"/dead/{at}") for at in range(number)]
    for at, endpoint in enumerate(dead):
        stage.receiver.script(f"/dead/{at}", Held())
        stage.publish_many(30, to=endpoint)
    healthy = stage.endpoint("/ok")
    stage.worker(RELAY_CONCURRENCY="32", RELAY_RETRY_SCHEDULE="100ms")
    stage.receiver.wait(8 * number, within=SOON)

    _publish_on_time(stage, healthy, "/ok")
    stage.settled(delivered=HEALTHY, failed=30 * number, within=2 * SOON)
    assert {delivery.tries for delivery in stage.deliveries(state="failed")} == {2}
    invariants.hold(stage)


def test_a_slow_receiver_keeps_no_web_request_waiting(stage: Stage) -> None:
    """C51: nothing that a person or a program asks of the web process waits for a send."""
    # Given a receiver that takes its time, and deliveries that have ended
    slow = stage.endpoint("/slow")
    ended = stage.publish_many(10, to=slow)
    stage.worker(RELAY_CONCURRENCY="100", RELAY_SEND_DEADLINE="30s", RELAY_LEASE="37s")
    web = stage.web()
    stage.settled(delivered=len(ended))
    held = Held()
    stage.receiver.script("/slow", held)
    ids = [delivery.id for delivery in stage.deliveries()]

    # When everything that leads to a send is asked for at once
    asked: list[Callable[[], int]] = []
    for at in range(10):
        asked += [
            partial(_status, web, "POST", f"/deliveries/{ids[at]}/retry", {}),
            partial(_status, web, "POST", f"/endpoints/{slow.id}/test", {}),
            partial(_status, web, "POST", "/events", {"type": "invoice.paid", "data": {}}),
            partial(_status, web, "GET", "/deliveries"),
        ]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(_timed, asked))

    # Then all of it is answered while not one of those sends has ended
    assert {status for status, _ in answers} <= {200, 202}
    assert not stage.deliveries(state="delivered", tries=2)
    assert sorted(seconds for _, seconds in answers)[int(len(answers) * 0.95)] < 5.0
    stage.receiver.wait(10 + 30, "/slow", within=SOON)

    # And the outcome is there to be seen later
    held.release()
    stage.settled(delivered=10 + 20)
    invariants.hold(stage)


def _status(web: Web, method: str, path: str, body: Any = None) -> int:
    return web.call(method, path, body).status_code


def _timed(ask: Callable[[], int]) -> tuple[int, float]:
    began = time.monotonic()
    return ask(), time.monotonic() - began
