"""Log lines: one event a line, in each format, without secrets and without forged lines."""

import io
import json
import logging

import pytest
import structlog

from relay_web import logs

STYLES = ["logfmt", "json", "console"]


@pytest.fixture(autouse=True)
def _as_before():
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def lines(style, **values):
    stream = io.StringIO()
    logs.configure(level="INFO", style=style, stream=stream)
    structlog.get_logger("relay.test").info("delivery.attempted", **values)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x85", "\u2028", "\x1b[2K\r"])
def test_a_value_cannot_begin_a_line_of_its_own(style, end):
    found = lines(style, note=f"answered{end}level=error event=forged")
    assert len(found) == 1
    assert "\x1b[2K" not in found[0]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8G"),
        ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
        ("mongodb+srv://relay:hunter22@db.example.com/relay", "hunter22"),
        ("could not reach https://rx.example/hook?token=tok98765", "tok98765"),
        ("http://user:s3cr3tpw@rx.example/", "s3cr3tpw"),
    ],
)
def test_secrets_are_masked_wherever_they_stand(style, value, secret):
    assert secret not in lines(style, note=value)[0]
    assert secret not in lines(style, nested={"deep": [value]})[0]


@pytest.mark.parametrize("name", ["password", "secret", "api_key", "authorization"])
def test_values_with_a_secret_name_are_masked(name):
    assert "hunter22" not in lines("logfmt", **{name: "hunter22"})[0]


def test_the_lease_token_is_no_secret():
    assert "lease_token=7" in lines("logfmt", lease_token=7)[0]


def test_logfmt_begins_with_when_how_grave_and_what():
    line = lines("logfmt", ms=1.5, ok=True, none=None, text='say "hi"')[0]
    assert line.split(" ")[1:3] == ["level=info", "event=delivery.attempted"]
    assert line.endswith('ms=1.5 ok=true none= text="say \\"hi\\""')


def test_json_lines_are_json():
    found = json.loads(lines("json", ms=1.5, text="é\n")[0])
    assert (found["event"], found["ms"], found["text"]) == ("delivery.attempted", 1.5, "é\n")


def test_a_long_value_is_cut_to_what_platforms_keep():
    assert len(lines("logfmt", body="x" * 100_000)[0]) < 2000


def test_the_standard_library_goes_the_same_way():
    stream = io.StringIO()
    logs.configure(level="INFO", style="logfmt", stream=stream)
    logging.getLogger("gunicorn.error").warning("worker %s\nended", 7)
    assert 'level=warning event="worker 7\\nended"' in stream.getvalue()


@pytest.mark.parametrize("style", ["logfmt", "json"])
def test_a_traceback_is_one_line(style):
    stream = io.StringIO()
    logs.configure(level="INFO", style=style, stream=stream)
    try:
        int("a\nb")
    except ValueError:
        structlog.get_logger().exception("boom")
    assert stream.getvalue().count("\n") == 1
    assert "ValueError" in stream.getvalue()
