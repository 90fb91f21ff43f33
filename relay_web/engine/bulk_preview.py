"""Before many are sent again: what that would be, and starting it. Pages and API call the same."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from relay_web.domain.bulk import LeftOut, pace_of
from relay_web.domain.delivery import Word
from relay_web.engine.bulk_source import Item, Look, source_of
from relay_web.errors import Invalid
from relay_web.store import Store
from relay_web.store.bulk_jobs import BulkJob, Wish

#: Nothing is counted further than this; a longer job counts as it goes.
COUNTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class EndpointShare:
    """What one endpoint would get, and how many of it a second."""

    id: str
    name: str
    count: int
    pace: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What a wish comes to. `matched` = `queue` + everything left out, also where it is capped."""

    wish: Wish
    matched: int
    #: There are more than were counted.
    at_least: bool
    queue: int
    left_out: Mapping[LeftOut, int]
    endpoints: Sequence[EndpointShare]
    #: How many by the cause of the last failure, most first; None where there was no failure.
    causes: Sequence[tuple[str | None, int]]
    oldest: datetime | None
    newest: datetime | None

    @property
    def seconds(self) -> float:
        """How long it takes to queue all of it: endpoints are served side by side."""
        return max((share.count / share.pace for share in self.endpoints), default=0.0)


def settled(wish: Wish) -> Wish:
    """The wish with its filter as the job will keep it: what arrived is asked for by name only."""
    filters = wish.filters
    if filters.words or filters.ids:
        return wish
    undelivered = frozenset(Word) - {Word.DELIVERED}
    return replace(wish, filters=replace(filters, words=undelivered))


def preview(store: Store, wish: Wish) -> Preview:
    """Count what `wish` would send again and what it leaves out, up to `COUNTED` of them."""
    asked, wish = wish, settled(wish)
    found, at_least = _count(store, wish)
    passed = Counter(found.left_out)
    if asked.filters != wish.filters:
        arrived = replace(asked.filters, words=frozenset({Word.DELIVERED}))
        passed[LeftOut.DELIVERED] += store.timeline.count(wish.team, arrived, cap=COUNTED)
    times = [item.at for item in found.ready]
    return Preview(
        wish=wish,
        matched=len(found.ready) + passed.total(),
        at_least=at_least,
        queue=len(found.ready),
        left_out={why: passed[why] for why in LeftOut if passed[why]},
        endpoints=_shares(store, wish, found.ready),
        causes=Counter(item.cause for item in found.ready).most_common(),
        oldest=min(times, default=None),
        newest=max(times, default=None),
    )


def start(store: Store, wish: Wish, *, action_id: str, by: str) -> BulkJob:
    """Start the job; the same `action_id` again is the same job.

    Raises `Invalid` where there is nothing that it would send.
    """
    made = store.bulk_jobs.made_by(wish.team, action_id)
    if made is not None:
        return made
    seen = preview(store, wish)
    if not seen.queue:
        raise Invalid("Nothing is left to send; no job was started.", code="nothing_matches")
    # What the job's own filter does not reach was counted once, here.
    skipped: dict[LeftOut, int] = {}
    if seen.wish != wish and (arrived := seen.left_out.get(LeftOut.DELIVERED)):
        skipped[LeftOut.DELIVERED] = arrived
    return store.bulk_jobs.start(
        seen.wish, action_id=action_id, by=by,
        matched=seen.matched, at_least=seen.at_least, skipped=skipped, now=store.now(),
    )  # fmt: skip


def _count(store: Store, wish: Wish) -> tuple[Look, bool]:
    """Everything from the start, up to about `COUNTED`; whether there is more."""
    source, last = source_of(store, wish), ""
    ready: list[Item] = []
    passed = Counter[LeftOut]()
    while len(ready) + passed.total() < COUNTED:
        page = source.look(after=last, limit=COUNTED)
        if not page.last:
            return Look(ready, passed), False
        ready += page.ready
        passed += page.left_out
        last = page.last
    return Look(ready, passed), bool(source.look(after=last, limit=1).last)


def _shares(store: Store, wish: Wish, ready: Sequence[Item]) -> list[EndpointShare]:
    endpoints = store.bulk_targets.endpoints(wish.team)
    counts = Counter(item.endpoint for item in ready)
    return [
        EndpointShare(key, endpoints[key].name, count, pace_of(endpoints[key], wish.pace))
        for key, count in counts.most_common()
    ]
