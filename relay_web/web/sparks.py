"""A day of hourly sums drawn into a table's cell, 5 px an hour: of an endpoint, of a worker."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from relay_web.store.rollups import Hour
from relay_web.web.chart import first_hour

#: Height of the tallest bar in px.
HEIGHT: Final = 20


@dataclass(frozen=True, slots=True)
class Spark:
    """One endpoint's last 24 hours in a cell, 5 px an hour."""

    arrived: int
    trouble: int
    #: (x, arrived height, trouble height) in px, hour by hour, where there was anything.
    bars: tuple[tuple[int, int, int], ...]
    worst: datetime | None

    @property
    def rate(self) -> float:
        """Attempts that arrived, in percent."""
        return self.arrived / (self.arrived + self.trouble) * 100


@dataclass(frozen=True, slots=True)
class Meter:
    """What went wrong at one worker in a day, and in which hours; stalls are of its hub."""

    worker: str
    fenced: int
    lost: int
    stalls: int
    stall_ms: int
    #: (x in px, severity 1 to 3), hour by hour, where there was anything.
    hours: tuple[tuple[int, int], ...]


def meters(hours: Sequence[Hour], now: datetime) -> list[Meter]:
    """By worker, those with the most lost leases and fenced writes first; quiet ones have none."""
    start = first_hour(now)
    found: dict[str, list[Hour]] = {}
    for hour in hours:
        if hour["fenced"] or hour["lost"] or hour["stalls"]:
            found.setdefault(hour.key, []).append(hour)
    drawn = [_meter(worker, rows, start) for worker, rows in found.items()]
    return sorted(drawn, key=lambda it: (-it.fenced - it.lost, -it.stalls, it.worker))


def _meter(worker: str, rows: Sequence[Hour], start: datetime) -> Meter:
    sums: Counter[str] = Counter()
    for row in rows:
        sums.update(row.counts)
    return Meter(
        worker,
        sums["fenced"],
        sums["lost"],
        sums["stalls"],
        sums["stall_ms"],
        tuple(
            (
                round((row.hour - start) / timedelta(hours=1)) * 5,
                3 if row["fenced"] else 2 if row["lost"] else 1,
            )
            for row in rows
        ),
    )


def sparks(hours: Sequence[Hour], now: datetime) -> dict[str, Spark]:
    """By endpoint; one without attempts has none. Each is drawn to its own scale."""
    start = first_hour(now)
    found: dict[str, list[Hour]] = {}
    for hour in hours:
        if hour["delivered"] or hour["errors"]:
            found.setdefault(hour.key, []).append(hour)
    return {key: _spark(rows, start) for key, rows in found.items()}


def _spark(rows: Sequence[Hour], start: datetime) -> Spark:
    highest = max(row["delivered"] + row["errors"] for row in rows)
    worst = max(rows, key=lambda row: row["errors"])

    def height(count: int) -> int:
        return max(2, round(count / highest * HEIGHT)) if count else 0

    return Spark(
        sum(row["delivered"] for row in rows),
        sum(row["errors"] for row in rows),
        tuple(
            (
                round((row.hour - start) / timedelta(hours=1)) * 5,
                height(row["delivered"]),
                height(row["errors"]),
            )
            for row in rows
        ),
        worst.hour if worst["errors"] else None,
    )
