"""Which colour and which icon a word has. The word itself is always shown beside them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from relay_web.domain.delivery import Word

_TONES: Final[Mapping[str, str]] = MappingProxyType(
    {
        Word.QUEUED: "idle",
        Word.RETRYING: "wait",
        Word.HELD: "hold",
        Word.SENDING: "send",
        Word.DELIVERED: "ok",
        Word.FAILED: "bad",
        Word.CANCELLED: "idle",
        # attempts and journal
        "fenced": "fence",
        "lost": "idle",
        "retry": "wait",
        # endpoints
        "active": "ok",
        "failing": "bad",
        "paused": "hold",
        "suspended": "bad",
        "disabled": "bad",
        # bulk jobs
        "running": "send",
        "done": "ok",
        # workers
        "starting": "idle",
        "beating": "ok",
        "late": "wait",
        "draining": "send",
        "stopped": "idle",
    }
)
_ICONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "retry": "retrying",
        "active": "delivered",
        "failing": "failed",
        "paused": "held",
        "suspended": "stop",
        "disabled": "stop",
        "running": "sending",
        "done": "delivered",
        "starting": "queued",
        "beating": "delivered",
        "late": "wait",
        "draining": "sending",
        "stopped": "cancelled",
    }
)


def tone_of(word: str) -> str:
    """The state colour of a word: ok, bad, wait, send, hold, fence or idle."""
    return _TONES.get(word, "idle")


def icon_of(word: str) -> str:
    """The icon's name in `static/icons.svg`; most words have one of their own."""
    return _ICONS.get(word, word)


def cause_name(cause: str | None) -> str:
    """A cause in a few words, for cells and filters: `connect timeout`."""
    words = (cause or "").replace("_", " ")
    return f"{words[:3].upper()}{words[3:]}" if words[:4] in ("tls ", "dns ") else words
