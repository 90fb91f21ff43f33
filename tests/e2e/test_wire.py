"""Request bodies that lie about their length, or never end, against the real web server."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.stage import Stage
from tests.e2e.web import Web

LIMIT = 256 * 1024
EVENT = b'{"type":"a","data":1}'


@pytest.fixture
def web(stage: Stage) -> Web:
    return stage.web()


@contextmanager
def _line(web: Web) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as line:
        yield line


def _head(web: Web, *headers: str) -> bytes:
    lines = (
        "POST /api/v1/events HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {web.key}",
        "X-Forwarded-Proto: https",
        "Content-Type: application/json",
        *headers,
    )
    return "\r\n".join((*lines, "", "")).encode()


def _answer(line: socket.socket) -> tuple[int, bytes]:
    """The status and everything up to the end of the connection."""
    received = bytearray()
    try:
        while piece := line.recv(65536):
            received += piece
    except ConnectionResetError:
        pass  # the server closed while we were still talking
    return int(received.split(b" ", 2)[1]), bytes(received)


def test_an_announced_length_past_the_limit_is_refused_without_reading(web: Web) -> None:
    with _line(web) as line:
        line.sendall(_head(web, "Content-Length: 104857600"))
        status, text = _answer(line)
    assert status == 413
    assert b"256 KiB" in text


def test_a_chunked_body_without_end_is_cut_off(web: Web) -> None:
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent = 0
    with _line(web) as line:
        line.sendall(_head(web, "Transfer-Encoding: chunked"))
        try:
            while sent < 400 * len(piece):
                line.sendall(piece)
                sent += len(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            pytest.fail("the server read 25 MB of a body that has no end")
    assert web.is_ready()


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: -1",),
        ("Content-Length: ten",),
        ("Content-Length: 21", "Content-Length: 22"),
        ("Content-Length: 21", "Transfer-Encoding: chunked"),
    ],
)
def test_a_length_that_cannot_be_is_refused_and_the_line_closed(
    web: Web, headers: tuple[str, ...]
) -> None:
    with _line(web) as line:
        line.sendall(_head(web, *headers) + EVENT)
        status, _ = _answer(line)
    assert status == 400


def test_a_body_that_ends_early_stores_nothing(web: Web, stage: Stage) -> None:
    with _line(web) as line:
        line.sendall(_head(web, "Content-Length: 500") + EVENT)
        line.shutdown(socket.SHUT_WR)
        status, _ = _answer(line)
    assert status == 400
    assert stage.store.db.events.count_documents({}) == 0


def test_a_body_of_exactly_the_limit_is_taken(web: Web) -> None:
    wrap = len(json.dumps({"type": "a", "data": ""}, separators=(",", ":")))
    body = b'{"type":"a","data":"' + b"x" * (LIMIT - wrap) + b'"}'
    with _line(web) as line:
        line.sendall(_head(web, f"Content-Length: {LIMIT}", "Connection: close") + body)
        status, text = _answer(line)
    assert status == 202, text
