"""So many a second for each of several receivers, evenly, without saving up for a burst."""

import time
from collections.abc import Callable
from typing import Final

#: Seconds by which a look may come late and still be made up for.
_LATE: Final = 0.5


class Tempo:
    """When the next one may go to each receiver."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, float] = {}

    def allow(self, receiver: str, pace: float, wanted: int) -> int:
        """How many of `wanted` may go now at `pace` a second; they count as gone."""
        now = self._clock()
        due = max(self._next.get(receiver, now), now - _LATE)
        allowed = min(wanted, int((now - due) * pace) + 1) if due <= now else 0
        self._next[receiver] = due + allowed / pace
        return allowed
