"""Limits and order hold for an endpoint, however many workers send to it."""

import itertools
import time

import pytest

from relay_web.engine.actions import Actions
from tests.e2e import invariants
from tests.e2e.held import Held
from tests.e2e.stage import PATIENT, PATIENT_LEASE, Stage
from tests.e2e.waiting import SOON, eventually
from tests.receiver import Connection, Receiver, Step, answer, pause


class Crowd:
    """A step that counts how many requests are between their arrival and their answer."""

    def __init__(self, seconds: float) -> None:
        self._wait = pause(seconds)
        self._inside: set[int] = set()
        self.most = 0

    def __call__(self, receiver: Receiver, connection: Connection) -> None:
        self._inside.add(connection.number)
        self.most = max(self.most, len(self._inside))
        self._wait(receiver, connection)
        self._inside.discard(connection.number)
        answer(200)(receiver, connection)


def _two_that_share(stage: Stage) -> None:
    """Two workers; the second has waited until its share of every limit is its own."""
    stage.receiver.script("/mark", answer(200))
    marked = stage.endpoint("/mark", max_in_flight=2)
    workers = [stage.worker(), stage.worker()]

    def each_took_some() -> bool:
        stage.publish_many(4, to=marked)
        names = stage.store.db.attempts.distinct("worker")
        return {worker.name for worker in workers} <= set(names)

    eventually(each_took_some, "both workers send to a limited endpoint")


def test_a_rate_holds_over_two_workers(stage: Stage) -> None:
    _two_that_share(stage)
    rate, seconds = 20, 8
    endpoint = stage.endpoint("/in", rate_per_second=rate)
    stage.publish_many(100, to=endpoint)
    stage.publish_many(100, to=endpoint)
    requests = stage.receiver.wait(rate * seconds, "/in", within=SOON)

    times = [request.at for request in requests]
    measured = (len(times) - 1) / (times[-1] - times[0])
    assert measured == pytest.approx(rate, rel=0.1)
    assert len({attempt["worker"] for attempt in _attempts(stage, endpoint.id)}) == 2


def test_no_more_than_max_in_flight_over_two_workers(stage: Stage) -> None:
    # The second worker joins while the first has all that is allowed under way
    crowd = Crowd(0.2)
    stage.receiver.script("/in", crowd)
    endpoint = stage.endpoint("/in", max_in_flight=3)
    for _ in range(2):
        stage.publish_many(100, to=endpoint)
    stage.worker()
    stage.worker()
    stage.settled(delivered=200, within=2 * SOON)

    assert crowd.most == 3
    assert len({attempt["worker"] for attempt in _attempts(stage, endpoint.id)}) == 2
    invariants.hold(stage)


def _attempts(stage: Stage, endpoint: str) -> list[dict[str, object]]:
    ids = [delivery.id for delivery in stage.deliveries(endpoint=endpoint)]
    return list(itertools.chain.from_iterable(map(stage.store.attempts.of, ids)))


def test_an_ordered_endpoint_stays_in_order_through_failures_and_a_kill(stage: Stage) -> None:
    # Given an ordered endpoint whose every third request fails, and two workers
    crowd = Crowd(0.01)
    failing: list[Step] = [answer(500), crowd, crowd]
    stage.receiver.script("/in", *failing * 20, Held(), crowd)
    endpoint = stage.endpoint("/in", ordered=True, retry_schedule=[0.1] * 5)
    events = [stage.publish(to=endpoint, n=n).id for n in range(50)]
    both = (stage.worker(**PATIENT), stage.worker(**PATIENT))
    workers = {worker.name: worker for worker in both}

    # When the one that is sending is killed
    stage.receiver.wait(61, "/in", within=SOON)
    (sending,) = stage.deliveries(state="leased")
    assert sending.lease is not None
    workers[sending.lease.worker].process.kill()
    stage.settled(delivered=len(events), within=PATIENT_LEASE + SOON)

    # Then each event was first sent after the one before it had been delivered
    order = [request.headers["webhook-id"] for request in stage.receiver.requests("/in")]
    assert [event for event, _ in itertools.groupby(order)] == events
    assert crowd.most == 1
    invariants.hold(stage)


def test_taken_over_by_hand_the_holder_is_fenced_at_once(stage: Stage) -> None:
    # Given a request that hangs
    held = Held()
    stage.receiver.script("/in", held, answer(200))
    stage.publish(to=stage.endpoint("/in"))
    worker = stage.worker(RELAY_SEND_DEADLINE="20s", RELAY_LEASE="60s")
    stage.receiver.wait(1, within=SOON)
    (delivery,) = stage.deliveries()

    # When a person ends its lease, twice by a double click
    actions, began = Actions(stage.store), time.monotonic()
    kinds = [
        actions.take_over(stage.team, delivery.id, action_id="click", by="Ada").kind
        for _ in range(2)
    ]
    stage.settled(delivered=1)

    # Then it was sent again at once, and the answer to the first request is fenced off
    assert kinds == ["asked", "already"]
    assert time.monotonic() - began < 60
    before = stage.deliveries()
    held.release(500)
    eventually(lambda: "fate=fenced" in worker.process.output(), "the first answer comes in")
    assert stage.deliveries() == before
    titles = [line.title for line in stage.journal(delivery)]
    assert "Late result fenced off" in titles
    assert before[0].lost[0].why == "taken over"
    invariants.hold(stage)
