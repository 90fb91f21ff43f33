"""Event types and the patterns that endpoints subscribe with."""

import re
from collections.abc import Iterable
from typing import Final

from relay_web.errors import Invalid

MAX_LENGTH: Final = 256
MAX_PATTERNS: Final = 100

_SEGMENT: Final = r"[A-Za-z0-9_-]+"
#: Standard Webhooks: full-stop delimited identifiers. Kept in one place for the OpenAPI document.
TYPE_PATTERN: Final = rf"^{_SEGMENT}(\.{_SEGMENT})*$"
SUBSCRIPTION_PATTERN: Final = rf"^{_SEGMENT}(\.{_SEGMENT})*(\.\*)?$"
_TYPE: Final = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*")
_SUBSCRIPTION: Final = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*(?:\.\*)?")


def check_type(text: str, *, field: str = "type") -> str:
    """`text` if it can be an event type; raises `Invalid` (reliability B20)."""
    if len(text) > MAX_LENGTH or not _TYPE.fullmatch(text):
        raise Invalid(
            "Use letters, digits, _ and - in parts joined by single dots, "
            f"such as invoice.paid; at most {MAX_LENGTH} characters.",
            field=field,
        )
    return text


def check_pattern(text: str, *, field: str = "event_types") -> str:
    """`text` if it is an exact type or `prefix.*`; raises `Invalid`."""
    if len(text) > MAX_LENGTH or not _SUBSCRIPTION.fullmatch(text):
        raise Invalid(
            f'"{text[:60]}" is neither an event type such as invoice.paid '
            "nor a pattern such as invoice.*.",
            field=field,
        )
    return text


def check_patterns(texts: Iterable[str], *, field: str = "event_types") -> tuple[str, ...]:
    """The patterns without duplicates, in the order given; raises `Invalid` (reliability B51)."""
    patterns = tuple(dict.fromkeys(check_pattern(text, field=field) for text in texts))
    if not patterns:
        raise Invalid("Name at least one event type, or leave this out for all.", field=field)
    if len(patterns) > MAX_PATTERNS:
        raise Invalid(
            f"At most {MAX_PATTERNS} event types; use a pattern such as invoice.*.", field=field
        )
    return patterns


def matches(pattern: str, event_type: str) -> bool:
    """`invoice.*` takes `invoice.paid` and `invoice.line.added`, but not `invoice` itself."""
    return event_type == pattern or (pattern[-2:] == ".*" and event_type.startswith(pattern[:-1]))
