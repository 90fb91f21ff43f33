"""Group commit: whatever is finished while one group is being written makes up the next one.

So an idle worker commits each result at once, and a busy one pays for majority and journal once
a group. Results are kept and written again through a database outage.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import gevent
import structlog
from gevent.queue import Empty, SimpleQueue

from relay_web.engine.courier import Settled
from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.deliveries import Fate

log = structlog.get_logger(__name__)

#: Results in one group at the most.
GROUP: Final = 500
_PAUSE_FIRST: Final = 0.1
_PAUSE_LONGEST: Final = 2.0


class Committer:
    """One greenlet that writes attempts, then outcomes. `settled` hears the fate of each result."""

    def __init__(self, store: Store, settled: Callable[[Settled, Fate], None]) -> None:
        self._store = store
        self._settled = settled
        self._queue: SimpleQueue[Settled] = SimpleQueue()
        self._unwritten = 0
        self._idle = gevent.event.Event()
        self._idle.set()
        #: How many results met which fate, since the process began.
        self.fates: Counter[Fate] = Counter()

    def put(self, settled: Settled) -> None:
        self._unwritten += 1
        self._idle.clear()
        self._queue.put(settled)

    def wait_idle(self, timeout: float) -> bool:
        """Wait until everything put so far is written; false if `timeout` (seconds) ran out."""
        return bool(self._idle.wait(timeout))

    def run(self) -> None:
        """Write groups until killed."""
        while True:
            group = [self._queue.get()]
            while len(group) < GROUP:
                try:
                    group.append(self._queue.get_nowait())
                except Empty:
                    break
            self._write(group)

    def _write(self, group: list[Settled]) -> None:
        pause = _PAUSE_FIRST
        while group:
            try:
                # Evidence first: a crash between the two leaves an attempt that shows what was
                # sent, never an outcome without one.
                self._store.attempts.record([one.attempt for one in group if one.attempt])
                fates = self._store.deliveries.commit([one.result for one in group])
            except Unavailable:
                log.warning("commit.waiting", results=len(group), pause=pause)
                gevent.sleep(pause)
                pause = min(pause * 2, _PAUSE_LONGEST)
                continue
            group = self._tell(group, fates)

    def _tell(self, group: list[Settled], fates: list[Fate]) -> list[Settled]:
        """Report fates; what is still open comes back to be written again."""
        still_open = []
        for one, fate in zip(group, fates, strict=True):
            if fate is Fate.OPEN:
                still_open.append(one)
                continue
            self.fates[fate] += 1
            self._unwritten -= 1
            self._settled(one, fate)
        if not self._unwritten:
            self._idle.set()
        return still_open


def outcome_line(settled: Settled, fate: Fate) -> dict[str, Any]:
    """The fields of the one log line that each attempt gets."""
    claim, verdict = settled.result.claim, settled.result.verdict
    return {
        "delivery": claim.delivery,
        "endpoint": claim.endpoint,
        "token": claim.lease_token,
        "verdict": verdict.kind.value,
        "status": verdict.status,
        "cause": verdict.cause,
        "fate": fate.value,
        "ms": settled.attempt["ms"] if settled.attempt else None,
    }
