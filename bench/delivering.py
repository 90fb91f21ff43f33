"""P1, P1b, P3b, P8: how fast a backlog is delivered, and what a delivery costs."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from bench.figures import Figure
from bench.run import Field, Run, Window
from bench.sampling import median

LANES: Final = 10
#: One lane may hold half of the slots that the others leave free, so ten equal lanes hold 10/11 of
#: them: 220 slots are 200 in flight.
SLOTS: Final = 220
IN_FLIGHT: Final = 200
_BACKLOG: Final = 12_000


def bare(how: str, base: str, seconds: float) -> tuple[float, float]:
    """Requests per second, and microseconds of CPU for one, of a bare loop (see `bench.bare`)."""
    arguments = [how, base, str(LANES), str(IN_FLIGHT), str(seconds)]
    said = subprocess.check_output([sys.executable, "-m", "bench.bare", *arguments])
    rate, cost = map(float, said.split())
    return rate, cost


def one_worker(run: Run) -> Iterator[Figure]:
    """Relay, the bare Session.post loop and the bare transport loop in turn, round by round."""
    windows: list[Window] = []
    sessions: list[float] = []
    transports: list[float] = []
    with (
        run.field("p1", LANES) as field,
        run.system.worker(field.store, concurrency=SLOTS) as worker,
    ):
        field.window([worker], _BACKLOG // 4)
        for _ in range(run.times(5, 2)):
            windows.append(field.window([worker], _BACKLOG))
            sessions.append(bare("session", field.receiver.base, 2.0)[0])
            transports.append(bare("transport", field.receiver.base, 1.0)[0])
    yield Figure("P1", _ratio(windows, sessions), "ratio", 3.0, at_least=True)
    yield Figure("P1.of_bare_transport", _ratio(windows, transports), "ratio")
    yield Figure("P1.relay", median([one.rate for one in windows]), "per_s")
    yield Figure("P1.bare_session_post", median(sessions), "per_s")
    yield Figure("P1.bare_transport", median(transports), "per_s")
    yield Figure("P1.in_flight", median([one.held for one in windows]), "slots")
    yield Figure("P1b", median([one.worker + one.mongod for one in windows]), "us", 350)
    yield Figure("P1b.worker", median([one.worker for one in windows]), "us")
    yield Figure("P1b.mongod", median([one.mongod for one in windows]), "us")
    yield Figure("P1b.receiver", median([one.receiver for one in windows]), "us")


def many_lanes(run: Run) -> Iterator[Figure]:
    """The same backlog over 1,000 lanes and over 10, each with its own database and worker."""
    with (
        run.field("p3b_few", LANES) as few,
        run.field("p3b_many", 1000) as many,
        run.system.worker(few.store, concurrency=SLOTS) as few_worker,
        run.system.worker(many.store, concurrency=SLOTS) as many_worker,
    ):
        pairs = [
            (many.window([many_worker], _BACKLOG), few.window([few_worker], _BACKLOG))
            for _ in range(run.times(4, 2))
        ]
    yield Figure("P3b", _compared(pairs), "ratio", 0.8, at_least=True)
    yield Figure("P3b.at_1000_lanes", median([one.rate for one, _ in pairs]), "per_s")
    yield Figure("P3b.at_10_lanes", median([one.rate for _, one in pairs]), "per_s")


def two_workers(run: Run) -> Iterator[Figure]:
    """Two worker processes on one backlog, and one: round by round."""
    pairs = []
    with run.field("p8", LANES) as field:
        for _ in range(run.times(4, 2)):
            pairs.append((_with_workers(run, field, 2), _with_workers(run, field, 1)))
    yield Figure("P8", _compared(pairs), "ratio", 1.3, at_least=True)
    yield Figure("P8.two_workers", median([one.rate for one, _ in pairs]), "per_s")
    yield Figure("P8.one_worker", median([one.rate for _, one in pairs]), "per_s")


def _with_workers(run: Run, field: Field, count: int) -> Window:
    """A window with `count` fresh workers, warmed up."""
    with run.system.worker(field.store, concurrency=SLOTS) as first:
        if count == 1:
            field.window([first], _BACKLOG // 4)
            return field.window([first], _BACKLOG)
        with run.system.worker(field.store, concurrency=SLOTS) as second:
            field.window([first, second], _BACKLOG // 4)
            return field.window([first, second], _BACKLOG)


def _ratio(windows: Sequence[Window], yardstick: Sequence[float]) -> float:
    """Median of the rounds' ratios: what slows a whole round down does not count."""
    return median([one.rate / bare for one, bare in zip(windows, yardstick, strict=True)])


def _compared(pairs: Sequence[tuple[Window, Window]]) -> float:
    return median([one.rate / other.rate for one, other in pairs])
