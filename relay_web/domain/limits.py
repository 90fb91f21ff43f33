"""The bounds of what a person may type into an endpoint, each with the sentence that says so."""

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from relay_web.errors import Invalid

ENDPOINTS_PER_TEAM: Final = 100
NAME: Final = 100
DESCRIPTION: Final = 1000
RATE: Final = (1, 10_000)
IN_FLIGHT: Final = (1, 1_000)
RETRIES: Final = 50
RETRY_SECONDS: Final = 7 * 24 * 3600

#: Unicode categories that a one-line text may not hold: controls, line and paragraph separators,
#: surrogates. Bidi overrides are format characters (Cf), so those are listed.
_BANNED_CATEGORIES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_line(text: str, *, field: str, longest: int = NAME, empty: bool = False) -> str:
    """`text` trimmed, if it is one printable line; raises `Invalid` (reliability B49)."""
    line = text.strip()
    if not line and not empty:
        raise Invalid("Write at least one visible character.", field=field)
    if len(line) > longest:
        raise Invalid(f"Use at most {longest} characters.", field=field)
    if any(unicodedata.category(c) in _BANNED_CATEGORIES or c in _BIDI for c in line):
        raise Invalid("Leave out line breaks, control and direction characters.", field=field)
    return line


def check_text(text: str, *, field: str, longest: int = DESCRIPTION) -> str:
    """Free text of several lines: no NUL and the like, at most `longest` characters."""
    cleaned = text.replace("\r\n", "\n").strip()
    if len(cleaned) > longest:
        raise Invalid(f"Use at most {longest} characters.", field=field)
    if any(unicodedata.category(c) in _BANNED_CATEGORIES and c not in "\n\t" for c in cleaned):
        raise Invalid("Leave out control characters.", field=field)
    return cleaned


def check_whole(number: object, bounds: tuple[int, int], *, field: str) -> int:
    """A whole number within `bounds`, both included; raises `Invalid` (reliability B54)."""
    low, high = bounds
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        raise Invalid(f"Use a whole number from {low} to {high}.", field=field)
    return number


def check_schedule(delays: Sequence[float], *, field: str = "retry_schedule") -> tuple[float, ...]:
    """Seconds before each retry; raises `Invalid` (reliability B56). An empty one never retries."""
    if len(delays) > RETRIES:
        raise Invalid(f"At most {RETRIES} retries.", field=field)
    if any(not delay >= 0 for delay in delays):
        raise Invalid("Every delay is a number of seconds, 0 or more.", field=field)
    if any(later < earlier for earlier, later in pairwise(delays)):
        raise Invalid("Each delay must be at least as long as the one before it.", field=field)
    if sum(delays) > RETRY_SECONDS:
        raise Invalid("The delays together must not exceed 7 days.", field=field)
    return tuple(float(delay) for delay in delays)
