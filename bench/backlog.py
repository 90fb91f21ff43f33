"""P3 and costs: what a claim, a commit and a publish cost, and what a long backlog adds."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from bench.figures import Figure
from bench.run import Run
from bench.sampling import median, percentile
from bench.seed import TEAM, TYPE, Seeder, endpoints, payload
from bench.system import System
from relay_web.clock import new_id
from relay_web.domain.delivery import Claim
from relay_web.domain.event import Publish
from relay_web.domain.policy import Verdict
from relay_web.engine.intake import Intake
from relay_web.store import Store
from relay_web.store.deliveries import Result

_LANES: Final = 100
#: Deliveries in one claim: two turns' worth of a worker that is not full.
_BATCH: Final = 20
_LEASE: Final = 30.0


def claims(run: Run) -> Iterator[Figure]:
    """Find and claim a batch of 20 of one lane: with 1,000 waiting and 1,000,000, turn about."""
    waiting = run.times(1_000_000, 100_000)
    with run.system.store("p3_small") as small, run.system.store("p3_large") as large:
        ids = [new_id("ep") for _ in range(_LANES)]
        Seeder(small).backlog(ids, 1000)
        began = time.monotonic()
        seed_many(large, ids, waiting)
        yield Figure("P3.seeding", time.monotonic() - began, "s")
        took: dict[str, list[float]] = {"small": [], "large": []}
        heads: dict[str, list[float]] = {"small": [], "large": []}
        for number in range(run.times(400, 100)):
            lane = ids[number % _LANES]
            for name, store in (("small", small), ("large", large)):
                took[name].append(_claim_and_release(store, lane))
                if number % 10 == 0:
                    heads[name].append(_timed(store.lanes.heads))
    small_p95, large_p95 = percentile(took["small"], 0.95), percentile(took["large"], 0.95)
    yield Figure("P3", large_p95 / small_p95, "ratio", 1.5)
    yield Figure("P3.claim_p95_1k_waiting", small_p95, "ms")
    yield Figure(f"P3.claim_p95_{waiting // 1000}k_waiting", large_p95, "ms")
    yield Figure("P3.claim_p50_1k_waiting", median(took["small"]), "ms")
    yield Figure(f"P3.claim_p50_{waiting // 1000}k_waiting", median(took["large"]), "ms")
    yield Figure("P3.discovery_1k_waiting", median(heads["small"]), "ms")
    yield Figure(f"P3.discovery_{waiting // 1000}k_waiting", median(heads["large"]), "ms")


def discovery(run: Run) -> Iterator[Figure]:
    """Looking which of 1 to 10,000 lanes have something due, two deliveries in each."""
    for lanes in (1, 100, 1000, 10_000):
        with run.system.store("lanes") as store:
            Seeder(store).backlog([f"ep_{number:020d}" for number in range(lanes)], 2 * lanes)
            taken = [_timed(store.lanes.heads) for _ in range(run.times(20, 5))]
            yield Figure(f"lanes.discovery_{lanes}", median(taken), "ms")


def costs(run: Run) -> Iterator[Figure]:
    """CPU for one delivery in mongod and in Python of each step of a worker and of a publish."""
    count = run.times(10_000, 2000)
    with run.system.store("costs") as store:
        lanes = [new_id("ep") for _ in range(10)]
        Seeder(store).deliveries(lanes, count)
        ids: list[list[str]] = []
        claimed: list[list[Claim]] = []
        now = store.now()

        def find() -> None:
            for lane in lanes:
                found = store.lanes.due(lane, now=now, limit=count)
                ids.extend(found[at : at + 50] for at in range(0, len(found), 50))

        def claim() -> None:
            for some in ids:
                claimed.append(store.deliveries.claim(some, worker="bench", lease=_LEASE))

        def read() -> None:
            for some in claimed:
                store.events.bodies({one.event for one in some})

        def commit() -> None:
            for some in claimed:
                store.deliveries.commit([Result(one, Verdict.delivered(200)) for one in some])

        for name, step in (("find", find), ("claim", claim), ("body", read), ("commit", commit)):
            yield from _cost(run.system, name, step, count)
        yield from _cost(run.system, "publish", _publishes(run, store, count), count)


def seed_many(store: Store, lanes: Sequence[str], count: int, team: str = TEAM) -> None:
    """A long backlog, quickly: the indexes are built after the inserts."""
    seeder = Seeder(store, team)
    store.db.deliveries.drop_indexes()
    seeder.backlog(lanes, count)
    store.ensure_schema()


def _claim_and_release(store: Store, lane: str) -> float:
    """Milliseconds of finding and claiming; giving back is not counted."""
    now = store.now() + timedelta(seconds=1)
    began = time.perf_counter()
    ids = store.lanes.due(lane, now=now, limit=_BATCH)
    got = store.deliveries.claim(ids, worker="bench", lease=_LEASE)
    took = (time.perf_counter() - began) * 1000
    store.deliveries.commit([Result(claim, Verdict.release("bench")) for claim in got])
    return took


def _publishes(run: Run, store: Store, count: int) -> Callable[[], None]:
    """Accept in batches of 100, each event for one endpoint."""
    endpoints(store, run.vault, "http://127.0.0.1:9", 1)
    intake = Intake(store)
    wishes = [Publish(type=TYPE, data=payload(1024)) for _ in range(100)]

    def publish() -> None:
        for _ in range(count // 100):
            intake.accept_many(TEAM, wishes)

    return publish


def _cost(system: System, name: str, step: Callable[[], None], count: int) -> Iterator[Figure]:
    database, python = system.mongod.cpu(), time.process_time()
    step()
    yield Figure(f"costs.{name}_python", (time.process_time() - python) / count * 1e6, "us")
    yield Figure(f"costs.{name}_mongod", (system.mongod.cpu() - database) / count * 1e6, "us")


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000
