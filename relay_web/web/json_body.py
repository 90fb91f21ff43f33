"""Strict JSON that keeps the sender's own text.

The values are parsed for checking; the exact span of each member of the top-level object is kept
too, because a number, a key order or an escape that we re-wrote would no longer be what was sent.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]  # typeshed
from typing import Any, Final

from relay_web.errors import BadRequest

MAX_DEPTH: Final = 32

_BLANK: Final = re.compile(r"[ \t\n\r]*")
#: A string, or a bracket outside of one.
_BRACKETS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{}]', re.DOTALL)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
#: Integers longer than this are only passed on, never computed with; CPython refuses 4,301 digits.
_COMPUTED_DIGITS: Final = 400


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A top-level object: parsed values, and each member's text as it was sent.

    `items` holds the elements of the member that was asked for as a list of objects.
    """

    values: Mapping[str, Any]
    text: Mapping[str, str]
    items: Sequence["JsonObject"] = field(default=())


def parse_object(body: bytes, *, list_of_objects: str | None = None) -> JsonObject:
    """Read one JSON object; raises `BadRequest` saying what is wrong and where.

    Refused besides syntax errors: a byte order mark, invalid UTF-8, NaN and Infinity, duplicate
    keys, nesting deeper than 32, escapes that stand for half a character. With
    `list_of_objects`, the elements of that member are read as objects of their own.
    """
    text = _decoded(body)
    _check_depth(text)
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        if start == len(text):
            raise BadRequest("Body is empty; send a JSON object.", code="empty_body")
        _parsed(text, start)
        raise BadRequest("Expected a JSON object.", code="not_an_object")
    try:
        found, end = _object(text, start, list_of_objects)
    except JSONDecodeError as error:
        raise _syntax(error) from None
    end = _skip(text, end)
    if end != len(text):
        raise _syntax(JSONDecodeError("Extra data", text, end))
    if _SURROGATE.search(text):
        _refuse_half_characters(found.values)
    return found


def _decoded(body: bytes) -> str:
    if body.startswith(b"\xef\xbb\xbf"):
        raise BadRequest("Leave out the byte order mark at the start.", code="byte_order_mark")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"The body is not UTF-8: look at byte {error.start}.", code="invalid_utf8"
        ) from None


def _check_depth(text: str) -> None:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        mark = found.group()
        if mark in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise BadRequest(f"The body is nested deeper than {MAX_DEPTH}.", code="too_deep")
        elif mark in "}]":
            depth -= 1


def _object(text: str, at: int, list_of_objects: str | None = None) -> tuple[JsonObject, int]:
    """The object that begins at `at`, and where it ends. Each value is scanned once, in C."""
    values: dict[str, Any] = {}
    spans: dict[str, str] = {}
    items: list[JsonObject] = []
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return JsonObject(values, spans), at + 1
    while True:
        if text[at : at + 1] != '"':
            raise JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        key, at = scanstring(text, at + 1, True)
        if key in values:
            raise _duplicate(key)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise JSONDecodeError("Expecting ':' delimiter", text, at)
        start = _skip(text, at + 1)
        if key == list_of_objects and text[start : start + 1] == "[":
            items, at = _objects(text, start)
            values[key] = [item.values for item in items]
        else:
            values[key], at = _DECODER.raw_decode(text, start)
        spans[key] = text[start:at]
        at = _skip(text, at)
        mark = text[at : at + 1]
        if mark == "}":
            return JsonObject(values, spans, items), at + 1
        if mark != ",":
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def _objects(text: str, at: int) -> tuple[list[JsonObject], int]:
    """The list of objects that begins at `at`, and where it ends."""
    items: list[JsonObject] = []
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return items, at + 1
    while True:
        if text[at : at + 1] != "{":
            _DECODER.raw_decode(text, at)
            raise BadRequest(f"Expected an object as item {len(items)} of the list.")
        item, at = _object(text, at)
        items.append(item)
        at = _skip(text, at)
        mark = text[at : at + 1]
        if mark == "]":
            return items, at + 1
        if mark != ",":
            raise JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _parsed(text: str, at: int) -> Any:
    try:
        return _DECODER.raw_decode(text, at)
    except JSONDecodeError as error:
        raise _syntax(error) from None


def _syntax(error: JSONDecodeError) -> BadRequest:
    what = error.msg.removesuffix(" at")
    return BadRequest(
        f"Not JSON at line {error.lineno}, column {error.colno}: {what}.", code="invalid_json"
    )


def _duplicate(key: str) -> BadRequest:
    shown = key if len(key) <= 60 else f"{key[:60]}…"
    return BadRequest(f'The key "{shown}" is there twice in one object.', code="duplicate_key")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _duplicate(key)
            seen.add(key)
    return made


def _constant(name: str) -> Any:
    raise BadRequest(f"{name} is not JSON; use a number or null.", code="invalid_json")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _COMPUTED_DIGITS else float(digits)


def _refuse_half_characters(values: Mapping[str, Any]) -> None:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadRequest(
            "An escape such as \\ud800 stands for half a character; send both halves.",
            code="lone_surrogate",
        ) from None


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer
)
