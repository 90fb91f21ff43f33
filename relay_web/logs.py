"""Logs: to stdout, one line an event, in logfmt, JSON, or coloured for a person's console.

Everything goes through one chain, the standard library's loggers included. It keeps three promises:
no text from outside can begin a line of its own, no line outgrows what platforms keep whole, and no
secret is written, whoever logs it.
"""

import logging
import re
import sys
from contextlib import suppress
from functools import cache
from typing import Any, Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

#: Characters kept of one value; platforms cut lines at 10,000 bytes.
LONGEST_VALUE: Final = 1500
#: Characters kept of a traceback: its end says what happened.
LONGEST_TRACEBACK: Final = 6000

_SECRET_NAMES: Final = frozenset(
    {
        *("password", "secret", "secrets", "secret_key", "secrets_keys", "signature"),
        *("authorization", "cookie", "set_cookie", "api_key", "setup_token", "metrics_token"),
        *("mongodb_uri", "smtp_url"),
    }
)
#: What a secret looks like wherever it stands, and what is written instead.
_SECRETS: Final = (
    (re.compile(r"\bwh(sec|sk)_[A-Za-z0-9+/=_-]{4,}"), r"wh\1_***"),
    (re.compile(r"\brk_[A-Za-z0-9]{12,}"), "rk_***"),
    (re.compile(r"\b(Bearer|Basic) +[^\s\"',]+", re.IGNORECASE), r"\1 ***"),
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/@\"']+@", re.IGNORECASE), r"\1***@"),
    # A one-time link is worth as much as a password until it is used.
    (re.compile(r"(/(?:invites|reset|confirm)/)[A-Za-z0-9_-]{8,}"), r"\1***"),
    # An endpoint's query often holds a token of the receiver's.
    (re.compile(r"\b(https?://[^\s?\"']+)\?[^\s\"']+", re.IGNORECASE), r"\1?***"),
)
#: Every secret above has one of these in it; most values have none and need no further look.
_SUSPECT: Final = re.compile(r"[ /]|wh(?:sec|sk)_|rk_")
#: Control characters, DEL, the C1 set, and the line separators beyond ASCII.
_BREAKING: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: What a logfmt value cannot hold unquoted.
_UNPLAIN: Final = re.compile(rf"[\s=\"\\]|{_BREAKING.pattern}")


def configure(*, level: str, style: str, stream: TextIO = sys.stdout) -> None:
    """Send structlog's and the standard library's events to `stream`.

    `level` is a name such as INFO; `style` is `logfmt`, `json` or `console`.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(
            fmt="%H:%M:%S" if style == "console" else "iso", utc=style != "console", key="at"
        ),
        structlog.processors.format_exc_info,
        clean,
    ]
    renderers = _renderers(style, coloured=stream.isatty())
    structlog.configure(
        # Straight to the stream: by way of the standard library a line costs twice as much.
        processors=[*shared, *renderers],
        logger_factory=lambda *_: _Lines(stream),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *renderers,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for chatty in ("pymongo", "urllib3", "werkzeug"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLevelName(level)))


class _Lines:
    """Writes finished lines. No full disk, closed pipe or odd character may end what logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    debug = info = warning = error = critical = exception = msg


def clean(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Mask secrets, cut what is too long, and put when, how grave and what in front."""
    first = {name: event[name] for name in ("at", "level", "event") if name in event}
    return {name: _cleaned(name, value) for name, value in {**first, **event}.items()}


def _cleaned(name: str, value: Any) -> Any:
    if name.startswith("_") or value is None or isinstance(value, bool | int | float):
        return value
    if name in _SECRET_NAMES:
        return "***"
    text = value if isinstance(value, str) else repr(value)
    if _SUSPECT.search(text):
        for secret, instead in _SECRETS:
            text = secret.sub(instead, text)
    if name == "exception":
        return text[-LONGEST_TRACEBACK:]
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _renderers(style: str, *, coloured: bool) -> list[Processor]:
    if style == "json":
        return [structlog.processors.JSONRenderer()]  # its ASCII output escapes every line end
    if style == "console":
        return [
            _one_line_values,
            structlog.dev.ConsoleRenderer(colors=coloured, timestamp_key="at", pad_event_to=24),
        ]
    return [_logfmt]


def _one_line_values(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """For a person: only a traceback keeps its lines."""
    return {
        name: _escaped(value) if isinstance(value, str) and name != "exception" else value
        for name, value in event.items()
    }


def _logfmt(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """`at=… level=info event=delivery.attempted …`; a name that logfmt cannot hold is mended."""
    return " ".join([f"{_mended(name)}={_quoted(value)}" for name, value in event.items()])


@cache
def _mended(name: str) -> str:
    return re.sub(r"[\s=\"]+", "_", name)


def _quoted(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if text and not _UNPLAIN.search(text):
        return text
    return '"' + _escaped(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _escaped(text: str) -> str:
    return _BREAKING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
