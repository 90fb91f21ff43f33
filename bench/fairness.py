"""P4: a healthy endpoint beside one that hangs with a long backlog."""

import time
from collections.abc import Iterator
from typing import Final

from bench.figures import Figure
from bench.run import Field, Run
from bench.sampling import percentile
from bench.seed import TEAM, TYPE, endpoints
from bench.system import wait_for
from relay_web.domain.event import Publish
from relay_web.engine.intake import Intake

_PER_SECOND: Final = 40
#: Slots of the worker; the hanging endpoint may hold half of them.
_SLOTS: Final = 100


def beside_a_hanging_endpoint(run: Run) -> Iterator[Figure]:
    """Publish to request, 40 events a second: alone, then beside 100,000 for one that hangs."""
    backlog = run.times(100_000, 20_000)
    seconds = run.times(15, 5)
    with (
        run.field("p4", 1, path="timed") as field,
        run.system.worker(field.store, concurrency=_SLOTS),
    ):
        _publish(field, 1)
        alone = _publish(field, seconds)
        (hanging,) = endpoints(field.store, run.vault, field.receiver.base, 1, path="hang")
        before = field.receiver.count()
        field.seeder.backlog([hanging.id], backlog)
        wait_for(lambda: field.receiver.count() >= before + _SLOTS // 2, "hanging")
        beside = _publish(field, seconds)
    yield Figure("P4", percentile(beside, 0.95) / percentile(alone, 0.95), "ratio", 1.2)
    yield Figure("P4.alone_p95", percentile(alone, 0.95), "ms")
    yield Figure("P4.beside_p95", percentile(beside, 0.95), "ms")


def _publish(field: Field, seconds: int) -> list[float]:
    """Milliseconds from each publish until its request came."""
    intake = Intake(field.store)
    field.receiver.stats()
    began = time.monotonic()
    for number in range(_PER_SECOND * seconds):
        time.sleep(max(0.0, began + number / _PER_SECOND - time.monotonic()))
        data = f'{{"sent":{time.time():.6f}}}'.encode()
        intake.accept(TEAM, Publish(type=TYPE, data=data, only_endpoint=field.lanes[0]))
    notes: list[list[float]] = []

    def all_came() -> bool:
        notes.extend(field.receiver.stats()["timed"])
        return len(notes) >= _PER_SECOND * seconds

    wait_for(all_came, "reaching the healthy endpoint")
    return [(came - sent) * 1000 for _, sent, came in notes]
