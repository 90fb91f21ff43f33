"""Attempts and events go once their deliveries have gone; never before, and never what is alive.

A delivery that has ended is removed by the database itself, after its retention. Its attempts and
its event follow here. Each event carries the date of its next look, so a round with nothing to do
is one read of an index, a crash loses no place, and workers may go round side by side.
"""

import random
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import gevent
import structlog

from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock

log = structlog.get_logger(__name__)

#: Seconds between two rounds, give or take a third, so that workers do not march in step.
EVERY: Final = 60.0
#: Events looked at together.
BATCH: Final = 100
#: A long round rests this many times as long as it works: deliveries come first.
_REST: Final = 3.0


class Retention:
    """One greenlet of each worker."""

    def __init__(self, store: Store, clock: DatabaseClock) -> None:
        self._store = store
        self._clock = clock

    def run(self) -> None:
        """Go round until killed."""
        while True:
            gevent.sleep(EVERY * random.uniform(2 / 3, 4 / 3))
            try:
                self.once()
            except Unavailable:
                log.warning("retention.waiting")

    def once(self) -> int:
        """Remove everything that is overdue; how many events went. Raises `Unavailable`."""
        removed = 0
        while True:
            began = time.monotonic()
            now = self._clock.now()
            events = self._store.events.outlived(now=now, limit=BATCH)
            if events:
                removed += self._sweep(events, now)
            if len(events) < BATCH:
                break
            gevent.sleep((time.monotonic() - began) * _REST)
        if removed:
            log.info("retention.removed", events=removed)
        for team in self._store.leavings.teams():
            if self._store.leavings.erase(team):
                log.info("retention.team_erased", team=team)
        return removed

    def _sweep(self, events: Sequence[str], now: datetime) -> int:
        """Look at these events; those that go, go after their attempts.

        The order of the steps is the safety. Attempts are listed before deliveries, so one that is
        removed had a delivery that went before; and an event is removed only if nothing asked to
        keep it since it was listed (`Events.keep`).
        """
        attempts = self._store.attempts.ids_of(events)
        deliveries = self._store.events.deliveries_of(events)
        self._store.attempts.remove([one for one in attempts if _owner(one) not in deliveries])
        in_use = set(deliveries.values())
        if in_use:
            self._store.events.keep(in_use)
        return self._store.events.remove(set(events) - in_use, now=now)


def _owner(attempt: str) -> str:
    """The delivery whose attempt this is."""
    return attempt.partition(":")[0]
