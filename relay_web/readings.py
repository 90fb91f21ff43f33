"""How the text of one setting is read. Each raises ValueError with what must follow its name.

Values that may be secret never appear in a message.
"""

import logging
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from relay_web.domain.limits import check_schedule
from relay_web.domain.target import EgressPolicy
from relay_web.errors import RelayError

SHORTEST_KEY: Final = 16
_PLACEHOLDERS: Final = re.compile(r"change[-_ ]?me|your[-_ ]?secret|replace[-_ ]?me", re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(ms|s|m|h|d|)", re.ASCII)
_YES: Final = frozenset({"1", "true", "yes", "on"})
_NO: Final = frozenset({"0", "false", "no", "off"})


def whole(low: int, high: int) -> Callable[[object], int]:
    """Reads a whole number from `low` to `high`, both included."""

    def read(value: object) -> int:
        text = str(value).strip()
        # int() alone takes "1_000" and other scripts' digits too.
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {_shown(value)}.")
        return int(text)

    return read


def seconds(low: float, high: float) -> Callable[[object], float]:
    """Reads a duration (`15`, `15s`, `500ms`, `2m`) of `low` to `high` seconds."""

    def read(value: object) -> float:
        length = _duration(str(value))
        if length is None or not low <= length <= high:
            raise ValueError(
                f"must be a time from {low:g} s to {high:g} s such as 15s or 2m, "
                f"not {_shown(value)}."
            )
        return length

    return read


def schedule(value: object) -> tuple[float, ...]:
    """Reads delays in seconds out of `5s,5m,2h`, under the rules of an endpoint's own schedule."""
    if isinstance(value, tuple):
        return value
    delays = [_duration(part) for part in str(value).split(",")]
    if None in delays:
        raise ValueError(f"must be delays such as 5s,5m,30m,2h, not {_shown(value)}.")
    try:
        return check_schedule([delay for delay in delays if delay is not None])
    except RelayError as problem:
        raise ValueError(f"cannot be used: {problem.message}") from None


def flag(value: object) -> bool:
    """Reads yes or no."""
    text = str(value).strip().lower()
    if text not in _YES | _NO:
        raise ValueError(f"must be 1 or 0, not {_shown(value)}.")
    return text in _YES


def one_of(*choices: str) -> Callable[[object], str]:
    """Reads one of a few words."""

    def read(value: object) -> str:
        text = str(value).strip().lower()
        if text not in choices:
            raise ValueError(f"must be {' or '.join(choices)}, not {_shown(value)}.")
        return text

    return read


def log_level(value: object) -> str:
    """Reads the name of a level of the standard library's logging."""
    text = str(value).strip().upper()
    if text not in logging.getLevelNamesMapping():
        raise ValueError(f"must be DEBUG, INFO, WARNING or ERROR, not {_shown(value)}.")
    return text


def key(value: object) -> str:
    """Reads a secret text of any form, as long as it cannot be guessed."""
    text = str(value).strip()
    if len(text) < SHORTEST_KEY or _PLACEHOLDERS.search(text):
        raise ValueError(
            f"must be a random text of at least {SHORTEST_KEY} characters, "
            "such as `openssl rand -hex 32` prints."
        )
    return text


def keys(value: object) -> tuple[str, ...]:
    """Reads comma-separated keys, newest first."""
    return tuple(key(part) for part in str(value).split(","))


def is_mongodb(text: str) -> bool:
    """Whether `text` is meant as a MongoDB address."""
    return text.strip().startswith(("mongodb://", "mongodb+srv://"))


def mongodb_uri(value: object) -> str | None:
    """Reads a MongoDB address; of one whose hosts are in DNS only the beginning can be checked."""
    if value is None:
        return None
    text = str(value).strip()
    if not is_mongodb(text):
        raise ValueError("must start with mongodb:// or mongodb+srv://.")
    if text.startswith("mongodb://"):
        try:
            parse_uri(text)
        except (PyMongoError, ValueError):
            raise ValueError(
                "must look like mongodb://user:password@host:27017/relay, with special characters "
                "of the password percent-encoded."
            ) from None
    return text


def public_url(value: object) -> str | None:
    """Reads the address under which people reach Relay: scheme and host, nothing behind."""
    return (
        None if value is None else _url(str(value), ("https", "http"), "https://relay.example.com")
    )


def smtp_url(value: object) -> str | None:
    """Reads a mail server's address."""
    return (
        None
        if value is None
        else _url(str(value), ("smtp", "smtps"), "smtp://user:password@host:587", bare=False)
    )


def egress(value: object) -> str:
    """Reads `cidr[:port],…`, kept as text; `Settings.egress_policy` gives the rules."""
    text = str(value).strip()
    try:
        EgressPolicy.parse_allow(text)
    except RelayError as problem:
        said = problem.message.replace("RELAY_EGRESS_ALLOW:", "cannot be used:")
        raise ValueError(said.removeprefix("RELAY_EGRESS_ALLOW ")) from None
    return text


def _url(text: str, schemes: tuple[str, ...], example: str, *, bare: bool = True) -> str:
    text = text.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        fits = parts.scheme in schemes and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        fits = False
    if not fits or (bare and (parts.path or parts.query or parts.fragment or parts.username)):
        raise ValueError(f"must be an address such as {example}.")
    return text


def _duration(text: str) -> float | None:
    match = _DURATION.fullmatch(text.strip())
    return float(match[1]) * _SECONDS[match[2]] if match else None


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
