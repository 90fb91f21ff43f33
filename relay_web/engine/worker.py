"""The worker process: discover lanes, claim, send in bounded greenlets, commit in groups.

One hub. It claims only what it can start at once, and holds a slot until the result is written.
A database outage is waited out; a stop hands over what was not sent.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import gevent
import structlog
from gevent.event import Event

from relay_web.domain.vault import Vault
from relay_web.engine.bulk import Bulk
from relay_web.engine.committer import Committer, outcome_line
from relay_web.engine.consequences import Consequences
from relay_web.engine.courier import Courier, Settled
from relay_web.engine.endpoint_cache import EndpointCache
from relay_web.engine.heartbeat import Heartbeat
from relay_web.engine.lanes import LanePicker
from relay_web.engine.pace import Pace
from relay_web.engine.retention import Retention
from relay_web.engine.sender import Sender
from relay_web.engine.sends import Sends
from relay_web.engine.tally import Tally
from relay_web.engine.upkeep import Upkeep
from relay_web.engine.wakeup import Wakeup
from relay_web.engine.watchdog import Watchdog
from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock
from relay_web.store.deliveries import Fate

log = structlog.get_logger(__name__)

#: Seconds between two looks at the queue when nothing wakes an idle worker.
POLL: Final = 1.0
#: Seconds sends under way get after a stop before they are broken off (design §6: exit within 25).
GRACE: Final = 18.0
_FLUSH: Final = 5.0
_PAUSE_FIRST: Final = 0.1
_PAUSE_LONGEST: Final = 2.0
_STILL: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker is told. Times are in seconds."""

    name: str
    version: str
    concurrency: int
    lease: float
    deadline: float
    schedule: Sequence[float]


class Worker:
    """One worker. `run` blocks until `stop` is set and everything is handed over."""

    def __init__(self, store: Store, sender: Sender, vault: Vault, options: WorkerOptions) -> None:
        self._store = store
        self._options = options
        self._clock = DatabaseClock(store.db)
        self._cache = EndpointCache(store.endpoints, vault)
        pace = Pace()
        self._picker = LanePicker(
            store.lanes,
            self._cache,
            slots=options.concurrency,
            now=self._clock.now,
            pace=pace,
        )
        courier = Courier(sender, self._clock, options.deadline, options.schedule, random.Random())
        self._committer = Committer(store, self._on_settled)
        self._sends = Sends(courier, self._committer)
        self._consequences = Consequences(store, self._cache, pace, self._clock)
        self._wake = Event()
        self._tally = Tally(store, self._clock, options.name)
        self._watchdog = Watchdog(options.lease / 2, self._tally.stalled)
        self._heartbeat = Heartbeat(
            store, self._clock, pace, self._committer, name=options.name,
            version=options.version, slots=options.concurrency, in_flight=self._in_flight,
            deadline=options.deadline, watchdog=self._watchdog,
        )  # fmt: skip
        self._bulk = Bulk(store)
        self._upkeep = Upkeep(store, self._clock)
        self._retention = Retention(store, self._clock)
        self._wakeup = Wakeup(store, self._on_due)

    def run(self, stop: Event) -> int:
        """Work until `stop`; returns the exit code."""
        stop.rawlink(lambda _: self._wake.set())
        background = [
            gevent.spawn(part.run)
            for part in (
                self._committer,
                self._heartbeat,
                self._bulk,
                self._upkeep,
                self._retention,
                self._wakeup,
                self._tally,
                self._watchdog,
            )
        ]
        log.info("worker.started", worker=self._options.name, slots=self._options.concurrency)
        pause = _PAUSE_FIRST
        while not stop.is_set():
            try:
                self._wait_for_work(self._turn())
                pause = _PAUSE_FIRST
            except Unavailable as error:
                log.warning("database.away", pause=pause, error=str(error.__cause__)[:200])
                stop.wait(pause)
                pause = min(pause * 2, _PAUSE_LONGEST)
        self._hand_over()
        gevent.killall(background)
        log.info("worker.stopped", worker=self._options.name)
        return 0

    def _in_flight(self) -> int:
        return self._picker.in_flight

    def _on_due(self, lane: str) -> None:
        """A hint that something became due."""
        if lane:
            self._picker.arrived(lane)
        else:
            self._picker.look_again()
        self._wake.set()

    def _turn(self) -> int:
        """Claim and start as much as fits; how many were started."""
        self._wake.clear()
        free = self._options.concurrency - self._picker.in_flight
        started = 0
        plain: list[str] = []
        for pick in self._picker.picks(free):
            if pick.ordered:
                started += self._claim(pick.ids, ordered=True)
            else:
                plain += pick.ids
        if plain:
            started += self._claim(plain, ordered=False)
        return started

    def _claim(self, ids: Sequence[str], *, ordered: bool) -> int:
        options = self._options
        claims = self._store.deliveries.claim(
            ids, worker=options.name, lease=options.lease, ordered=ordered
        )
        if not claims:
            return 0
        bodies = self._store.events.bodies({claim.event for claim in claims})
        targets = self._cache.get({claim.endpoint for claim in claims})
        for claim in claims:
            self._picker.started(claim.endpoint)
            self._tally.reclaimed(claim)
            target = targets.get(claim.endpoint)
            self._sends.start(claim, target, bodies.get(claim.event))
        return len(claims)

    def _wait_for_work(self, started: int) -> None:
        """Rest until a slot is freed, something becomes due, or the poll comes round."""
        has_room = self._picker.in_flight < self._options.concurrency
        self._wakeup.look(started, has_room=has_room)
        if started and has_room:
            gevent.sleep(0)
            return
        blind = self._picker.in_flight and not self._wakeup.is_watching
        self._wake.wait(_STILL if blind else self._picker.rest(POLL))

    def _on_settled(self, settled: Settled, fate: Fate) -> None:
        """A result met its fate: free the slot, say so, and draw the consequences."""
        claim, verdict = settled.result.claim, settled.result.verdict
        self._picker.ended(claim.endpoint)
        self._tally.settled(settled, fate)
        if verdict.sent:
            self._consequences.draw(settled.result, fate)
            level = log.warning if fate is Fate.FENCED else log.info
            level("delivery.attempted", **outcome_line(settled, fate))
        self._wake.set()

    def _hand_over(self) -> None:
        """Let what is under way finish, break off the rest, write every result."""
        log.info("worker.draining", in_flight=self._picker.in_flight)
        self._heartbeat.drain()
        self._sends.finish(GRACE)
        if not self._committer.wait_idle(_FLUSH):
            log.warning("worker.unwritten", in_flight=self._picker.in_flight)
        self._tally.flush()
        self._heartbeat.stop()
