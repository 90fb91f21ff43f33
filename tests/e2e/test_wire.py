"""Requests that no library would send, against the real web server."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from relay_web.store import Store
from tests.e2e.stage import Stage
from tests.e2e.web import Web
from tests.receiver import Receiver

LIMIT = 256 * 1024
EVENT = b'{"type":"a","data":1}'


@pytest.fixture(scope="module")
def web(e2e_store: Store, e2e_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One server for all of them: none of these requests may do it any harm."""
    with Receiver() as receiver:
        stage = Stage(e2e_store, e2e_uri, receiver, tmp_path_factory.mktemp("wire"))
        yield stage.web()
        stage.close()


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
    """B16."""
    with _line(web) as line:
        line.sendall(_head(web, "Content-Length: 104857600"))
        status, text = _answer(line)
    assert status == 413
    assert b"256 KiB" in text


def test_a_chunked_body_without_end_is_cut_off(web: Web) -> None:
    """B16."""
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
    """B18."""
    with _line(web) as line:
        line.sendall(_head(web, *headers) + EVENT)
        status, _ = _answer(line)
    assert status == 400


def test_a_body_that_ends_early_stores_nothing(web: Web, e2e_store: Store) -> None:
    """B18."""
    before = e2e_store.db.events.count_documents({})
    with _line(web) as line:
        line.sendall(_head(web, "Content-Length: 500") + EVENT)
        line.shutdown(socket.SHUT_WR)
        status, _ = _answer(line)
    assert status == 400
    assert e2e_store.db.events.count_documents({}) == before


def test_a_body_of_exactly_the_limit_is_taken(web: Web) -> None:
    wrap = len(json.dumps({"type": "a", "data": ""}, separators=(",", ":")))
    body = b'{"type":"a","data":"' + b"x" * (LIMIT - wrap) + b'"}'
    with _line(web) as line:
        line.sendall(_head(web, f"Content-Length: {LIMIT}", "Connection: close") + body)
        status, text = _answer(line)
    assert status == 202, text


def test_two_authorization_headers_are_refused(web: Web) -> None:
    """B2: whichever of them were read, another reader on the way might have read the other."""
    with _line(web) as line:
        twice = _head(
            web, "Authorization: Bearer another", "Content-Length: 21", "Connection: close"
        )
        line.sendall(twice + EVENT)
        status, text = _answer(line)
    assert status == 401, text


@pytest.mark.parametrize(
    ("request_line", "more", "statuses"),
    [
        ("HEAD /healthz HTTP/1.1", (), {200}),
        ("OPTIONS /healthz HTTP/1.1", (), {200, 204}),
        ("TRACE /healthz HTTP/1.1", (), {405}),
        ("TRACE /api/v1/events HTTP/1.1", (), {405}),
        ("BREW /healthz HTTP/1.1", (), {400, 405}),
        ("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1", (), {404}),
        ("GET /static/%2e%2e/relay_web/settings.py HTTP/1.1", (), {404}),
        ("GET /api/v1/events/%00 HTTP/1.1", (), {401, 404}),
        ("GET /" + "a" * 8192 + " HTTP/1.1", (), {400, 404, 414}),
        ("GET /healthz HTTP/1.1", tuple(f"X-{n}: a" for n in range(101)), {400, 431}),
        ("GET /healthz HTTP/1.1", ("X-Long: " + "a" * 9000,), {400, 431}),
        ("GET /healthz HTTP/1.1", ("Bad Name: a",), {400}),
        ("GET /healthz", (), {400, 505}),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_an_odd_request_line_or_header_is_answered_in_kind(
    web: Web, request_line: str, more: tuple[str, ...], statuses: set[int]
) -> None:
    """B91."""
    lines = (request_line, "Host: localhost", "X-Forwarded-Proto: https", *more)
    with _line(web) as line:
        line.sendall("\r\n".join((*lines, "Connection: close", "", "")).encode())
        status, text = _answer(line)
    assert status in statuses, text[:500]
    assert b"Traceback" not in text


@pytest.mark.parametrize("host", ["evil.example", "a b", "localhost:99999x", "", "[::1"])
def test_another_host_name_is_refused(stage: Stage, host: str) -> None:
    """B91."""
    web = stage.web(RELAY_PUBLIC_URL="https://localhost")
    with _line(web) as line:
        asked = f"GET /signin HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-Proto: https\r\n"
        line.sendall(f"{asked}Connection: close\r\n\r\n".encode())
        status, text = _answer(line)
    assert status == 400, text[:500]
    assert b"evil" not in text
