"""What a worker says of itself every five seconds, and how it learns how many others there are."""

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog
from gevent.event import Event
from gevent.lock import RLock

from relay_web.engine.committer import Committer
from relay_web.engine.pace import Pace
from relay_web.engine.watchdog import Watchdog
from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock
from relay_web.store.deliveries import Fate
from relay_web.store.workers import BEAT_EVERY

log = structlog.get_logger(__name__)

#: Workers that may have sends under way.
_COUNTED: Final = frozenset({"beating", "draining"})


class Heartbeat:
    """Beats into `workers`, and shares the endpoints' limits out among the live ones."""

    def __init__(
        self,
        store: Store,
        clock: DatabaseClock,
        pace: Pace,
        committer: Committer,
        *,
        name: str,
        version: str,
        slots: int,
        in_flight: Callable[[], int],
        deadline: float,
        watchdog: Watchdog,
    ) -> None:
        self._store, self._clock, self._pace, self._committer = store, clock, pace, committer
        self._watchdog = watchdog
        self._name, self._version, self._slots = name, version, slots
        self._in_flight = in_flight
        # By then every other worker has beaten, seen this one, and finished what it had begun.
        self._new_for = timedelta(seconds=BEAT_EVERY + deadline)
        # Until the first beat nobody knows of this worker, nor it of others.
        pace.share_out(rank=0, workers=1, is_new=True)
        self._state = "beating"
        self._turn = RLock()
        self._news = Event()

    def run(self) -> None:
        """Beat until killed."""
        while True:
            self._news.clear()
            self._beat()
            self._news.wait(BEAT_EVERY)

    def drain(self) -> None:
        """Say that this worker claims no more."""
        self._state = "draining"
        self._news.set()

    def stop(self) -> None:
        """Say good-bye."""
        self._state = "stopped"
        self._beat()

    def _beat(self) -> None:
        with self._turn:  # the good-bye must not be overtaken by a beat that is on its way
            try:
                self._clock.measure()
                self._store.workers.beat(self._name, **self._facts())
                self._share_out()
            except Unavailable:
                log.warning("heartbeat.missed", worker=self._name)

    def _facts(self) -> dict[str, object]:
        fates = self._committer.fates
        return {
            "state": self._state,
            "version": self._version,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "slots": self._slots,
            "in_flight": self._in_flight(),
            "stall_ms": round(self._watchdog.longest * 1000, 1),
            "clock_offset_ms": round(self._clock.offset * 1000, 1),
            "fenced": fates[Fate.FENCED],
        }

    def _share_out(self) -> None:
        now = self._clock.now()
        live = sorted(
            (beat.started_at, beat.name)
            for beat in self._store.workers.all()
            if beat.health(now) in _COUNTED
        )
        for rank, (started_at, name) in enumerate(live):
            if name == self._name:
                is_new = rank > 0 and now - started_at < self._new_for
                self._pace.share_out(rank=rank, workers=len(live), is_new=is_new)
