"""Time folded onto a width: work to one scale, long waits to a fixed length, never backwards."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

#: A wait longer than this is folded.
FOLD_AFTER: Final = timedelta(seconds=20)
#: Widths in units; the drawing is `ROOM` of them wide, more where so many parts need more.
ROOM: Final = 1000.0
FOLD: Final = 105.0
FOLD_WITH_NOW: Final = 200.0
#: Work is drawn to one scale, never larger than this many units a second …
LARGEST_SCALE: Final = 250.0
#: … and never narrower than this, so that 12 ms can be seen beside 15 s.
LEAST_WORK: Final = 7.0
#: Kept free at the end, for the label of the last request.
EDGE: Final = 110.0

Stretch = tuple[datetime, datetime, bool]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time and the stretch of width it is drawn on."""

    start: datetime
    end: datetime
    x: float
    width: float
    folded: bool


class Scale:
    """A monotone, piecewise linear map from time to percent."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(pieces)

    def at(self, moment: datetime) -> float:
        """The position of a moment; moments outside the drawing stand at its edge."""
        for piece in self.pieces:
            if moment <= piece.end:
                length = (piece.end - piece.start).total_seconds()
                share = (moment - piece.start).total_seconds() / length if length else 0.0
                return round(piece.x + piece.width * min(1.0, max(0.0, share)), 3)
        return 100.0


def merged(intervals: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Intervals in order, joined where less than a fold lies between them."""
    joined: list[tuple[datetime, datetime]] = []
    for start, end in sorted(intervals):
        if joined and start - joined[-1][1] <= FOLD_AFTER:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def stretches_of(
    busy: Sequence[tuple[datetime, datetime]], *, created: datetime, until: datetime | None
) -> list[Stretch]:
    """(start, end, folded) without a gap from creation to the last thing known."""
    found: list[Stretch] = []
    reached = created
    for start, end in busy:
        if start - reached > FOLD_AFTER:
            found.append((reached, start, True))
            reached = start
        found.append((min(reached, start), end, False))
        reached = end
    if until and until > reached:
        found.append((reached, until, until - reached > FOLD_AFTER))
    return found or [(created, created, False)]


def placed(stretches: Sequence[Stretch], now: datetime | None) -> list[Piece]:
    fixed = _fixed_width(stretches, now)
    seconds = sum((end - start).total_seconds() for start, end, folded in stretches if not folded)
    scale = min(LARGEST_SCALE, max(0.0, ROOM - fixed) / seconds) if seconds else 0.0
    widths = [
        (FOLD_WITH_NOW if _holds(start, end, now) else FOLD)
        if folded
        else max(LEAST_WORK, scale * (end - start).total_seconds())
        for start, end, folded in stretches
    ]
    if stretches[-1][2]:
        # The wait that is going on now takes what is left, so that the next attempt is at the end.
        widths[-1] += max(0.0, ROOM - sum(widths))
    total = max(ROOM, sum(widths) + _edge(stretches))
    pieces, x = [], 0.0
    for (start, end, folded), width in zip(stretches, widths, strict=True):
        pieces.append(Piece(start, end, x / total * 100, width / total * 100, folded))
        x += width
    return pieces


def _fixed_width(stretches: Sequence[Stretch], now: datetime | None) -> float:
    """What folds and the edge take, before any work is drawn."""
    folds = [(start, end) for start, end, folded in stretches if folded]
    return _edge(stretches) + sum(FOLD_WITH_NOW if _holds(*fold, now) else FOLD for fold in folds)


def _edge(stretches: Sequence[Stretch]) -> float:
    return 0.0 if stretches[-1][2] else EDGE


def _holds(start: datetime, end: datetime, now: datetime | None) -> bool:
    return now is not None and start <= now <= end


def size_of(stretches: Sequence[Stretch]) -> str:
    need = _fixed_width(stretches, None) + LEAST_WORK * len(stretches)
    if need <= ROOM:
        return ""
    return "wide" if need <= 2 * ROOM else "wider"
