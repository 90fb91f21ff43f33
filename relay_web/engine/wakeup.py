"""Wakes an idle worker within milliseconds of new work, where the database can tell.

A change stream costs the server work for every write, so it is open only while the worker has
nothing to do. Where there is none (a standalone server), polling goes on as ever.
"""

from collections.abc import Callable
from typing import Final

import gevent
import structlog
from gevent.event import Event

from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.arrivals import arrivals

log = structlog.get_logger(__name__)

#: Seconds before a server that refused to watch is asked again.
_AGAIN: Final = 30.0


class Wakeup:
    """One greenlet of the worker."""

    def __init__(self, store: Store, arrived: Callable[[], None]) -> None:
        self._db = store.db
        self._arrived = arrived
        self._wanted = Event()

    @property
    def wanted(self) -> bool:
        return bool(self._wanted.is_set())

    @wanted.setter
    def wanted(self, idle: bool) -> None:
        if idle:
            self._wanted.set()
        else:
            self._wanted.clear()

    def run(self) -> None:
        """Watch whenever the worker is idle, until killed."""
        while True:
            self._wanted.wait()
            try:
                self._watch()
            except Unavailable as error:
                log.info("wakeup.polling_only", again_in=_AGAIN, reason=str(error.__cause__)[:200])
                gevent.sleep(_AGAIN)

    def _watch(self) -> None:
        with arrivals(self._db) as stream:
            # What came while the stream was being opened is not in it.
            self._arrived()
            while self.wanted:
                if stream.seen():
                    self._arrived()
