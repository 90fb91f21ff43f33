"""Hourly sums as bars: trouble at the base, what arrived above it, all to one scale."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from relay_web.store.rollups import Hour, quantile

#: Height of the plot in px; the template draws with it.
HEIGHT: Final = 88
#: A count that is not zero is never lower than this (px), so that one failure shows.
LEAST: Final = 3
#: Answers listed by code or cause.
LISTED: Final = 6


@dataclass(frozen=True, slots=True)
class Span:
    """How far back a chart goes, in how many bars; every how many of them one is labelled."""

    key: str
    words: str
    bars: int
    step: timedelta
    labelled: int
    by_day: bool = False


#: Sums are hourly, so the last hour is the present one and the one before.
SPANS: Final[Mapping[str, Span]] = {
    span.key: span
    for span in (
        Span("1h", "last hour", 2, timedelta(hours=1), 1),
        Span("24h", "last 24 hours", 24, timedelta(hours=1), 6),
        Span("7d", "last 7 days", 28, timedelta(hours=6), 8, by_day=True),
        Span("30d", "last 30 days", 30, timedelta(days=1), 10, by_day=True),
    )
}
DAY: Final = SPANS["24h"]


@dataclass(frozen=True, slots=True)
class Bar:
    """One step from `hour` on. `x` and `width` in percent, heights in px."""

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
    """The sums of a span, the present hour included."""

    span: Span
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


def span_named(key: str | None) -> Span:
    """The span of that name in an address; a day for any other."""
    return SPANS.get(key or "", DAY)


def first_hour(now: datetime, span: Span = DAY) -> datetime:
    """Where a chart that ends with the present hour begins."""
    ends = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return ends - span.bars * span.step


def draw(hours: Sequence[Hour], now: datetime, span: Span = DAY) -> Chart:
    """Sums of any number of endpoints, laid out step by step."""
    start = first_hour(now, span)
    counts: list[Counter[str]] = [Counter() for _ in range(span.bars)]
    for hour in hours:
        if 0 <= (place := (hour.hour - start) // span.step) < span.bars:
            counts[place].update(hour.counts)
    every = [start + place * span.step for place in range(span.bars)]
    highest = max(max(count["delivered"] + count["errors"] for count in counts), 1)
    total: Counter[str] = sum(counts, Counter())
    worst = max(zip(counts, every, strict=True), key=lambda pair: pair[0]["errors"])
    return Chart(
        span,
        tuple(
            _bar(place, *pair, highest, 100 / span.bars)
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


def _bar(place: int, hour: datetime, count: Mapping[str, int], highest: int, step: float) -> Bar:
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
