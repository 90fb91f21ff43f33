"""Receivers that mean harm: nothing they send stops, stalls or fills the worker."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import gevent
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay_web.domain.causes import Cause
from relay_web.engine.answer import KEPT_BODY, MAX_BODY, AnswerReader
from relay_web.engine.failure import SendFailed
from relay_web.engine.outcome import Outcome
from relay_web.engine.sender import Sender
from tests.receiver import Receiver, Step, answer, flood, send
from tests.sender.conftest import order

Exchange = Callable[..., Outcome]

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BUFFERS = 4 * 1024 * 1024


@contextmanager
def longest_stall() -> Iterator[Callable[[], float]]:
    """The longest time, in seconds, for which no other greenlet got its turn."""
    stalls = [0.0]

    def tick() -> None:
        last = time.monotonic()
        while True:
            gevent.sleep(0.005)
            now = time.monotonic()
            stalls[0] = max(stalls[0], now - last - 0.005)
            last = now

    ticker = gevent.spawn(tick)
    try:
        yield lambda: stalls[0]
    finally:
        ticker.kill()


@pytest.mark.parametrize(
    ("script", "ok", "cause"),
    [
        ([flood(b"HTTP/1.1 100 Continue\r\n\r\n")], False, Cause.TOO_MANY_INTERIM),
        ([send(OK), flood(b"X: y\r\n")], False, Cause.HEADERS_TOO_LARGE),
        ([send(OK + b"X: "), flood(b"y")], False, Cause.HEADERS_TOO_LARGE),
        ([flood(b"\r\n")], False, Cause.HEADERS_TOO_LARGE),
        ([send(CHUNKED + b"0\r\n"), flood(b"T: x\r\n")], False, Cause.HEADERS_TOO_LARGE),
        ([send(CHUNKED), flood(b"10000\r\n" + b"x" * 65536 + b"\r\n")], True, None),
        ([send(CHUNKED), flood(b"1\r\nx\r\n")], True, None),
        ([send(OK + b"Content-Length: 2147483648\r\n\r\n"), flood(b"x")], True, None),
        ([send(OK + b"\r\n"), flood(b"x")], True, None),
        ([send(b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n"), flood(b"x")], False, Cause.REDIRECT),
        ([flood(b"\x00")], False, Cause.BAD_RESPONSE),
    ],
    ids=[
        "100-continue", "headers", "header-value", "empty-lines", "trailers", "chunks",
        "tiny-chunks", "length", "no-length", "redirect-body", "zeros",
    ],
)  # fmt: skip
def test_a_flood_ends_soon_takes_no_memory_and_stalls_nobody(
    exchange: Exchange, receiver: Receiver, script: list[Step], ok: bool, cause: Cause | None
) -> None:
    """S21."""
    before = psutil.Process().memory_info().rss
    with longest_stall() as stall:
        outcome = exchange(*script)
    assert (outcome.ok, outcome.cause) == (ok, cause)
    assert outcome.elapsed_ms < 2000
    assert stall() < 0.25
    assert len(outcome.response_body) <= KEPT_BODY
    assert outcome.body_truncated == (outcome.status is not None)
    assert receiver.connections[0].sent < MAX_BODY + BUFFERS
    assert psutil.Process().memory_info().rss - before < 20_000_000


def test_ten_floods_at_once_stall_nobody(sender: Sender, receiver: Receiver) -> None:
    # Ten, not more: the receiver's threads share this process's interpreter lock.
    receiver.script("/flood", [send(OK + b"\r\n"), flood(b"x")])
    receiver.script("/continue", [flood(b"HTTP/1.1 100 Continue\r\n\r\n")])
    with longest_stall() as stall:
        jobs = [
            gevent.spawn(sender.send, order(receiver.url(path)))
            for path in ["/flood", "/continue"] * 5
        ]
        gevent.joinall(jobs, timeout=10, raise_error=True)
    assert [job.value.ok for job in jobs] == [True, False] * 5
    assert stall() < 0.25


hostile = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from([
            b"HTTP/1.1 ", b"HTTP/1.0 ", b"200 OK", b"100 Continue", b"204 No", b"999", b"\r\n",
            b"\n", b"\r", b"Content-Length: ", b"Transfer-Encoding: chunked", b"5", b"0", b"-1",
            b"ff", b"hello", b":", b" ", b"\x00", b"\xff", b"Connection: close", b"Upgrade: h2c",
            b"Connection: upgrade", b"101 Switching", b"Keep-Alive: timeout=0", b"304 Same",
            b"99999999999999999999", b";x=y",
        ]),
        max_size=40,
    ).map(b"".join),
)  # fmt: skip


@settings(max_examples=400)
@given(hostile, st.integers(1, 64))
def test_the_reader_takes_any_bytes_in_any_pieces(raw: bytes, size: int) -> None:
    """Either a final status or `SendFailed`, and the same one however the bytes are cut."""
    whole, pieces = _read(raw, len(raw) or 1), _read(raw, size)
    assert whole == pieces


def _read(raw: bytes, size: int) -> tuple[object, ...]:
    reader = AnswerReader()
    try:
        for at in range(0, len(raw), size):
            if reader.feed(raw[at : at + size]):
                return reader.status, reader.pairs, reader.body
    except SendFailed as failure:
        return failure.cause, reader.status
    return reader.status, reader.is_complete


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile)
def test_any_bytes_on_the_wire_give_an_outcome(sender: Sender, raw: bytes) -> None:
    with _once(raw) as url:
        outcome = sender.send(order(url))
    assert outcome.ok == (outcome.cause is None)
    assert outcome.cause is not Cause.INTERNAL
    assert outcome.elapsed_ms < 2000


@contextmanager
def _once(raw: bytes) -> Iterator[str]:
    """A receiver for one connection: reads the request, writes `raw`, hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.recv(65536)
                accepted.sendall(raw)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(5)


def test_the_sender_is_whole_after_everything_above(sender: Sender, receiver: Receiver) -> None:
    receiver.script("/bad", [send(b"nonsense")], [flood(b"\x00")], answer(200, b"ok"))
    assert [sender.send(order(receiver.url("/bad"))).ok for _ in range(3)] == [False, False, True]
