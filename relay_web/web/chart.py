"""Hourly sums as bars: trouble at the base, what arrived above it, all to one scale."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from relay_web.store.rollups import Hour, quantile

HOURS: Final = 24
#: Height of the plot in px; the template draws with it.
HEIGHT: Final = 88
#: A count that is not zero is never lower than this (px), so that one failure shows.
LEAST: Final = 3
#: Answers listed by code or cause.
LISTED: Final = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour. `x` and `width` in percent, heights in px."""

    hour: datetime
    arrived: int
    trouble: int
    x: float
    width: float
    arrived_height: float
    trouble_height: float


@dataclass(frozen=True, slots=True)
class Answer:
    """How often attempts ended so: `name` is a status code or a cause; `share` of all, percent."""

    name: str
    is_status: bool
    count: int
    share: float

    @property
    def good(self) -> bool:
        return self.is_status and self.name.startswith("2")


@dataclass(frozen=True, slots=True)
class Chart:
    """The last 24 hours, the present one included."""

    bars: tuple[Bar, ...]
    arrived: int
    trouble: int
    highest: int
    worst: datetime | None
    #: Upper bounds in ms, None without answers.
    p50: float | None
    p95: float | None
    answers: tuple[Answer, ...]

    @property
    def rate(self) -> float | None:
        """Attempts that arrived, in percent; None without any."""
        total = self.arrived + self.trouble
        return self.arrived / total * 100 if total else None


def first_hour(now: datetime) -> datetime:
    """Where a chart that ends now begins."""
    return now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)


def draw(hours: Sequence[Hour], now: datetime) -> Chart:
    """Sums of any number of endpoints, laid out hour by hour."""
    start = first_hour(now)
    sums: dict[datetime, Counter[str]] = {}
    for hour in hours:
        sums.setdefault(hour.hour, Counter()).update(hour.counts)
    every = [start + timedelta(hours=step) for step in range(HOURS)]
    counts = [sums.get(hour, Counter()) for hour in every]
    highest = max(max(count["delivered"] + count["errors"] for count in counts), 1)
    total: Counter[str] = sum(counts, Counter())
    worst = max(zip(counts, every, strict=True), key=lambda pair: pair[0]["errors"])
    return Chart(
        tuple(
            _bar(place, *pair, highest)
            for place, pair in enumerate(zip(every, counts, strict=True))
        ),
        total["delivered"],
        total["errors"],
        highest,
        worst[1] if worst[0]["errors"] else None,
        quantile(total, 0.5),
        quantile(total, 0.95),
        _answers(total),
    )


def _bar(place: int, hour: datetime, count: Mapping[str, int], highest: int) -> Bar:
    step = 100 / HOURS
    arrived, trouble = count["delivered"], count["errors"]
    return Bar(
        hour,
        arrived,
        trouble,
        round(place * step + step * 0.1, 3),
        round(step * 0.8, 3),
        _height(arrived, highest),
        _height(trouble, highest),
    )


def _height(count: int, highest: int) -> float:
    return round(max(LEAST, count / highest * (HEIGHT - LEAST)), 1) if count else 0.0


def _answers(total: Mapping[str, int]) -> tuple[Answer, ...]:
    found = [
        (name.partition("_"), count)
        for name, count in total.items()
        if name.startswith(("status_", "cause_")) and count > 0
    ]
    every = sum(count for _, count in found)
    ordered = sorted(found, key=lambda pair: -pair[1])[:LISTED]
    return tuple(
        Answer(rest, kind == "status", count, round(count / every * 100, 1))
        for (kind, _, rest), count in ordered
    )
