"""Where everything on a delivery's strip stands: time folded onto 0–100 % of a width.

Work is drawn to scale. Waits longer than `FOLD_AFTER` are folded to a fixed width, since a backoff
lasts hours and an attempt milliseconds. The mapping never goes backwards, so order is always true.
All positions are percentages of the drawing's width; heights are the template's own business.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from relay_web.web.strip_scale import Scale, merged, placed, size_of, stretches_of

#: A mark is never thinner than this (percent).
LEAST_MARK: Final = 0.6
#: Clock labels closer than this (percent of the width) would overlap.
LABEL_ROOM: Final = 13.0


@dataclass(frozen=True, slots=True)
class Span:
    """One worker's hold on the delivery: its lease, from the grant to its end or to now."""

    worker: str
    token: int
    start: datetime
    end: datetime
    open: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """One request inside a hold. `kind` is plain, fenced or lost; `tone` is a state colour."""

    worker: str
    token: int
    start: datetime
    end: datetime
    tone: str
    kind: str
    icon: str
    label: str


@dataclass(frozen=True, slots=True)
class Box:
    """A horizontal extent, with what is drawn there."""

    x: float
    width: float
    of: Span | Work

    @property
    def right(self) -> float:
        return round(self.x + self.width, 3)


@dataclass(frozen=True, slots=True)
class Lane:
    """One worker's row. `fences` are where a newer token ended its right to report."""

    worker: str
    holds: tuple[Box, ...]
    marks: tuple[Box, ...]
    fences: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    x: float
    width: float
    length: timedelta
    #: Whether the wait's length can be written above it without meeting the "now" label.
    labelled: bool

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 3)


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    at: datetime
    anchor: str


@dataclass(frozen=True, slots=True)
class Strip:
    lanes: tuple[Lane, ...]
    folds: tuple[Fold, ...]
    ticks: tuple[Tick, ...]
    now: float | None
    next: float | None
    #: Empty, `wide` or `wider`: how much room so many parts need.
    size: str


def draw(
    spans: Sequence[Span],
    works: Sequence[Work],
    *,
    created: datetime,
    now: datetime | None,
    due: datetime | None,
    fences: Sequence[tuple[str, datetime]] = (),
) -> Strip:
    """Lay out holds, requests and waits.

    `now` is None for a delivery at rest; `due` is the next attempt, None where there is none;
    `fences` are (worker, when a newer token was granted) for every lease that was lost.
    """
    items: list[Span | Work] = [*spans, *works]
    busy = merged((item.start, item.end) for item in items)
    stretches = stretches_of(busy, created=created, until=due or now)
    scale = Scale(placed(stretches, now))
    now_x = scale.at(now) if now else None
    lanes = tuple(
        Lane(
            worker,
            tuple(_box(scale, span) for span in spans if span.worker == worker),
            tuple(_box(scale, work, LEAST_MARK) for work in works if work.worker == worker),
            tuple(scale.at(at) for owner, at in fences if owner == worker),
        )
        for worker in dict.fromkeys(item.worker for item in items)
    )
    return Strip(
        lanes,
        tuple(_folds(scale, now_x)),
        tuple(_ticks(scale, [start for start, _ in busy] or [created])),
        now_x,
        scale.at(due) if due else None,
        size_of(stretches),
    )


def _box(scale: Scale, item: Span | Work, least: float = 0.0) -> Box:
    left = scale.at(item.start)
    width = max(least, scale.at(item.end) - left)
    return Box(min(left, 100.0 - width), round(width, 3), item)


def _folds(scale: Scale, now: float | None) -> Iterable[Fold]:
    for piece in scale.pieces:
        if piece.folded:
            middle = piece.x + piece.width / 2
            free = now is None or abs(now - middle) > LABEL_ROOM / 2
            yield Fold(round(piece.x, 3), round(piece.width, 3), piece.end - piece.start, free)


def _ticks(scale: Scale, moments: Sequence[datetime]) -> Iterable[Tick]:
    """A clock time where work starts, left out where two would overlap."""
    last = -LABEL_ROOM
    for moment in moments:
        x = scale.at(moment)
        if x - last >= LABEL_ROOM:
            last = x
            yield Tick(x, moment, "end" if x > 100 - LABEL_ROOM else "start")
