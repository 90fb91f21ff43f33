"""Foreign text, made safe to look at: never as markup, never silently changed.

Pretty printing works on the tokens of the original text. A parser would lose duplicate keys, the
digits of large numbers and the way strings were escaped; people debug exactly those.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

#: A page shows no more of a body than this; the rest is a download.
SHOWN: Final = 256 * 1024
#: Longer lines are broken for the eye; a 1 MB line would stall the browser.
MASK: Final = "••••••••"
#: Header names whose values are never shown, on any page.
SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "webhook-signature"}
)

_TOKEN: Final = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([{}\[\],:])|([^\s{}\[\],:"]+))', re.DOTALL)
#: Control, bidirectional and other invisible characters, except tab and line feed.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A body ready for `<pre>`: `kind` is json, text, hex or empty."""

    kind: str
    text: str
    size: int
    cut: bool


def visible(text: str) -> str:
    """The text with every control and direction character written out, such as `⟨U+202E⟩`."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def show(body: bytes | None, *, pretty: bool = True, limit: int = SHOWN) -> Shown:
    """Decide how a body is shown: indented JSON, text as it came, or hex where it is not UTF-8."""
    if not body:
        return Shown("empty", "", 0, False)
    cut = len(body) > limit
    try:
        text = body[:limit].decode("utf-8", "ignore" if cut else "strict")
    except UnicodeDecodeError:
        return Shown("hex", hexdump(body[: limit // 4]), len(body), len(body) > limit // 4)
    indented = indent(text) if pretty and not cut and text.lstrip()[:1] in ("{", "[") else None
    if indented is None:
        return Shown("text", visible(text), len(body), cut)
    return Shown("json", visible(indented), len(body), cut)


def indent(text: str) -> str | None:
    """JSON re-indented by two spaces with every token untouched; None where it is not JSON."""
    out: list[str] = []
    depth, previous = 0, ""
    try:
        for token in _tokens(text):
            if token in "}]":
                depth -= 1
                if previous not in "{[":
                    out.append("\n" + "  " * depth)
            elif previous in ("{", "[", ","):
                out.append("\n" + "  " * depth)
            out.append(": " if token == ":" else token)
            if token in "{[":
                depth += 1
            previous = token
    except ValueError:
        return None
    return "".join(out).lstrip("\n") if depth == 0 else None


def _tokens(text: str) -> Iterator[str]:
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(position)
        position = found.end()
        yield found[1] or found[2] or found[3]


def hexdump(body: bytes) -> str:
    """Sixteen bytes a line: offset, hex, and the printable ones as text."""
    lines = []
    for offset in range(0, len(body), 16):
        row = body[offset : offset + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{offset:06x}  {row.hex(' '):<47}  {text}")
    return "\n".join(lines)


def masked(name: str, value: str) -> str:
    """A header's value as a page may show it; a signature keeps its scheme so that one sees it."""
    if name.lower() not in SECRET_HEADERS:
        return visible(value)
    scheme, comma, _ = value.partition(",")
    return f"{scheme},{MASK}" if comma and len(scheme) <= 3 else MASK


def size(count: int) -> str:
    """`812 B`, `1.2 KB`, `3.4 MB`."""
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f}".removesuffix(".0") + " KB"
    return f"{count / (1024 * 1024):.1f}".removesuffix(".0") + " MB"
