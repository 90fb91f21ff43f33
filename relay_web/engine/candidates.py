"""Ids of due deliveries, asked of a lane by the dozen and handed out a few at a time.

They are hints: the claim's own filter decides. Workers look for different ones, so that they do not
run into each other at the head of one lane; what a worker leaves lying is anybody's.
"""

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from zlib import crc32

from relay_web.engine.pace import Pace
from relay_web.store.lanes import Lanes

#: Ids asked of one lane at once: one find for one delivery is what makes many lanes slow.
ASK: Final = 50
#: Ids kept over all lanes, about 100 bytes each; with more lanes each is asked for fewer.
_KEPT: Final = 20_000
#: Due for so long, a delivery is everybody's.
_LEFT_LYING: Final = timedelta(seconds=1)


class Candidates:
    """What is known to be due in each lane, oldest first."""

    def __init__(self, lanes: Lanes, pace: Pace) -> None:
        self._lanes = lanes
        self._pace = pace
        self._known: dict[str, deque[str]] = {}
        self._more: set[str] = set()

    def take(self, lane: str, wanted: int, *, now: datetime, lanes: int) -> list[str]:
        """Up to `wanted` ids that were due at `now`; `lanes` says how many share the memory.

        Raises `Unavailable`.
        """
        known = self._known.get(lane)
        if not known:
            known = self._known[lane] = deque(self._ask(lane, now, max(wanted, self._size(lanes))))
        taken = [known.popleft() for _ in range(min(wanted, len(known)))]
        if not known:
            del self._known[lane]
        return taken

    def has_more(self, lane: str) -> bool:
        """Whether another `take` is likely to find something."""
        return lane in self._known or lane in self._more

    @staticmethod
    def _size(lanes: int) -> int:
        return min(ASK, _KEPT // max(1, lanes))

    def _ask(self, lane: str, now: datetime, size: int) -> Sequence[str]:
        workers = self._pace.workers
        found = self._lanes.due(lane, now=now, limit=size * workers)
        if len(found) < size * workers:
            self._more.discard(lane)
        else:
            self._more.add(lane)
        if workers == 1 or not found:
            return found
        mine = [key for key in found if crc32(key.encode()) % workers == self._pace.rank]
        return mine or self._lanes.due(lane, now=now - _LEFT_LYING, limit=size)
