"""Every form an answer can take, as raw bytes, and the one rule for each."""

import gzip
from collections.abc import Callable

import pytest

from relay_web.domain.causes import Cause
from relay_web.engine.outcome import Outcome
from tests.receiver import Step, answer, close, fin, reset, send

Exchange = Callable[..., Outcome]

OK = b"HTTP/1.1 200 OK\r\n"


def failed(outcome: Outcome, cause: Cause, status: int | None = None) -> None:
    assert (outcome.ok, outcome.cause, outcome.status) == (False, cause, status)
    assert outcome.reason
    assert outcome.reason.isprintable()


@pytest.mark.parametrize("status", [200, 201, 202, 204, 205, 206, 299])
def test_every_2xx_is_success_at_once_whether_it_has_a_body_or_not(
    exchange: Exchange, status: int
) -> None:
    outcome = exchange(answer(status))
    assert outcome.ok
    assert (outcome.status, outcome.cause, outcome.retry_after) == (status, None, None)
    assert outcome.elapsed_ms < 1000


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        *[(status, Cause.REDIRECT) for status in (300, 301, 302, 303, 304, 307, 308)],
        *[(status, Cause.CLIENT_ERROR) for status in (400, 408, 409, 422, 451)],
        *[(status, Cause.SERVER_ERROR) for status in (500, 502, 503, 504, 599)],
        (401, Cause.UNAUTHORIZED),
        (403, Cause.UNAUTHORIZED),
        (404, Cause.NOT_FOUND),
        (410, Cause.GONE),
        (413, Cause.PAYLOAD_TOO_LARGE),
        (429, Cause.RATE_LIMITED),
    ],
)
def test_every_other_status_is_a_failure_with_its_cause(
    exchange: Exchange, status: int, cause: Cause
) -> None:
    failed(exchange(answer(status, b"" if status == 304 else b"why")), cause, status)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK
        + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 5 + OK + b"Content-Length: 0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nTrailer: t\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Encoding: gzip\r\n\r\nok",
        b"HTTP/1.1 205 Reset Content\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    ],
    ids=[
        "no-phrase", "http-1.0", "http-2.0", "early-hints", "five-interim", "chunked",
        "chunk-extension-trailer", "not-gzip", "205-without-length", "204-with-length",
    ],
)  # fmt: skip
def test_unusual_but_valid_answers_are_success(exchange: Exchange, raw: bytes) -> None:
    outcome = exchange(send(raw))
    assert outcome.ok, outcome
    assert outcome.elapsed_ms < 1000
    assert not outcome.body_truncated


def test_a_body_without_a_length_ends_with_the_connection(exchange: Exchange) -> None:
    outcome = exchange(send(OK + b"\r\nall of it"), close())
    assert outcome.ok
    assert (outcome.response_body, outcome.body_truncated) == (b"all of it", False)


def test_a_gzip_body_is_kept_as_it_came(exchange: Exchange) -> None:
    bomb = gzip.compress(bytes(1_000_000))
    outcome = exchange(answer(200, bomb, [("Content-Encoding", "gzip")]))
    assert outcome.ok
    assert outcome.response_body == bomb


@pytest.mark.parametrize("ending", [close(), reset(), fin()], ids=["close", "reset", "fin"])
def test_a_2xx_whose_body_is_cut_is_success_and_says_so(exchange: Exchange, ending: Step) -> None:
    outcome = exchange(send(OK + b"Content-Length: 100\r\n\r\nabc"), ending)
    assert outcome.ok
    assert outcome.body_truncated


def test_a_chunked_2xx_that_is_cut_between_chunks_is_success(exchange: Exchange) -> None:
    outcome = exchange(send(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"), close())
    assert (outcome.ok, outcome.response_body, outcome.body_truncated) == (True, b"ok", True)


def test_a_failure_whose_body_is_cut_keeps_its_status(exchange: Exchange) -> None:
    failed(
        exchange(send(b"HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nabc"), reset()),
        Cause.SERVER_ERROR,
        500,
    )


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"SSH-2.0-x\r\n", None),
        (b"hello", None),
        (b"\x00\x01\x02\x03", None),
        (b"<html>HTTP/0.9</html>", None),
        (b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 99 X\r\n\r\n", None),
        (b"HTTP/1.1 abc X\r\n\r\n", None),
        (b"HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", None),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", None),
        (OK + b"no colon here\r\n\r\n", None),
        (OK + b"X: a\x00b\r\n\r\n", None),
        (OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nok", None),
        (OK + b"Content-Length: -1\r\n\r\n", None),
        (OK + b"Content-Length: 99999999999999999999999\r\n\r\n", None),
        (OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", None),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n", 200),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n", 200),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nok\r\n", 200),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n", 200),
    ],
)
def test_what_is_not_http_is_a_bad_response(
    exchange: Exchange, raw: bytes, status: int | None
) -> None:
    failed(exchange(send(raw), close()), Cause.BAD_RESPONSE, status)


def test_a_connection_that_closes_without_a_byte_closed_early(exchange: Exchange) -> None:
    outcome = exchange(close())
    failed(outcome, Cause.CLOSED_EARLY)
    assert outcome.started


def test_a_connection_that_closes_inside_the_headers_closed_early(exchange: Exchange) -> None:
    failed(exchange(send(OK + b"X: y\r\n"), close()), Cause.CLOSED_EARLY)


def test_a_reset_before_the_answer_is_a_reset(exchange: Exchange) -> None:
    failed(exchange(reset()), Cause.RESET)


@pytest.mark.parametrize("count", [99, 150, 200])
def test_a_hundred_headers_are_read_and_no_more(exchange: Exchange, count: int) -> None:
    outcome = exchange(answer(200, headers=[(f"X-{i}", "v") for i in range(count)]))
    if count < 100:
        assert outcome.ok
        assert len(outcome.response_headers) == count + 1
    else:
        failed(outcome, Cause.HEADERS_TOO_LARGE)


@pytest.mark.parametrize(
    "raw",
    [
        OK + b"X: " + b"a" * 100_000 + b"\r\nContent-Length: 0\r\n\r\n",
        OK + b"X" * 100_000 + b": a\r\nContent-Length: 0\r\n\r\n",
        OK + b"".join(b"X-%d: %s\r\n" % (i, b"b" * 1000) for i in range(90)) + b"\r\n",
        b"HTTP/1.1 200 " + b"O" * 100_000 + b"\r\n\r\n",
    ],
    ids=["value", "name", "sum", "phrase"],
)
def test_64_kib_of_headers_are_read_and_no_more(exchange: Exchange, raw: bytes) -> None:
    failed(exchange(send(raw), close()), Cause.HEADERS_TOO_LARGE)


def test_more_trailers_than_headers_may_be_is_a_failure(exchange: Exchange) -> None:
    trailers = b"".join(b"T-%d: x\r\n" % i for i in range(200))
    outcome = exchange(send(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + trailers + b"\r\n"))
    failed(outcome, Cause.HEADERS_TOO_LARGE, 200)


def test_a_sixth_interim_answer_is_one_too_many(exchange: Exchange) -> None:
    raw = b"HTTP/1.1 102 Processing\r\n\r\n" * 6 + OK + b"Content-Length: 0\r\n\r\n"
    failed(exchange(send(raw)), Cause.TOO_MANY_INTERIM)


@pytest.mark.parametrize("status", [200, 500])
def test_a_long_body_is_cut_at_16_kib_and_says_so(exchange: Exchange, status: int) -> None:
    body = bytes(range(256)) * 256  # 64 KiB
    outcome = exchange(answer(status, body))
    assert outcome.ok == (status == 200)
    assert outcome.response_body == body[: 16 * 1024]
    assert outcome.body_truncated


def test_a_short_body_is_kept_whole(exchange: Exchange) -> None:
    outcome = exchange(answer(200, b"twenty bytes of text"))
    assert (outcome.response_body, outcome.body_truncated) == (b"twenty bytes of text", False)


def test_headers_come_back_in_order_with_repeats_and_odd_bytes(exchange: Exchange) -> None:
    outcome = exchange(
        send(OK + b"Set-Cookie: a=1\r\nset-cookie: b=2\r\nX: caf\xe9\r\nContent-Length: 0\r\n\r\n")
    )
    assert outcome.response_headers == (
        ("Set-Cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("X", "café"),
        ("Content-Length", "0"),
    )


def test_an_answer_before_the_request_was_read_still_counts(exchange: Exchange) -> None:
    refusal = answer(413, headers=[("Connection", "close")])
    outcome = exchange(refusal, close(), unread=True, body=b"x" * 8_000_000)
    failed(outcome, Cause.PAYLOAD_TOO_LARGE, 413)
    assert outcome.elapsed_ms < 1000


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_told_in_seconds(exchange: Exchange, status: int) -> None:
    assert exchange(answer(status, headers=[("Retry-After", "3")])).retry_after == 3.0
    assert exchange(answer(status, headers=[("Retry-After", "abc")])).retry_after is None
    assert exchange(answer(status)).retry_after is None
