"""How long a receiver asks us to wait. Foreign text: everything odd means "did not say"."""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

#: Seconds; longer requests are cut to this (reliability G12).
LONGEST: Final = 86_400.0


def retry_after(values: Iterable[str], now: datetime) -> float | None:
    """Seconds to wait, 0 to `LONGEST`; None where no value is usable.

    A value is whole seconds or an HTTP date (RFC 9110 §10.2.3). A date in the past, a sign, a
    fraction, an empty or any other text counts as absent. Of several headers the longest wait wins.
    """
    waits = [wait for value in values if (wait := _seconds(value.strip(), now)) is not None]
    return min(max(waits), LONGEST) if waits else None


def _seconds(value: str, now: datetime) -> float | None:
    if value.isascii() and value.isdigit():
        # int() refuses texts of thousands of digits; ten of them are past the cut anyway.
        return LONGEST if len(value.lstrip("0")) > 10 else float(value)
    if len(value) > 40 or not value[:1].isalpha():  # every HTTP date begins with its weekday
        return None
    try:
        when = parsedate_to_datetime(value)
        wait = (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return wait if wait > 0 else None
