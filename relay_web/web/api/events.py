"""Publishing events, and what became of them."""

import secrets
from datetime import datetime
from typing import Any, Final

from flask import request

from relay_web.domain.delivery import Word
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.event import Accepted, Publish
from relay_web.domain.roles import Deed
from relay_web.engine import resend
from relay_web.errors import LoopDetected, RelayError, TooLarge
from relay_web.store.timeline import DeliveryRow
from relay_web.web.answers import (
    AcceptedOut,
    BatchOut,
    EventAttempt,
    EventDetailOut,
    EventOut,
    FanOut,
    PageOut,
    RefusedOut,
    ResentOut,
)
from relay_web.web.api.answering import event_attempt
from relay_web.web.api.operations import Call, operation
from relay_web.web.json_body import JsonObject
from relay_web.web.parts import parts
from relay_web.web.request_body import KIB, MAX_BODY
from relay_web.web.schemas import BatchIn, EventIn, EventsQuery, PageQuery
from relay_web.web.times_range import time_range

#: A batch of a hundred events of ordinary size fits; each item keeps the single event's limit.
_MAX_BATCH_BODY: Final = 16 * MAX_BODY


@operation(
    "POST", "/events", deed=Deed.PUBLISH, body=EventIn, answer=AcceptedOut, status=202,
    idempotent=True,
)  # fmt: skip
def publish(call: Call) -> AcceptedOut:
    """Publish an event: it reaches every endpoint that wants its type."""
    _refuse_loops()
    assert call.sent is not None
    wish = _publish(call.team, call.body, call.sent, call.key)
    return _accepted(call.parts.intake.accept(call.team, wish))


@operation(
    "POST", "/events/batch", deed=Deed.PUBLISH, body=BatchIn, answer=BatchOut, status=202,
    body_limit=_MAX_BATCH_BODY, list_of_objects="events", idempotent=True,
)  # fmt: skip
def publish_batch(call: Call) -> BatchOut:
    """Publish up to 100 events: none is stored if one of them is not valid."""
    _refuse_loops()
    assert call.sent is not None
    wishes = []
    pairs = zip(call.body.events, call.sent.items, strict=True)
    for number, (event, sent) in enumerate(pairs):
        key = f"{call.key}:{number}" if call.key else None
        try:
            wishes.append(_publish(call.team, event, sent, key))
        except RelayError as refusal:
            refusal.field = f"events[{number}].{refusal.field or 'data'}"
            raise
    answers = call.parts.intake.accept_many(call.team, wishes)
    return BatchOut(items=[_accepted_or_refused(answer) for answer in answers])


@operation("GET", "/events", deed=Deed.SEE, query=EventsQuery, answer=PageOut[EventOut])
def list_events(call: Call) -> PageOut[EventOut]:
    """List events, newest first."""
    query: EventsQuery = call.query
    since, until = time_range(query.since, query.until)
    page = call.parts.store.events.list(
        call.team, type=query.type, since=since, until=until, after=query.after, limit=query.limit
    )
    return PageOut[EventOut](items=[EventOut(**_event(doc)) for doc in page.items], next=page.next)


@operation("GET", "/events/<event_id>", deed=Deed.SEE, answer=EventDetailOut)
def get_event(call: Call, event_id: str) -> EventDetailOut:
    """Show one event: what is sent, to whom, and to whom not and why."""
    store = call.parts.store
    event = store.events.get(call.team, event_id)
    rows = {row.delivery.endpoint: row for row in store.timeline.of_event(call.team, event["_id"])}
    others = [
        _why_not(endpoint, event)
        for endpoint in store.endpoints.for_team_active(call.team)
        if endpoint.id not in rows
    ]
    body = event.get("body")
    return EventDetailOut(
        **_event(event),
        body=bytes(body).decode() if body is not None else None,
        fanout=[*map(_sent_to, rows.values()), *others],
    )


@operation(
    "GET", "/events/<event_id>/attempts", deed=Deed.SEE, query=PageQuery,
    answer=PageOut[EventAttempt],
)  # fmt: skip
def list_event_attempts(call: Call, event_id: str) -> PageOut[EventAttempt]:
    """List every attempt of every delivery of one event."""
    store, query = call.parts.store, call.query
    event = store.events.get(call.team, event_id)
    page = store.timeline.event_attempts(
        call.team, event["_id"], after=query.after, limit=query.limit
    )
    items = [event_attempt(attempt, delivery) for attempt, delivery in page.items]
    return PageOut[EventAttempt](items=items, next=page.next)


@operation(
    "POST", "/events/<event_id>/replay", deed=Deed.OPERATE, answer=ResentOut, status=202,
    idempotent=True,
)  # fmt: skip
def replay_event(call: Call, event_id: str) -> ResentOut:
    """Send every failed or cancelled delivery of one event again."""
    action = call.key or secrets.token_hex(12)
    done = resend.replay(
        call.parts.store, call.team, event_id, action_id=action, by=call.caller.name
    )
    call.audit("event.replayed", event_id, deliveries=str(len(done.ids)))
    return ResentOut(matched=done.matched, retried=len(done.ids))


def _refuse_loops() -> None:
    if "Relay-Delivery" in request.headers:
        raise LoopDetected


def _publish(team: str, event: EventIn, sent: JsonObject, key: str | None) -> Publish:
    data = sent.text["data"].encode()
    if len(data) > MAX_BODY:
        raise TooLarge(f"The data is larger than {MAX_BODY // KIB} KiB.", field="data")
    parts().schemas.check(team, event.type, event.data)
    return Publish(
        type=event.type,
        data=data,
        timestamp=event.timestamp,
        id=event.id,
        idempotency_key=key,
        source=event.source,
    )


def _accepted(accepted: Accepted) -> AcceptedOut:
    return AcceptedOut(
        id=accepted.id,
        type=accepted.type,
        deliveries=accepted.deliveries,
        duplicate=accepted.duplicate,
    )


def _accepted_or_refused(answer: Accepted | RelayError) -> AcceptedOut | RefusedOut:
    if isinstance(answer, RelayError):
        return RefusedOut(status=answer.status, code=answer.code, message=answer.message)
    return _accepted(answer)


def _event(doc: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": doc.get("public_id", doc["_id"]),
        "type": doc["type"],
        "created_at": doc["created_at"],
        "source": doc.get("source"),
        "idempotency_key": doc.get("idempotency_key"),
        "deliveries": len(doc["targets"]),
    }


def _sent_to(row: DeliveryRow) -> FanOut:
    delivery, endpoint = row.delivery, row.endpoint
    return FanOut(
        endpoint_id=delivery.endpoint,
        endpoint=endpoint.name if endpoint else "a removed endpoint",
        delivery_id=delivery.id,
        state=row.word,
        tries=delivery.tries,
        why="endpoint paused" if row.word is Word.HELD else None,
    )


def _why_not(endpoint: Endpoint, event: dict[str, Any]) -> FanOut:
    return FanOut(
        endpoint_id=endpoint.id,
        endpoint=endpoint.name,
        delivery_id=None,
        state=None,
        tries=None,
        why=why_not(endpoint, event["type"], event["created_at"], test=event["trigger"] == "test"),
    )


def why_not(endpoint: Endpoint, event_type: str, accepted_at: datetime, *, test: bool) -> str:
    """Why an endpoint got no delivery of an event, in words."""
    if endpoint.created_at > accepted_at:
        return "registered after this event"
    if test:
        return "this was a test event for another endpoint"
    if not endpoint.wants(event_type):
        return f"not subscribed to {event_type}"
    return "subscribed to it after this event"
