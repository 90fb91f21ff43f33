"""One TCP or TLS connection to an address that was checked, on gevent's hub.

Works in a process that gevent patched and in one that it did not: only gevent's own sockets are
used. Each read passes through the hub first, so a receiver that floods cannot keep other greenlets,
or the clock that would stop it, from running.
"""

import errno
import ssl
import sys
from functools import lru_cache
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY
from time import monotonic
from typing import Any, Final

import gevent
from gevent import monkey
from gevent.socket import socket as Socket
from gevent.ssl import SSLContext
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from relay_web.domain.addresses import plain_address
from relay_web.engine.answer import AnswerReader

READ_SIZE: Final = 16 * 1024

_READ: Final = 1
_WRITE: Final = 2
_poll: Final = monkey.get_original("select", "poll")
_POLLIN: Final = 1

#: `struct tcp_info` of Linux: `tcpi_bytes_acked` is the eight bytes at 120.
_TCP_INFO: Final = 11
_ACKED: Final = slice(120, 128)


@lru_cache(maxsize=8)
def tls_context(ca_file: str | None = None) -> ssl.SSLContext:
    """TLS 1.2 or newer, always verified, trusting the public authorities and those in `ca_file`.

    Built by hand: `ssl.create_default_context` would obey SSLKEYLOGFILE and SSL_CERT_FILE. One for
    all who ask alike, since loading the authorities takes some 20 ms.
    """
    context: ssl.SSLContext = SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(DEFAULT_CA_BUNDLE_PATH)
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


class Connection:
    """A connected, keep-alive-able socket with the reader that parses its answers.

    `open` raises OSError. A connection on which anything went wrong is closed, never kept.
    """

    __slots__ = (
        "_acked", "_hub", "_poll", "_readable", "_sent", "_sock", "_writable",
        "expires_at", "reader", "remote_ip", "tls_version",
    )  # fmt: skip

    def __init__(self, sock: Any, remote_ip: str) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._hub = gevent.get_hub()
        self._readable = self._hub.loop.io(sock.fileno(), _READ)
        self._writable = self._hub.loop.io(sock.fileno(), _WRITE)
        self._poll = _poll()
        self._poll.register(sock.fileno(), _POLLIN)
        self._acked = -1
        self._sent = 0
        self.reader = AnswerReader()
        self.remote_ip = remote_ip
        self.tls_version: str | None = None
        #: Monotonic seconds after which it is not used again; set while it idles.
        self.expires_at = 0.0

    @classmethod
    def open(cls, ip: str, port: int, *, within: float) -> "Connection":
        """Connect to `ip` (numeric: no name is looked up here) within so many seconds."""
        sock = Socket(AF_INET6 if ":" in ip else AF_INET, SOCK_STREAM)
        try:
            sock.settimeout(within)
            sock.connect((ip, port))
            sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            peer = sock.getpeername()[0]
        except BaseException:
            sock.close()
            raise
        if plain_address(peer) != plain_address(ip):
            sock.close()
            raise OSError("connected to another address than the one that was checked")
        return cls(sock, ip)

    def secure(self, context: ssl.SSLContext, name: str) -> "Connection":
        """The TLS connection on top of this one, its certificate checked against `name`."""
        self._drop_watchers()
        sock = self._sock
        try:
            sock.setblocking(True)  # gevent's blocking: waits on the hub
            sock = context.wrap_socket(sock, server_hostname=name, do_handshake_on_connect=False)
            sock.do_handshake()
            secured = TlsConnection(sock, self.remote_ip)
        except BaseException:
            sock.close()
            raise
        secured.tls_version = sock.version()
        return secured

    def is_fresh(self) -> bool:
        """Whether an idle connection may carry another request: in time, and silent since.

        Anything readable is a FIN, a reset or bytes nobody asked for.
        """
        return monotonic() < self.expires_at and not self._poll.poll(0)

    def mark(self) -> None:
        """Begin a request on a connection that idled: remember what was acknowledged so far."""
        self._acked = self._acknowledged()
        self._sent = 0

    def was_ignored(self, error: OSError) -> bool:
        """Whether the receiver hung up before anything written since `mark` had come to it.

        True only where that is certain. Either nothing left this machine; or the receiver's FIN
        came before any reset, and although a FIN acknowledges all that came before it, nothing was.
        (A reset alone proves nothing: one that follows a request is not told from one that met it.)
        """
        if self._acked < 0:
            return False
        # An end of stream has no number. Linux says EPIPE, not ECONNRESET, for a reset after a FIN.
        ended_first = error.errno in (None, errno.EPIPE)
        return not self._sent or (ended_first and self._acknowledged() == self._acked)

    def write(self, message: bytes) -> None:
        """Send all of `message`, or stop early when the receiver answers before it took it all."""
        sent = self._send(message)
        while sent < len(message):
            if self._await_room():
                return
            sent += self._send(message[sent : sent + 256 * 1024])

    def read(self) -> bytes:
        """The next bytes, b"" at the end; raises OSError."""
        while True:
            self._hub.wait(self._readable)
            try:
                received: bytes = self._sock.recv(READ_SIZE)
            except BlockingIOError:
                continue
            return received

    def certificate(self) -> bytes | None:
        """The receiver's certificate as DER, verified or not; None without TLS."""
        return None

    def close(self) -> None:
        """Close at once, without a TLS farewell. Safe to call twice."""
        self._drop_watchers()
        self._sock.close()

    def _send(self, message: bytes) -> int:
        try:
            sent: int = self._sock.send(message)
        except BlockingIOError:
            return 0
        self._sent += sent
        return sent

    def _await_room(self) -> bool:
        """Wait until there is room to write; True if an answer came first."""
        either = self._hub.loop.io(self._sock.fileno(), _READ | _WRITE)
        try:
            self._hub.wait(either)
        finally:
            either.close()
        return bool(self._poll.poll(0))

    def _acknowledged(self) -> int:
        if sys.platform != "linux":
            return -1
        try:
            return int.from_bytes(
                self._sock.getsockopt(IPPROTO_TCP, _TCP_INFO, 128)[_ACKED], sys.byteorder
            )
        except OSError:
            return -1

    def _drop_watchers(self) -> None:
        self._readable.close()
        self._writable.close()


class TlsConnection(Connection):
    """The same over TLS, where readable bytes of the socket need not be bytes of an answer."""

    __slots__ = ()

    def certificate(self) -> bytes | None:
        encoded: bytes | None = self._sock.getpeercert(True)
        return encoded

    def read(self) -> bytes:
        while True:
            if self._sock.pending():
                gevent.sleep(0)  # decrypted already: the socket may stay silent
            else:
                self._hub.wait(self._readable)
            try:
                received: bytes = self._sock.recv(READ_SIZE)
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLWantWriteError:
                self._hub.wait(self._writable)
                continue
            return received

    def _await_room(self) -> bool:
        self._hub.wait(self._writable)
        return False
