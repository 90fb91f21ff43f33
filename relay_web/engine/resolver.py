"""Names to addresses, so that dead names hold up nobody but their own endpoint.

c-ares asks over the hub: a thousand look-ups that nobody answers cost no thread and no turn.
`GEVENT_RESOLVER=thread` (gevent's own variable) uses the system's resolver instead, for platforms
whose private names need it; there ten dead names can hold up others.

One look-up a name is under way at a time and everybody who wants it waits for that one, so an
endpoint never holds more than one. Answers are kept for seconds only: they spare a burst, and a
name that moves is noticed. Every use of a kept answer is checked again by the transport.
"""

import os
from dataclasses import dataclass
from socket import AF_UNSPEC, SOCK_STREAM
from socket import gaierror as LookUpError
from time import monotonic
from typing import Any, Final

import gevent
from gevent.resolver.ares import Resolver as AresResolver
from gevent.resolver.thread import Resolver as ThreadResolver

from relay_web.domain.causes import Cause
from relay_web.engine.failure import SendFailed

#: Seconds for one look-up, all tries included.
LOOK_UP_WITHIN: Final = 3.0
KEEP_FOUND: Final = 5.0
KEEP_FAILED: Final = 2.0
#: Names remembered; the oldest make room.
MAX_KEPT: Final = 4096

#: c-ares: the query timed out, or no name server could be reached.
_ARES_SILENT: Final = frozenset({11, 12})


@dataclass(frozen=True, slots=True)
class Found:
    """What a look-up ended with: numeric addresses, or why there are none."""

    addresses: tuple[str, ...]
    cause: Cause | None
    until: float


class Resolver:
    """Looks names up on the hub of the thread that made it.

    `servers` ("ip,ip") and `port` replace the system's name servers; `keep` is the seconds an
    answer may be used again. Addresses need no look-up and do not come here.
    """

    def __init__(
        self, *, servers: str | None = None, port: int | None = None, keep: float = KEEP_FOUND
    ) -> None:
        self._keep = keep
        self._kept: dict[str, Found] = {}
        self._under_way: dict[str, gevent.Greenlet] = {}
        self._backend: Any = _backend(servers, port)

    def resolve(self, name: str) -> tuple[str, ...]:
        """The numeric addresses of `name`, best first; raises `SendFailed` with a DNS cause."""
        found = self._kept.get(name)
        if found is None or found.until <= monotonic():
            job = self._under_way.get(name)
            if job is None:
                # In a greenlet of its own: whoever asked first may be killed while others wait.
                job = self._under_way[name] = gevent.spawn(self._look_up, name)
            found = job.get()
        if found.cause is not None:
            silent = found.cause is Cause.DNS_TIMEOUT
            raise SendFailed(found.cause, "no name server answered" if silent else "name not found")
        addresses: tuple[str, ...] = found.addresses
        return addresses

    def close(self) -> None:
        """Give the name server sockets back."""
        gevent.killall(list(self._under_way.values()), block=False)
        self._backend.close()

    def _look_up(self, name: str) -> Found:
        try:
            addresses, cause = self._ask(name)
            keep = self._keep if addresses else min(self._keep, KEEP_FAILED)
            found = Found(addresses, cause, monotonic() + keep)
            while len(self._kept) >= MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept.pop(name, None)
            self._kept[name] = found
            return found
        finally:
            del self._under_way[name]

    def _ask(self, name: str) -> tuple[tuple[str, ...], Cause | None]:
        with gevent.Timeout(LOOK_UP_WITHIN, False):
            try:
                answers = self._backend.getaddrinfo(name, None, AF_UNSPEC, SOCK_STREAM)
            except LookUpError as error:
                silent = error.errno in _ARES_SILENT
                return (), Cause.DNS_TIMEOUT if silent else Cause.DNS_FAILURE
            except (OSError, UnicodeError):
                return (), Cause.DNS_FAILURE
            addresses = tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
            return addresses, None if addresses else Cause.DNS_FAILURE
        return (), Cause.DNS_TIMEOUT


def _backend(servers: str | None, port: int | None) -> Any:
    hub = gevent.get_hub()
    if servers is None and os.environ.get("GEVENT_RESOLVER", "ares").startswith("thread"):
        return ThreadResolver(hub)
    settings: dict[str, object] = {"timeout": 1.0, "tries": 3}
    if servers is not None:
        settings |= {"servers": servers, "udp_port": port, "tcp_port": port}
    return AresResolver(hub, use_environ=servers is None, **settings)
