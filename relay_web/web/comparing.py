"""Two attempts side by side: only what differs."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from relay_web.domain.journal import Attempt
from relay_web.web import payload, times

#: Lines of a body that are compared; the rest of a long one is left out.
LINES: Final = 2000
_CONTEXT: Final = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One fact of both attempts."""

    name: str
    a: str
    b: str

    @property
    def differs(self) -> bool:
        return self.a != self.b


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a body's difference; `mark` is `+`, `-` or a space."""

    mark: str
    text: str


def rows(a: Attempt, b: Attempt) -> list[Row]:
    """What was sent, where, and what came back; headers by name, values masked where secret."""
    found = [
        Row("Worker", a.worker, b.worker),
        Row("Fencing token", str(a.token), str(b.token)),
        Row("URL", _url(a), _url(b)),
        Row("Address", a.remote_ip or "none", b.remote_ip or "none"),
        Row("Result", a.reason, b.reason),
        Row("Took", times.duration(a.ms / 1000), times.duration(b.ms / 1000)),
    ]
    found += _headers("Request", a.request, b.request)
    found += _headers("Response", a.response or {}, b.response or {})
    return found


def body_difference(a: Attempt, b: Attempt) -> list[Line]:
    """The response bodies' unified difference; empty where they are the same."""
    old, new = _lines(a), _lines(b)
    if old == new:
        return []
    told = difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")
    # The first two lines name files, of which there are none here.
    return [Line(text[:1], text[1:]) for text in list(told)[2:] if not text.startswith("@@")]


def _url(attempt: Attempt) -> str:
    return str(attempt.request.get("url", "nothing was sent"))


def _headers(side: str, a: dict[str, Any], b: dict[str, Any]) -> Iterator[Row]:
    old, new = _by_name(a.get("headers", ())), _by_name(b.get("headers", ()))
    for name in sorted(old.keys() | new.keys()):
        yield Row(f"{side}: {name}", old.get(name, "none"), new.get(name, "none"))


def _by_name(headers: Sequence[Sequence[str]]) -> dict[str, str]:
    return {name.lower(): payload.masked(name, value) for name, value in headers}


def _lines(attempt: Attempt) -> list[str]:
    body = (attempt.response or {}).get("body")
    return payload.show(body).text.splitlines()[:LINES]
