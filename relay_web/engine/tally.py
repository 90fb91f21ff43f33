"""Counts what happened, in memory, and adds it to the hourly rollups every few seconds."""

from collections import Counter, defaultdict
from datetime import datetime
from typing import Final

import gevent
import structlog

from relay_web.domain.delivery import Claim
from relay_web.engine.courier import Settled
from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock
from relay_web.store.deliveries import Fate
from relay_web.store.rollups import bucket

log = structlog.get_logger(__name__)

#: Seconds between two writes.
EVERY: Final = 2.0


class Tally:
    """One a worker. The zombie meter is its part on workers: fenced writes, lost leases, stalls."""

    def __init__(self, store: Store, clock: DatabaseClock, worker: str) -> None:
        self._store = store
        self._clock = clock
        self._worker = worker
        self._endpoints: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._workers: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def run(self) -> None:
        """Write every few seconds until killed."""
        while True:
            gevent.sleep(EVERY)
            self.flush()

    def settled(self, settled: Settled, fate: Fate) -> None:
        """An attempt met its fate."""
        claim, verdict = settled.result.claim, settled.result.verdict
        if fate is Fate.FENCED:
            self._workers[claim.worker]["fenced"] += 1
        if settled.attempt is None or not verdict.sent:
            return
        counts = self._endpoints[claim.endpoint, claim.team]
        counts["attempts"] += 1
        if fate is Fate.FENCED:
            counts["fenced"] += 1
            return
        counts["delivered" if verdict.kind == "delivered" else "errors"] += 1
        if verdict.kind == "failed":
            counts["failed"] += 1
        counts[f"status_{verdict.status}" if verdict.status else f"cause_{verdict.cause}"] += 1
        if verdict.status:
            counts[bucket(settled.attempt["ms"])] += 1

    def reclaimed(self, claim: Claim) -> None:
        """This claim ended another worker's lease, which had run out."""
        if claim.taken_from is not None:
            self._workers[claim.taken_from]["lost"] += 1

    def stalled(self, ms: int) -> None:
        """The hub did not come round for `ms` milliseconds."""
        counts = self._workers[self._worker]
        counts["stalls"] += 1
        counts["stall_ms"] += ms

    def flush(self) -> None:
        """Write what was counted. With the database away the counts are lost: charts only."""
        if not self._endpoints and not self._workers:
            return
        endpoints, workers = self._endpoints, self._workers
        self._endpoints, self._workers = defaultdict(Counter), defaultdict(Counter)
        try:
            hour = _hour(self._clock.now())
            self._store.rollups.add(
                "endpoint", [(key, team, hour, counts) for (key, team), counts in endpoints.items()]
            )
            self._store.rollups.add(
                "worker", [(name, "", hour, counts) for name, counts in workers.items()]
            )
        except Unavailable:
            log.warning("tally.lost", endpoints=len(endpoints))


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
