"""How fast one endpoint may be sent to from here: its limits, shared out, and its cool-down.

Limits are the endpoint's; each live worker takes its share of them, and the shares add up to the
limit exactly. They are set anew whenever a worker comes or goes; a newcomer has no share until the
others must have given it up.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from relay_web.domain import ramp
from relay_web.domain.endpoint import Endpoint

#: Seconds by which a look may come late and still be made up for: so much of a rate is saved up.
_LATE: Final = 0.1
#: Refusals in a row ("busy" statuses) after which an endpoint is left alone for a while.
COOL_AFTER: Final = 3
_COOL_FIRST: Final = 1.0
_COOL_LONGEST: Final = 30.0
#: Statuses that say "not now" for the endpoint as a whole (reliability G12).
BUSY: Final = frozenset({429, 502, 503, 504})


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class Pace:
    """Rates, concurrency shares and cool-downs of one worker process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        #: This process is number `rank` (from 0) of `workers` live ones.
        self.rank, self.workers = 0, 1
        self._is_new = False
        #: Seconds until the first of the rates asked about since `look` lets another one go.
        self.ready_in = math.inf
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._busy: dict[str, int] = {}
        self._cool_until: dict[str, float] = {}

    def share_out(self, *, rank: int, workers: int, is_new: bool = False) -> None:
        """This process is number `rank` (from 0) of `workers` live ones; a new one waits."""
        self.rank, self.workers, self._is_new = rank, max(1, workers), is_new

    def allowance(self, endpoint: Endpoint, in_flight: int) -> int:
        """How many more sends may start now, its limits considered."""
        allowed = 1_000_000
        rate = ramp.rate(endpoint)
        if self._is_new and (endpoint.max_in_flight is not None or rate is not None):
            return 0
        if endpoint.max_in_flight is not None:
            allowed = self._share(endpoint.max_in_flight) - in_flight
        if rate is not None:
            allowed = min(allowed, self._tokens(endpoint.id, rate / self.workers))
        else:
            self._buckets.pop(endpoint.id, None)
        return allowed

    def look(self) -> None:
        """A new round over the lanes begins."""
        self.ready_in = math.inf

    def spend(self, endpoint: str, count: int) -> None:
        """`count` sends of this endpoint start."""
        bucket = self._buckets.get(endpoint)
        if bucket is not None:
            bucket.tokens -= count

    def heard(self, endpoint: str, status: int | None) -> float:
        """Seconds to leave the endpoint alone after this answer: 0 but for a run of "not now"."""
        if status not in BUSY:
            self._busy.pop(endpoint, None)
            self._cool_until.pop(endpoint, None)
            return 0.0
        now = self._clock()
        if now < self._cool_until.get(endpoint, now):
            return 0.0  # it was on its way when the others were refused: it says nothing new
        run = self._busy[endpoint] = self._busy.get(endpoint, 0) + 1
        if run < COOL_AFTER:
            return 0.0
        seconds = min(_COOL_LONGEST, _COOL_FIRST * 2.0 ** min(run - COOL_AFTER, 10))
        self._cool_until[endpoint] = now + seconds
        return seconds

    def _share(self, limit: int) -> int:
        return limit // self.workers + (self.rank < limit % self.workers)

    def _tokens(self, endpoint: str, rate: float) -> int:
        now = self._clock()
        bucket = self._buckets.setdefault(endpoint, _Bucket(1.0, now))
        saved = bucket.tokens + (now - bucket.filled_at) * rate
        bucket.tokens = min(saved, 1.0 + rate * _LATE)
        bucket.filled_at = now
        if bucket.tokens < 1.0:
            self.ready_in = min(self.ready_in, (1.0 - bucket.tokens) / rate)
        return int(bucket.tokens)
