"""Wakes a worker that has room within milliseconds of new work, where the database can tell.

A change stream costs the server work for every write, so it is open only while there are free slots
and few sends a second. Where there is none (a standalone server), polling goes on as ever.
"""

import math
import time
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
#: Sends a second from which on looking by itself is cheaper, and soon enough.
BUSY: Final = 500.0


class Wakeup:
    """One greenlet of the worker. `arrived` hears the lane, or "" where that is not known."""

    def __init__(self, store: Store, arrived: Callable[[str], None]) -> None:
        self._db = store.db
        self._arrived = arrived
        self._wanted = Event()
        self._rate = 0.0
        self._rated_at = time.monotonic()
        #: Whether the stream is open: then nothing need be looked for.
        self.is_watching = False

    def look(self, started: int, *, has_room: bool) -> None:
        """`started` sends have begun since the last look; `has_room` says whether more could."""
        now = time.monotonic()
        # A sum that fades within a second: in steady state, sends a second.
        self._rate = self._rate * math.exp(self._rated_at - now) + started
        self._rated_at = now
        if has_room and self._rate < BUSY:
            self._wanted.set()
        else:
            self._wanted.clear()

    def run(self) -> None:
        """Watch whenever it pays, until killed."""
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
            self._arrived("")
            self.is_watching = True
            try:
                while self._wanted.is_set():
                    lane = stream.next()
                    if lane is not None:
                        self._arrived(lane)
            finally:
                self.is_watching = False
                self._arrived("")
