"""Accepting events: one insert is the promise, the fan-out follows and is safe to run again.

Publishes that arrive together share round trips (see `grouping`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from relay_web.clock import new_id
from relay_web.domain.delivery import State, delivery_id
from relay_web.domain.event import MAX_TARGETS, Accepted, Publish
from relay_web.engine.grouping import Grouping
from relay_web.errors import Conflict, Invalid, RelayError, Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock

Doc = dict[str, Any]

#: Publishes written as one group at the most. Four batches of a hundred at once cost a quarter less
#: than one by one (measured); many more would only keep the first of them waiting.
GROUP: Final = 400
_SAFE_AGAIN: Final = "The database did not confirm this. It is safe to send it again{}."


@dataclass(slots=True, eq=False)
class _Ticket:
    """One publish on its way: exactly one of `accepted` and `refused` is set when it is done."""

    team: str
    publish: Publish
    accepted: Accepted | None = None
    refused: RelayError | None = None

    @property
    def done(self) -> bool:
        return self.accepted is not None or self.refused is not None


class Intake:
    """Turns publishes into events and their deliveries. One per process; safe to share."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._clock = DatabaseClock(store.db)
        self._groups = Grouping(self._write, GROUP)

    def accept(self, team: str, publish: Publish) -> Accepted:
        """Store one event for this team; it will reach every endpoint that listens now.

        Raises `Conflict` for an idempotency key or id used before with other content, and
        `Unavailable` where the database did not confirm (then it is safe to send again).
        """
        ticket = _Ticket(team, publish)
        self._groups.run([ticket])
        return self._done(ticket)

    def accept_many(self, team: str, publishes: Sequence[Publish]) -> list[Accepted | RelayError]:
        """The same for a batch: one answer an item, in order; a refusal stands for its item only.

        Raises `Unavailable` when nothing is known of any of them.
        """
        tickets = [_Ticket(team, publish) for publish in publishes]
        self._groups.run(tickets)
        for ticket in tickets:
            if isinstance(ticket.refused, Unavailable):
                raise ticket.refused
        return [ticket.accepted or ticket.refused or Conflict() for ticket in tickets]

    def finish(self, events: Iterable[Doc]) -> None:
        """Make the deliveries of stored events; those that are there already stay."""
        docs = list(events)
        opened = [_opened(doc, target) for doc in docs for target in doc["targets"]]
        self._store.deliveries.open(opened)
        self._store.events.mark_fanned_out(doc["_id"] for doc in docs)

    @staticmethod
    def _done(ticket: _Ticket) -> Accepted:
        if ticket.accepted is None:
            raise ticket.refused or Conflict()
        return ticket.accepted

    def _write(self, group: list[_Ticket]) -> None:
        try:
            self._store_group(group)
        except RelayError as error:
            for ticket in group:
                if not ticket.done:
                    ticket.refused = _unconfirmed(ticket, error)
        except BaseException:
            # A bug must not leave the others of the group waiting for a turn that never comes.
            for ticket in group:
                if not ticket.done:
                    ticket.refused = Unavailable(retry_after=1)
            raise

    def _store_group(self, group: list[_Ticket]) -> None:
        now = self._clock.now()
        listening = {
            team: self._store.endpoints.for_team_active(team)
            for team in {ticket.team for ticket in group}
        }
        docs: list[Doc] = []
        for ticket in group:
            only = ticket.publish.only_endpoint
            targets = [
                endpoint.id
                for endpoint in listening[ticket.team]
                if (endpoint.id == only if only else endpoint.wants(ticket.publish.type))
            ]
            docs.append(_event(ticket, targets, now))
        refused = self._store.events.add(docs)
        pairs = list(zip(group, docs, strict=True))
        fresh = [doc for ticket, doc in pairs if doc["_id"] not in refused]
        for ticket, doc in pairs:
            if doc["_id"] in refused:
                self._answer_duplicate(ticket, doc)
            else:
                ticket.accepted = _accepted(doc, duplicate=False)
        try:
            self.finish(doc for doc in fresh if doc["targets"])
        except Unavailable:
            # Accepted is accepted: the events are stored, and upkeep makes what is missing.
            return

    def _answer_duplicate(self, ticket: _Ticket, doc: Doc) -> None:
        publish = ticket.publish
        first = self._store.events.earlier(
            ticket.team, key=publish.idempotency_key, public_id=publish.id
        )
        if first is None:
            ticket.refused = Unavailable(retry_after=1)
        elif first["digest"] == doc["digest"]:
            ticket.accepted = _accepted(first, duplicate=True)
        else:
            shown = first.get("public_id", first["_id"])
            ticket.refused = Conflict(
                f"This Idempotency-Key or id was used for event {shown} with other content; "
                "use a new one.",
                code="idempotency_conflict",
            )


def check_targets(count: int) -> None:
    """Raise `Invalid` when an event would go to more endpoints than one event may."""
    if count > MAX_TARGETS:
        raise Invalid(f"An event goes to at most {MAX_TARGETS} endpoints, not to {count}.")


def _event(ticket: _Ticket, targets: list[str], now: Any) -> Doc:
    publish = ticket.publish
    check_targets(len(targets))
    doc: Doc = {
        "_id": new_id("msg"),
        "team": ticket.team,
        "type": publish.type,
        "body": publish.body(now),
        "digest": publish.digest(),
        "targets": targets,
        "fanout": "pending" if targets else "done",
        "trigger": publish.trigger,
        "created_at": now,
    }
    optional = {
        "idempotency_key": publish.idempotency_key,
        "public_id": publish.id,
        "source": publish.source,
    }
    return doc | {key: value for key, value in optional.items() if value is not None}


def _opened(event: Doc, endpoint: str) -> Doc:
    """A new delivery, due since its event was accepted."""
    job = {"jobs": [event["job"]]} if "job" in event else {}
    return job | {
        "_id": delivery_id(event["_id"], endpoint),
        "team": event["team"],
        "event": event["_id"],
        "webhook_id": event.get("public_id", event["_id"]),
        "endpoint": endpoint,
        "type": event["type"],
        "state": State.PENDING.value,
        "lane": endpoint,
        "due_at": event["created_at"],
        "lease_token": 0,
        "tries": 0,
        "round_tries": 0,
        "unresolved": 0,
        "lost": [],
        "rev": 0,
        "actions": [],
        "trigger": event["trigger"],
        "created_at": event["created_at"],
    }


def _accepted(doc: Doc, *, duplicate: bool) -> Accepted:
    shown: str = doc.get("public_id") or doc["_id"]
    return Accepted(shown, doc["type"], len(doc["targets"]), duplicate, doc["_id"])


def _unconfirmed(ticket: _Ticket, error: RelayError) -> RelayError:
    if not isinstance(error, Unavailable):
        return error
    how = "; add an Idempotency-Key to make it one event"
    if ticket.publish.idempotency_key:
        how = " with the same Idempotency-Key"
    return Unavailable(_SAFE_AGAIN.format(how), retry_after=error.retry_after or 5)
