"""Bulk jobs at work: taken by whichever worker is free, page by page, at the chosen pace.

A worker holds a job under a lease and writes down how far it came after each page. After a crash
another one goes on from there; what the lost page had sent already carries the job's id and is
not sent twice. A stop is seen between two steps, a fraction of a second apart.
"""

import random
from collections import Counter, defaultdict, deque
from typing import Final

import gevent
import structlog
from gevent.pool import Pool

from relay_web.domain.bulk import LeftOut, pace_of
from relay_web.engine.bulk_source import Item, Look, Source, source_of
from relay_web.engine.tempo import Tempo
from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.bulk_jobs import BulkJob

log = structlog.get_logger(__name__)

#: Seconds between two looks for a job, give or take a third.
EVERY: Final = 1.0
#: Seconds that a job is held for; renewed with each step.
LEASE: Final = 15.0
#: Deliveries looked at together.
PAGE: Final = 200
#: Seconds between two steps of a page.
STEP: Final = 0.2
#: Jobs that one worker has in hand.
AT_ONCE: Final = 8


class Bulk:
    """One greenlet of each worker, and one for each job in hand."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._jobs = store.bulk_jobs
        self._hands = Pool(AT_ONCE)

    def run(self) -> None:
        """Look for jobs until killed; then those in hand are given back."""
        try:
            while True:
                gevent.sleep(EVERY * random.uniform(2 / 3, 4 / 3))
                self._take()
        finally:
            self._hands.kill()

    def _take(self) -> None:
        try:
            while self._hands.free_count() and (job := self._jobs.take(LEASE)):
                self._hands.spawn(self._work, job)
        except Unavailable:
            log.warning("bulk.waiting")

    def _work(self, job: BulkJob) -> None:
        log.info("bulk.taken", job=job.id, position=job.position)
        try:
            if self.work(job):
                log.info("bulk.done", job=job.id)
        except Unavailable:
            log.warning("bulk.interrupted", job=job.id)
        finally:
            self._give_back(job)

    def _give_back(self, job: BulkJob) -> None:
        try:
            self._jobs.release(job)
        except Unavailable:
            return  # its lease runs out by itself

    def work(self, job: BulkJob) -> bool:
        """Work `job` off; false where it was stopped or is no longer ours. Raises `Unavailable`."""
        source, tempo, position = source_of(self._store, job.wish), Tempo(), job.position
        while (page := source.look(after=position, limit=PAGE)).last:
            skipped = self._send(job, source, page, tempo)
            if skipped is None or not self._jobs.advance(job, page.last, skipped):
                return False
            position = page.last
        touched = self._store.bulk_targets.touched(job.id, job.wish.as_of)
        return self._jobs.finish(job, queued=touched.queued)

    def _send(
        self, job: BulkJob, source: Source, page: Look, tempo: Tempo
    ) -> Counter[LeftOut] | None:
        """Send one page, each endpoint at its own pace; what was passed over, or None if we lost
        the job meanwhile."""
        skipped = Counter(page.left_out)
        endpoints = self._store.bulk_targets.endpoints(job.wish.team)
        waiting: dict[str, deque[Item]] = defaultdict(deque)
        for item in page.ready:
            waiting[item.endpoint].append(item)
        while waiting:
            if not self._jobs.keep(job, LEASE):
                return None
            now: list[Item] = []
            for key, line in list(waiting.items()):
                pace = pace_of(endpoints[key], job.wish.pace)
                allowed = tempo.allow(key, pace, len(line))
                now += [line.popleft() for _ in range(allowed)]
                if not line:
                    del waiting[key]
            if now:
                sent = source.send(now, job=job.id, by=job.by)
                skipped[LeftOut.CHANGED] += len(now) - sent
            if waiting:
                gevent.sleep(STEP)
        return skipped
