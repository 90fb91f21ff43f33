"""A scripted receiver on a real socket: it answers with exactly the bytes a test wants.

    with Receiver() as receiver:
        receiver.script("/flaky", answer(503), answer(200))   # in turn; the last one repeats
        receiver.script("/odd", [send(b"HTTP/1.1 999"), drip(b" Odd\\r\\n", every=0.5)])
        receiver.script("/held", [hold(), answer(200)])       # until receiver.release()
        ...publish to receiver.url("/flaky")...
        first, second = receiver.wait(2, "/flaky")            # Request objects, oldest first
        assert first.headers["webhook-id"] == second.headers["webhook-id"]

It runs in threads, so it serves patched and unpatched processes alike, and logs every byte with its
time of arrival (`receiver.connections`, monotonic seconds). A path without a script answers 200.

A script is one step or a list of them, run once a request has been read to its last byte:

    answer(status, body, headers)    one well-formed answer
    send(data)  drip(data, every)    bytes, at once or one by one
    flood(piece, most)               the same piece for as long as it is taken, up to `most` bytes
    pause(seconds)  hold()           wait; `hold` waits for `receiver.release()`
    fin()  reset()  close()          end the connection: half, by RST, in the ordinary way

After a script the connection stays open for the next request. `script(..., unread=True)` runs the
script when only the head has come and leaves the body unread; `on_connect(...)` runs one before
anything is read; `idle=1.0` ends a silent connection after so many seconds, by `idle_step`.
`Receiver(tls=context)` speaks TLS: see `tests/certificates.py`.
"""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Self


@dataclass
class Request:
    """One request as it came. `at` is when its last byte arrived."""

    connection: "Connection"
    method: str
    path: str
    headers: dict[str, str]
    head: bytes
    body: bytes
    at: float


@dataclass
class Connection:
    """One accepted connection: what came in when, and how many bytes went out."""

    number: int
    sock: socket.socket
    opened_at: float
    received: list[tuple[float, bytes]] = field(default_factory=list)
    sent: int = 0

    @property
    def bytes(self) -> bytes:
        return b"".join(piece for _, piece in self.received)


class Ended(Exception):
    """The script, or the other side, ended the connection."""


Step = Callable[["Receiver", Connection], None]
Script = Step | Sequence[Step]


def answer(
    status: int = 200,
    body: bytes = b"",
    headers: Sequence[tuple[str, str]] = (),
    *,
    phrase: str = "",
) -> Step:
    """A well-formed answer; without Content-Length where the status forbids a body."""
    if not phrase:
        phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if status not in (204, 205, 304):
        lines.append(f"Content-Length: {len(body)}")
    return send("\r\n".join([*lines, "", ""]).encode() + body)


def send(data: bytes) -> Step:
    def step(_: "Receiver", connection: Connection) -> None:
        connection.sock.sendall(data)
        connection.sent += len(data)

    return step


def drip(data: bytes, *, every: float) -> Step:
    """One byte, then a wait of `every` seconds, and so on."""

    def step(receiver: "Receiver", connection: Connection) -> None:
        for at in range(len(data)):
            send(data[at : at + 1])(receiver, connection)
            pause(every)(receiver, connection)

    return step


def flood(piece: bytes, *, most: int = 1 << 40) -> Step:
    """`piece` again and again, as fast as it is taken."""

    def step(receiver: "Receiver", connection: Connection) -> None:
        block = piece * max(1, 65536 // len(piece))
        while connection.sent < most and not receiver.closing.is_set():
            connection.sent += connection.sock.send(block)

    return step


def pause(seconds: float) -> Step:
    def step(receiver: "Receiver", _: Connection) -> None:
        if receiver.closing.wait(seconds):
            raise Ended

    return step


def hold() -> Step:
    """Wait until the test calls `receiver.release()`."""

    def step(receiver: "Receiver", _: Connection) -> None:
        receiver.released.wait()
        if receiver.closing.is_set():
            raise Ended

    return step


def fin() -> Step:
    """Close the sending side only: the other side reads an end and may still write."""

    def step(_: "Receiver", connection: Connection) -> None:
        connection.sock.shutdown(socket.SHUT_WR)

    return step


def close() -> Step:
    def step(_: "Receiver", connection: Connection) -> None:
        raise Ended

    return step


def reset() -> Step:
    def step(_: "Receiver", connection: Connection) -> None:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Ended

    return step


class Receiver:
    """See the module. Use it as a context manager; every thread has ended when it is left."""

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        idle: float | None = None,
        idle_step: Step | None = None,
    ) -> None:
        self._tls = tls
        self._idle, self._idle_step = idle, idle_step or close()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=512)
        self.host, self.port = self._listener.getsockname()[:2]
        self.connections: list[Connection] = []
        self._requests: list[Request] = []
        self._scripts: dict[str, list[Sequence[Step]]] = {}
        self._unread: set[str] = set()
        self._on_connect: Sequence[Step] = ()
        self._changed = threading.Condition()
        self.closing = threading.Event()
        self.released = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def url(self, path: str = "/", *, host: str | None = None) -> str:
        """The address of `path` here; `host` puts a name in the place of the number."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host or own}:{self.port}{path}"

    def script(self, path: str, *scripts: Script, unread: bool = False) -> None:
        """What the next requests to `path` get, one script each; the last one repeats."""
        with self._changed:
            self._scripts[path] = [_steps(script) for script in scripts]
            (self._unread.add if unread else self._unread.discard)(path)

    def on_connect(self, script: Script) -> None:
        """Run these steps on each new connection before anything is read."""
        self._on_connect = _steps(script)

    def release(self) -> None:
        """Let go every request that waits at a `hold()`, and all that come later."""
        self.released.set()

    def requests(self, path: str | None = None) -> list[Request]:
        """What has arrived whole so far, oldest first."""
        with self._changed:
            return [request for request in self._requests if path in (None, request.path)]

    def wait(self, count: int, path: str | None = None, *, within: float = 10.0) -> list[Request]:
        """The requests to `path` once there are `count` of them; fails after `within` seconds."""
        deadline = time.monotonic() + within
        with self._changed:
            while len(found := [r for r in self._requests if path in (None, r.path)]) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{len(found)} of {count} requests to {path} after {within} s"
                self._changed.wait(left)
        return found

    def close(self) -> None:
        """Stop listening, cut every connection, and wait for the threads."""
        self.closing.set()
        self.released.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self.connections):
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            connection = Connection(len(self.connections), sock, time.monotonic())
            self.connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: Connection) -> None:
        with suppress(Ended, OSError):
            self._run(self._on_connect, connection)
            if self._tls is not None:
                connection.sock = self._tls.wrap_socket(connection.sock, server_side=True)
            pending = b""
            while True:
                steps, pending = self._read_request(connection, pending)
                self._run(steps, connection)
        with suppress(OSError):
            connection.sock.close()

    def _run(self, steps: Sequence[Step], connection: Connection) -> None:
        for step in steps:
            step(self, connection)

    def _read_request(self, connection: Connection, pending: bytes) -> tuple[Sequence[Step], bytes]:
        """The steps for the next request, and bytes that came after it."""
        while b"\r\n\r\n" not in pending:
            pending += self._receive(connection)
        head, _, rest = pending.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
        }
        if path not in self._unread:
            while len(rest) < int(headers.get("content-length", 0)):
                rest += self._receive(connection)
        size = min(len(rest), int(headers.get("content-length", 0)))
        request = Request(connection, method, path, headers, head, rest[:size], time.monotonic())
        with self._changed:
            scripts = self._scripts.get(path, [_steps(answer(200))])
            steps = scripts.pop(0) if len(scripts) > 1 else scripts[0]
            self._requests.append(request)
            self._changed.notify_all()
        return steps, rest[size:]

    def _receive(self, connection: Connection) -> bytes:
        connection.sock.settimeout(self._idle)
        try:
            data = connection.sock.recv(65536)
        except TimeoutError:
            self._run([self._idle_step], connection)
            raise Ended from None
        connection.sock.settimeout(None)
        if not data:
            raise Ended
        connection.received.append((time.monotonic(), data))
        return data


def _steps(script: Script) -> Sequence[Step]:
    return [script] if callable(script) else list(script)
