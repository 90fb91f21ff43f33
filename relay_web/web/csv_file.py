"""Lists as CSV files: streamed page by page, bounded, and harmless in a spreadsheet."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Final, TypeVar

from flask import Response, stream_with_context

from relay_web.domain.event import iso_millis
from relay_web.store.paging import Page

Row = TypeVar("Row")
Cell = str | int | datetime | None

#: Rows of one file; a longer list is taken in pieces by its filters.
MOST: Final = 10_000
CUT: Final = f"Only the first {MOST:,} rows are in this file. Narrow the list to get the others."
#: What a spreadsheet takes for the beginning of a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_file(name: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Response:
    """`rows` under `header`, as a download called `name`; a list that is cut says so at its end.

    The first row is made before anything is sent, so what goes wrong there is still a page.
    """
    every = iter(rows)
    first = list(islice(every, 1))
    lines = _lines(header, chain(first, every))
    answer = Response(stream_with_context(lines), mimetype="text/csv")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def walk(page: Callable[[str | None], Page[Row]]) -> Iterator[Row]:
    """Every row of a list, page after page; `page` takes the cursor of the one before."""
    after = None
    while True:
        found = page(after)
        yield from found.items
        if (after := found.next) is None:
            return


def _lines(header: Sequence[str], rows: Iterator[Sequence[Cell]]) -> Iterator[str]:
    yield _line(header)
    for row in islice(rows, MOST):
        yield _line(row)
    if next(rows, None) is not None:
        yield _line([CUT])


def _line(cells: Sequence[Cell]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(map(_plain, cells))
    return out.getvalue()


def _plain(cell: Cell) -> str:
    """A cell as text; what a spreadsheet would run as a formula is made text for it, too."""
    if isinstance(cell, datetime):
        return iso_millis(cell)
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
