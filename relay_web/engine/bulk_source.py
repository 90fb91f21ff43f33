"""What a bulk job would do next, and the doing of it. Previews and the worker look with the same
eyes: one function says what is sent again and what is left out, and why."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from relay_web.domain.bulk import Kind, LeftOut, left_out
from relay_web.domain.delivery import Delivery, Word
from relay_web.domain.endpoint import Endpoint
from relay_web.engine.intake import Intake
from relay_web.store import Store
from relay_web.store.bulk_jobs import Wish

Doc = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One delivery to send again, or one event to send for the first time."""

    endpoint: str
    cause: str | None
    at: datetime
    what: Any


@dataclass(frozen=True, slots=True)
class Look:
    """One stretch of a job: what is to be sent, what is not, and the last id that was seen."""

    ready: Sequence[Item] = ()
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    #: Empty at the end of the list.
    last: str = ""

    @property
    def matched(self) -> int:
        return len(self.ready) + self.left_out.total()


class Source(Protocol):
    """The work of one kind of job."""

    def look(self, *, after: str, limit: int) -> Look:
        """What comes after the id `after`, oldest first; at most `limit` are looked at."""

    def send(self, items: Sequence[Item], *, job: str, by: str) -> int:
        """Send these in the name of `job`; how many of them it has sent by now."""


class Deliveries:
    """Deliveries that a filter matches, sent again."""

    def __init__(self, store: Store, wish: Wish) -> None:
        self._store = store
        self._wish = wish

    def look(self, *, after: str, limit: int) -> Look:
        wish, store = self._wish, self._store
        endpoints = store.bulk_targets.endpoints(wish.team)
        rows = store.bulk_targets.deliveries(wish, endpoints, after=after, limit=limit)
        kept = store.events.kept({row.event for row in rows}) if rows else set()
        ready, passed = [], Counter[LeftOut]()
        for row in rows:
            why = left_out(
                row, endpoints.get(row.endpoint), kept=row.event in kept,
                delivered_too=Word.DELIVERED in wish.filters.words,
            )  # fmt: skip
            if why is None:
                ready.append(_delivery(row))
            else:
                passed[why] += 1
        return Look(ready, passed, rows[-1].id if rows else "")

    def send(self, items: Sequence[Item], *, job: str, by: str) -> int:
        touched = self._store.deliveries.retry_many(
            [item.what for item in items], job=job, by=by, trigger=self._wish.trigger
        )
        for endpoint in {item.endpoint for item in items}:
            self._store.endpoint_pace.warm(endpoint)
        return len(touched)


class Missed:
    """Events that an endpoint wants and never got, sent there for the first time."""

    def __init__(self, store: Store, wish: Wish) -> None:
        self._store = store
        self._wish = wish
        self._intake = Intake(store)

    def look(self, *, after: str, limit: int) -> Look:
        wish, targets = self._wish, self._store.bulk_targets
        endpoint = targets.endpoints(wish.team).get(wish.filters.endpoint or "")
        if endpoint is None:
            return Look()
        rows = targets.events(wish, endpoint, after=after, limit=limit)
        have = targets.have(endpoint.id, rows)
        missed = [row for row in rows if row["_id"] not in have]
        last = rows[-1]["_id"] if rows else ""
        if (why := _refusal(endpoint)) is not None:
            return Look((), Counter({why: len(missed)}), last)
        items = [Item(endpoint.id, None, row["created_at"], row) for row in missed]
        return Look(items, Counter(), last)

    def send(self, items: Sequence[Item], *, job: str, by: str) -> int:
        # Before their deliveries exist: retention must not take an event that is about to be used.
        kept = self._store.events.keep(item.what["_id"] for item in items)
        events = [item.what for item in items if item.what["_id"] in kept]
        self._intake.finish(
            event | {"targets": [self._wish.filters.endpoint], "trigger": "recover", "job": job}
            for event in events
        )
        return len(events)


def source_of(store: Store, wish: Wish) -> Source:
    return (Missed if wish.kind is Kind.MISSED else Deliveries)(store, wish)


def _delivery(row: Delivery) -> Item:
    return Item(row.endpoint, row.last.cause if row.last else None, row.created_at, row)


def _refusal(endpoint: Endpoint) -> LeftOut | None:
    if endpoint.deleted_at is not None:
        return LeftOut.REMOVED
    return LeftOut.HELD if endpoint.state.holds else None
