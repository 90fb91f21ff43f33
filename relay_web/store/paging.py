"""Keyset pages: a cursor names the last row seen, so pages stay right while rows arrive."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from relay_web.errors import BadRequest

Row = TypeVar("Row")

MAX_LIMIT: Final = 100
_MARK: Final = 6


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """One page of a list. `next` is the cursor of the page after it, None at the end; `previous`,
    in a list that goes both ways, that of the one in front of it."""

    items: Sequence[Row]
    next: str | None
    previous: str | None = None


def cursor(listing: str, team: str, last: str) -> str:
    """An opaque cursor that only this listing of this team takes."""
    return base64.urlsafe_b64encode(_mark(listing, team) + last.encode()).decode().rstrip("=")


def position(listing: str, team: str, text: str) -> str:
    """The id a cursor stands for; raises `BadRequest` for any other text (reliability B78)."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        mark, last = raw[:_MARK], raw[_MARK:].decode()
    except (ValueError, binascii.Error):
        mark, last = b"", ""
    if mark != _mark(listing, team):
        raise BadRequest(
            "Cursor not valid; start again without `after`.", field="after", code="bad_cursor"
        )
    return last


def _mark(listing: str, team: str) -> bytes:
    """Tells a cursor of another list or team. It guards nothing: every query holds the team."""
    return hashlib.sha256(f"{listing}\0{team}".encode()).digest()[:_MARK]
