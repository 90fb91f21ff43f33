"""An endpoint that costs as little as Python allows: `python -m bench.receiver`.

It prints its port. Every request is answered with a constant 200 as soon as it is whole, but for
those to `/hang…`, which are never answered. Requests to `/timed…` are noted with the time they
came: their body holds the times they were accepted and sent at. `GET /stats` answers with a count
and those notes, and drops the notes.
"""

import json
import re
import select
import socket
import time
from contextlib import suppress
from datetime import datetime

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ACCEPTED = re.compile(rb'"timestamp":"([^"]+)Z"')
_SENT = re.compile(rb'"sent":([\d.]+)')
#: Bytes asked of a connection at once; a 64 KB body comes in one piece or two.
_READ = 256 * 1024


class Receiver:
    """One epoll loop over a listening socket and its connections."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)
        self._open: dict[int, socket.socket] = {}
        self._begun: dict[int, bytes] = {}
        self._count = 0
        self._notes: list[tuple[float, float, float]] = []

    def serve(self) -> None:
        """Answer until killed."""
        door, connections = self._listener.fileno(), self._open
        while True:
            for number, _ in self._poll.poll():
                if number == door:
                    self._let_in()
                else:
                    self._hear(number, connections[number])

    def _let_in(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open[connection.fileno()] = connection
            self._poll.register(connection, select.EPOLLIN)

    def _hear(self, number: int, connection: socket.socket) -> None:
        try:
            heard = connection.recv(_READ)
        except ConnectionResetError:
            heard = b""
        if not heard:
            self._begun.pop(number, None)
            del self._open[number]
            connection.close()
            return
        if self._begun:
            heard = self._begun.pop(number, b"") + heard
        head = heard.find(b"\r\n\r\n")
        length = _LENGTH.search(heard, 0, head) if head >= 0 else None
        if head < 0 or len(heard) < head + 4 + (int(length[1]) if length else 0):
            self._begun[number] = heard
        elif (answer := self._answer(heard)) is not None:
            with suppress(OSError):  # hung up meanwhile: its end is the next thing heard
                connection.send(answer)

    def _answer(self, request: bytes) -> bytes | None:
        if request.startswith(b"GET /stats"):
            return self._stats()
        self._count += 1
        if request.startswith(b"POST /hang"):
            return None
        if request.startswith(b"POST /timed"):
            self._note(request)
        return ANSWER

    def _note(self, request: bytes) -> None:
        now = time.time()
        accepted, sent = _ACCEPTED.search(request), _SENT.search(request)
        if accepted and sent:
            at = datetime.fromisoformat(f"{accepted[1].decode()}+00:00").timestamp()
            self._notes.append((at, float(sent[1]), now))

    def _stats(self) -> bytes:
        body = json.dumps({"requests": self._count, "timed": self._notes}).encode()
        self._notes = []
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


if __name__ == "__main__":
    receiver = Receiver()
    print(receiver.port, flush=True)
    receiver.serve()
