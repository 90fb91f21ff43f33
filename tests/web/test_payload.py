"""Bodies and headers as pages show them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay_web.web.payload import MASK, indent, masked, show, size, visible

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_numbers_duplicate_keys_and_escapes_stay_as_they_were_sent() -> None:
    text = '{"n":9007199254740993,"e":1e400,"a":1,"a":2,"s":"caf\\u00e9 \\" {,}"}'
    assert indent(text) == (
        '{\n  "n": 9007199254740993,\n  "e": 1e400,\n  "a": 1,\n  "a": 2,\n'
        '  "s": "caf\\u00e9 \\" {,}"\n}'
    )


def test_empty_objects_and_lists_stay_on_one_line() -> None:
    assert indent('{"a":{},"b":[]}') == '{\n  "a": {},\n  "b": []\n}'


@given(_json)
def test_indenting_changes_space_only(value: object) -> None:
    text = json.dumps({"value": value})
    shown = indent(text)
    assert shown is not None
    assert json.loads(shown) == json.loads(text)


@pytest.mark.parametrize("text", ["{", '{"a"', "}", "[1,2", '{"a":"b}'])
def test_broken_json_is_shown_as_text(text: str) -> None:
    assert indent(text) is None
    assert show(text.encode()).text == text


def test_a_body_that_is_no_text_is_shown_in_hexadecimal() -> None:
    shown = show(b"\xff\xfe\x00Relay")
    assert shown.kind == "hex"
    assert shown.text == "000000  ff fe 00 52 65 6c 61 79                          ...Relay"


def test_a_long_body_is_cut_and_says_so() -> None:
    shown = show(b"x" * 1000 + "é".encode() * 1000, limit=1001)
    assert shown.cut
    assert shown.size == 3000
    assert shown.text == "x" * 1000


def test_no_body_is_empty() -> None:
    assert show(None).kind == show(b"").kind == "empty"


def test_control_and_direction_characters_are_written_out() -> None:
    assert visible("a\u202eb\x00c\x1b[31m\td\ne") == "a⟨U+202E⟩b⟨U+0000⟩c⟨U+001B⟩[31m\td\ne"


def test_secret_header_values_are_masked_and_a_signature_keeps_its_scheme() -> None:
    assert masked("Authorization", "Bearer abc") == MASK
    assert masked("Set-Cookie", "sid=1, x") == MASK
    assert masked("webhook-signature", "v1,abc= v1,def=") == f"v1,{MASK}"
    assert masked("X-Request-Id", "abc") == "abc"


def test_sizes_are_in_words() -> None:
    assert [size(n) for n in (0, 812, 2048, 1300, 1258291)] == [
        "0 B",
        "812 B",
        "2 KB",
        "1.3 KB",
        "1.2 MB",
    ]
