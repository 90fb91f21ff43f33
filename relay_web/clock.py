"""Time and identity. Ids are time-ordered: 8 base-62 digits of time, then 12 random ones."""

import secrets
import time
from datetime import UTC, datetime
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: Digits after the prefix: 8 of time (until the year 8888) and 12 random (71 bits).
TAIL_LENGTH: Final = 20
_RANDOM_DIGITS: Final = 12
_RANDOM_SPAN: Final = 62**_RANDOM_DIGITS


def utcnow() -> datetime:
    """This process's wall time, aware, cut to the whole milliseconds that BSON keeps."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def new_id(prefix: str) -> str:
    """A fresh id such as `msg_0VkT3aBc…`: prefix and 20 base-62 digits; sorts by creation."""
    millis = time.time_ns() // 1_000_000
    return f"{prefix}_{base62(millis, 8)}{base62(secrets.randbelow(_RANDOM_SPAN), _RANDOM_DIGITS)}"


def base62(number: int, width: int) -> str:
    """`number` in base 62, left-padded with zeros to `width` digits (sorts like the number)."""
    digits = []
    for _ in range(width):
        number, rest = divmod(number, 62)
        digits.append(ALPHABET[rest])
    return "".join(reversed(digits))
