"""Idle connections, kept a few seconds per endpoint so that a busy one need not shake hands again.

The key names the endpoint, so no team's request ever travels on another's connection.
"""

import re
import resource
from collections import deque
from time import monotonic
from typing import Final

import gevent

from relay_web.engine.answer import AnswerReader
from relay_web.engine.connection import Connection

#: Seconds a connection may idle: shorter than any server we know waits (gunicorn 2 s, most 5 s), so
#: that Relay lets go first. A receiver that hangs up just as a request comes costs a failed attempt
#: (2 % of requests that hit the very moment, measured); an endpoint too quiet for this life loses
#: one handshake an event.
IDLE_LIFE: Final = 0.8
#: Idle connections per endpoint and in all; beyond that they are closed after use.
PER_KEY: Final = 128
IN_ALL: Final = 2048

_TIMEOUT: Final = re.compile(rb"timeout\s*=\s*(\d{1,6})")


class KeepAlive:
    """The idle connections of one hub. Nothing here waits, so nothing here can be interrupted."""

    def __init__(self) -> None:
        self._idle: dict[str, deque[Connection]] = {}
        self._count = 0
        # The other half is for connections in use and everything else.
        self._most = min(IN_ALL, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._sweeper: gevent.Greenlet | None = None

    def take(self, key: str) -> Connection | None:
        """The connection used last that is still good, or None. It is the caller's from now on."""
        waiting = self._idle.get(key)
        while waiting:
            connection = waiting.pop()
            self._count -= 1
            if connection.is_fresh():
                return connection
            connection.close()
        return None

    def put(self, key: str, connection: Connection) -> None:
        """Keep a connection whose last answer was read whole; closes it if there is no room."""
        waiting = self._idle.setdefault(key, deque())
        life = _life(connection.reader)
        if life <= 0 or len(waiting) >= PER_KEY or self._count >= self._most:
            connection.close()
            return
        connection.expires_at = monotonic() + life
        waiting.append(connection)
        self._count += 1
        if self._sweeper is None:
            self._sweeper = gevent.spawn(self._sweep)

    def close(self) -> None:
        """Close every idle connection."""
        if self._sweeper is not None:
            self._sweeper.kill(block=False)
            self._sweeper = None
        for waiting in self._idle.values():
            for connection in waiting:
                connection.close()
        self._idle.clear()
        self._count = 0

    def _sweep(self) -> None:
        """Close what has idled too long; ends by itself when nothing is left."""
        while self._count:
            gevent.sleep(IDLE_LIFE / 2)
            now = monotonic()
            for key, waiting in list(self._idle.items()):
                while waiting and waiting[0].expires_at <= now:
                    waiting.popleft().close()
                    self._count -= 1
                if not waiting:
                    del self._idle[key]
        self._sweeper = None


def _life(reader: AnswerReader) -> float:
    """Seconds the connection may idle: a second less than the receiver's own `Keep-Alive`."""
    for name, value in reader.pairs:
        if len(name) == 10 and name.lower() == b"keep-alive":
            found = _TIMEOUT.search(value)
            if found:
                return min(IDLE_LIFE, int(found[1]) - 1)
    return IDLE_LIFE
