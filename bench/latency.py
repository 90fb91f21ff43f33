"""P2 and what idling costs: how soon an accepted event is sent, and how it gets that soon."""

import random
import time
from collections.abc import Iterator
from typing import Final

from bench.figures import Figure
from bench.publisher import Publisher
from bench.run import Run
from bench.sampling import percentile
from bench.seed import TEAM, TYPE, endpoints
from bench.system import Receiver, wait_for
from relay_web.domain.event import Publish
from relay_web.engine.intake import Intake

_PER_SECOND: Final = 100


def publish_to_request(run: Run) -> Iterator[Figure]:
    """100 events a second through the HTTP API, an otherwise idle system, one endpoint.

    An event is accepted at the time that its body carries (taken just before it is stored).
    """
    seconds = run.times(15, 4)
    with run.system.receiver() as receiver, run.system.store("p2") as store:
        account = run.system.account(store)
        endpoints(store, run.vault, receiver.base, 1, path="timed", team=account.team_id)
        with run.system.web(store) as (_, port), run.system.worker(store):
            publisher = Publisher(port, account.api_key)
            publisher.steadily(lambda: publisher.single(TYPE), _PER_SECOND, 2)
            _notes(receiver, _PER_SECOND * 2)
            publisher.steadily(lambda: publisher.single(TYPE), _PER_SECOND, seconds)
            notes = _notes(receiver, _PER_SECOND * seconds)
    from_accept = [(came - accepted) * 1000 for accepted, _, came in notes]
    from_publish = [(came - sent) * 1000 for _, sent, came in notes]
    yield Figure("P2.p50", percentile(from_accept, 0.5), "ms", 10)
    yield Figure("P2.p99", percentile(from_accept, 0.99), "ms", 40)
    yield Figure("P2.from_publisher_p50", percentile(from_publish, 0.5), "ms")
    yield Figure("P2.from_publisher_p99", percentile(from_publish, 0.99), "ms")


def idle(run: Run) -> Iterator[Figure]:
    """CPU of a worker with nothing to do, and how long it takes to be sending after that."""
    with run.field("idle", 1, path="timed") as field, run.system.worker(field.store) as worker:
        intake = Intake(field.store)
        rng = random.Random(1)
        time.sleep(2.0)  # start-up is over; this waits for time to pass, not for an event
        before, database, began = worker.cpu(), run.system.mongod.cpu(), time.monotonic()
        time.sleep(run.times(15, 5))
        took = time.monotonic() - began
        used, stored = worker.cpu() - before, run.system.mongod.cpu() - database
        for _ in range(run.times(30, 10)):
            time.sleep(rng.uniform(0.1, 0.4))
            data = f'{{"sent":{time.time():.6f}}}'.encode()
            intake.accept(TEAM, Publish(type=TYPE, data=data))
        notes = _notes(field.receiver, run.times(30, 10))
    woken = [(came - sent) * 1000 for _, sent, came in notes]
    yield Figure("idle.worker", used / took * 100, "%_core", 1)
    yield Figure("idle.mongod", stored / took * 100, "%_core")
    yield Figure("wakeup.p50", percentile(woken, 0.5), "ms")
    yield Figure("wakeup.p95", percentile(woken, 0.95), "ms")


def _notes(receiver: Receiver, count: int) -> list[tuple[float, float, float]]:
    """The next `count` notes of the receiver."""
    notes: list[tuple[float, float, float]] = []

    def enough() -> bool:
        notes.extend(map(tuple, receiver.stats()["timed"]))
        return len(notes) >= count

    wait_for(enough, "waiting for requests")
    return notes
