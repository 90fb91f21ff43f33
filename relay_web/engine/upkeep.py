"""What a crash or a deletion left half done is finished here; every step is safe to repeat."""

import random
from datetime import timedelta
from typing import Final

import gevent
import structlog

from relay_web.engine.intake import Intake
from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock

log = structlog.get_logger(__name__)

#: Seconds between two rounds, give or take a third, so that workers do not march in step.
EVERY: Final = 5.0
#: An event's own publisher gets this long to fan it out before upkeep does.
HALF_DONE_AFTER: Final = timedelta(seconds=10)
_BATCH: Final = 200
ORPHANED: Final = "its endpoint was deleted"


class Upkeep:
    """One greenlet of each worker."""

    def __init__(self, store: Store, clock: DatabaseClock) -> None:
        self._store = store
        self._clock = clock
        self._intake = Intake(store)

    def run(self) -> None:
        """Go round until killed."""
        while True:
            gevent.sleep(EVERY * random.uniform(2 / 3, 4 / 3))
            try:
                self.once()
            except Unavailable:
                log.warning("upkeep.waiting")

    def once(self) -> None:
        """One round: half fan-outs, deliveries of deleted endpoints, long outages."""
        before = self._clock.now() - HALF_DONE_AFTER
        while half := self._store.events.half_done(before=before, limit=_BATCH):
            self._intake.finish(half)
            log.info("upkeep.fanned_out", events=len(half))
        self._drop_orphans()
        self._look_at_outages()

    def _drop_orphans(self) -> None:
        """Cancel what waits for a deleted endpoint, and fence what is on its way there."""
        for endpoint in self._store.endpoints.deleted(self._store.lanes.heads()):
            dropped = 0
            while live := self._store.lanes.live(endpoint, limit=_BATCH):
                dropped += sum(self._store.deliveries.drop(one, why=ORPHANED) for one in live)
            log.info("upkeep.dropped", endpoint=endpoint, deliveries=dropped)

    def _look_at_outages(self) -> None:
        now = self._clock.now()
        for outage in self._store.outages.to_warn(now):
            log.warning("endpoint.failing", endpoint=outage.endpoint, since=outage.since)
        for outage in self._store.outages.to_suspend(now):
            reason = f"Nothing but failures since {outage.since:%Y-%m-%d %H:%M} UTC"
            if self._store.endpoints.suspend(outage.endpoint, reason):
                log.warning("endpoint.suspended", endpoint=outage.endpoint, since=outage.since)
