"""A door between one process and the database: shut, nothing gets through, and nobody is told."""

import socket
import threading
from contextlib import suppress
from types import TracebackType

from pymongo.uri_parser import parse_uri


class Gate:
    """A TCP proxy in front of mongod. What was sent while it was shut arrives when it opens."""

    def __init__(self, uri: str) -> None:
        parsed = parse_uri(uri)
        self._server: tuple[str, int] = parsed["nodelist"][0]
        self._database: str = parsed["database"]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._opened = threading.Event()
        self._opened.set()
        self._stopped: list[bytes] = []

    def __enter__(self) -> "Gate":
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.set()
        for open_socket in (self._listener, *self._sockets):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for open_socket in (self._listener, *self._sockets):
            open_socket.close()

    @property
    def uri(self) -> str:
        """The same database through the gate; direct, for the set knows itself by its own port."""
        port = self._listener.getsockname()[1]
        return f"mongodb://127.0.0.1:{port}/{self._database}?directConnection=true"

    def shut(self) -> None:
        self._opened.clear()

    def open(self) -> None:
        self._opened.set()

    def has_stopped(self, words: bytes) -> bool:
        """Whether a message with these words in it came to the shut gate."""
        return any(words in piece for piece in list(self._stopped))

    def _start(self, target: object, *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._server)
                self._sockets += [near, far]
                self._start(self._pass_on, near, far)
                self._start(self._pass_on, far, near)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                if not self._opened.is_set():
                    self._stopped.append(piece)
                    self._opened.wait()
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
