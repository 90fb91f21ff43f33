"""Which deliveries to claim next: every due lane in turn, none more than its share.

An endpoint that is paused, over its limit or cooling down is passed over without touching its
backlog; that is also how a pause holds. A lane may hold at most half of the slots that the other
lanes leave free, so however many endpoints hang, a healthy one finds a slot.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from relay_web.engine.candidates import Candidates
from relay_web.engine.endpoint_cache import EndpointCache, Target
from relay_web.engine.pace import Pace
from relay_web.store.lanes import Lanes

#: Lanes whose endpoints are looked up at once.
_LOOK: Final = 50
#: Discovery may use no more than one part in this many of the worker's time.
_DISCOVERY_SHARE: Final = 20
_SOONEST: Final = 0.02
#: Candidates may be due by so much later than now is here: publishers and workers only estimate the
#: database's time, and the claim goes by that time itself.
_AHEAD: Final = timedelta(milliseconds=20)


@dataclass(frozen=True, slots=True)
class Pick:
    """Candidates of one lane: hints until the claim says they are ours."""

    lane: str
    ids: list[str]
    ordered: bool


class LanePicker:
    """Remembers which lanes are due and how much of each is in flight here."""

    def __init__(
        self,
        lanes: Lanes,
        cache: EndpointCache,
        *,
        slots: int,
        now: Callable[[], datetime],
        pace: Pace,
    ) -> None:
        self._lanes = lanes
        self._cache = cache
        self._slots = slots
        self._now = now
        self._pace = pace
        self._candidates = Candidates(lanes, pace)
        self._in_flight: Counter[str] = Counter()
        #: Sends of all lanes together.
        self.in_flight = 0
        self._due: deque[str] = deque()
        self._discover_at = 0.0
        #: Database time of the earliest future due date that is known of, or None.
        self._next_due: datetime | None = None
        #: Whether something was picked or settled since the last discovery: it may be due (again).
        self._stale = False

    def picks(self, free: int) -> Iterator[Pick]:
        """Candidates for up to `free` slots, lane after lane. Raises `Unavailable`."""
        if time.monotonic() >= self._discover_at:
            self._discover()
        self._pace.look()
        now = self._now()
        left = lanes = len(self._due)
        # An equal part for each, so that many lanes are sent to one by one: what goes to a lane
        # at the same time needs as many connections, which are gone before its next turn.
        take = max(1, free // max(1, lanes))
        while left > 0 and free > 0:
            targets = self._cache.get(islice(self._due, min(left, _LOOK)))
            for _ in range(min(left, _LOOK)):
                if free <= 0:
                    return
                left -= 1
                lane = self._due.popleft()
                target = targets.get(lane)
                wanted = min(free, take, self._allowance(lane, target, now))
                pick = self._pick(lane, target, now, wanted, lanes)
                if wanted <= 0 or pick.ordered or self._candidates.has_more(lane):
                    self._due.append(lane)  # its turn comes again
                if pick.ids:
                    self._stale = True
                    free -= len(pick.ids)
                    yield pick

    def rest(self, longest: float) -> float:
        """Seconds until there may be something to pick that nothing else will wake us for."""
        until_discovery = self._discover_at - time.monotonic()
        waits = [longest, self._pace.ready_in]
        if self._stale:
            waits.append(until_discovery)
        if self._next_due is not None:
            left = (self._next_due - self._now()).total_seconds()
            waits.append(max(left, until_discovery))
        return max(0.001, min(waits))

    def look_again(self) -> None:
        """Something became due: discover at the next turn."""
        self._discover_at = 0.0

    def arrived(self, lane: str) -> None:
        """Something new is due in this lane; discovery, when its time comes, makes sure of it."""
        self._stale = True
        if lane not in self._due:
            self._due.append(lane)

    def started(self, lane: str, count: int = 1) -> None:
        self._in_flight[lane] += count
        self.in_flight += count
        self._pace.spend(lane, count)

    def ended(self, lane: str) -> None:
        self._in_flight[lane] -= 1
        self.in_flight -= 1
        self._stale = True
        if not self._in_flight[lane]:
            del self._in_flight[lane]

    def _discover(self) -> None:
        began = time.monotonic()
        heads = self._lanes.heads()
        now = self._now()
        due = {lane for lane, at in heads.items() if at <= now}
        # Lanes that wait for their turn keep their place; new ones join behind them.
        kept = [lane for lane in self._due if lane in due]
        self._due = deque([*kept, *sorted(due.difference(kept))])
        self._next_due = min((at for at in heads.values() if at > now), default=None)
        self._stale = False
        ended = time.monotonic()
        self._discover_at = ended + max(_SOONEST, (ended - began) * _DISCOVERY_SHARE)

    def _allowance(self, lane: str, target: Target | None, now: datetime) -> int:
        """How many more of this lane may be in flight now."""
        mine = self._in_flight[lane]
        others = self.in_flight - mine
        share = max(1, (self._slots - others) // 2) - mine
        if target is None or target.endpoint.deleted_at is not None:
            return share  # claimed to be cancelled: nothing is sent
        if target.hold(now):
            return 0
        allowed = min(share, self._pace.allowance(target.endpoint, mine))
        return min(1 - mine, allowed) if target.endpoint.ordered else allowed

    def _pick(
        self, lane: str, target: Target | None, now: datetime, wanted: int, lanes: int
    ) -> Pick:
        if wanted <= 0:
            return Pick(lane, [], ordered=False)
        if target is not None and target.endpoint.ordered:
            return self._pick_in_order(lane, now)
        ids = self._candidates.take(lane, wanted, now=now + _AHEAD, lanes=lanes)
        return Pick(lane, ids, ordered=False)

    def _pick_in_order(self, lane: str, now: datetime) -> Pick:
        """The one whose turn it is; while it waits for a retry, the lane waits with it."""
        head = self._lanes.next_in_order(lane)
        if head is not None and head.due_at <= now:
            return Pick(lane, [head.delivery], ordered=True)
        if head is not None:
            self._next_due = min(self._next_due or head.due_at, head.due_at)
        return Pick(lane, [], ordered=False)
