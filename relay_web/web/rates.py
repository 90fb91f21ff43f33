"""How many requests a team may make of one web process; a batch is one request."""

import time
from typing import Final

#: Far above what one process serves one program, so it only stops a loop gone wrong.
PER_SECOND: Final = 2000.0
BURST: Final = 4000.0
_REMEMBERED: Final = 10_000


class Rates:
    """One bucket a team, filled at `per_second` up to `burst` requests."""

    def __init__(self, per_second: float = PER_SECOND, burst: float = BURST) -> None:
        self._per_second = per_second
        self._burst = burst
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, team: str) -> int:
        """Count one request; returns 0, or the whole seconds to wait instead of making it."""
        now = time.monotonic()
        left, seen = self._buckets.get(team, (self._burst, now))
        left = min(self._burst, left + (now - seen) * self._per_second)
        if left < 1:
            self._buckets[team] = (left, now)
            return int((1 - left) / self._per_second) + 1
        if len(self._buckets) >= _REMEMBERED:
            self._buckets.clear()
        self._buckets[team] = (left - 1, now)
        return 0
