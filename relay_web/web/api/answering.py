"""From the store's records to the models that the API answers with."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from relay_web.domain.delivery import Delivery
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.headers import masked
from relay_web.domain.journal import Attempt, JournalEntry
from relay_web.domain.waiting import Wait
from relay_web.store.event_types import EventKind
from relay_web.store.timeline import DeliveryDetail, DeliveryRow
from relay_web.store.workers import Beat
from relay_web.web.answers import (
    AttemptOut,
    DeliveryDetailOut,
    DeliveryOut,
    EndpointCreated,
    EndpointOut,
    EventAttempt,
    EventTypeOut,
    JournalOut,
    SecretOut,
    WaitOut,
    WorkerOut,
)
from relay_web.web.waits import wait_of


def endpoint_out(endpoint: Endpoint) -> EndpointOut:
    return EndpointOut(**_endpoint(endpoint))


def endpoint_created(
    endpoint: Endpoint, secret: str, warnings: Sequence[str] = ()
) -> EndpointCreated:
    return EndpointCreated(**_endpoint(endpoint), secret=secret, warnings=warnings)


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    plain = {
        key: getattr(endpoint, key)
        for key in EndpointOut.model_fields
        if key not in ("headers", "secrets", "public_key")
    }
    secrets = [
        SecretOut(id=each.id, created_at=each.created_at, expires_at=each.expires_at)
        for each in endpoint.secrets
    ]
    return plain | {
        "headers": masked(endpoint.headers),
        "secrets": secrets,
        "public_key": endpoint.key_pair.public if endpoint.key_pair else None,
    }


def delivery_out(row: DeliveryRow | DeliveryDetail) -> DeliveryOut:
    return DeliveryOut(**_delivery(row))


def delivery_detail_out(detail: DeliveryDetail) -> DeliveryDetailOut:
    return DeliveryDetailOut(
        **_delivery(detail),
        attempts=[AttemptOut(**_attempt(attempt)) for attempt in detail.attempts],
        timeline=[_line(entry) for entry in detail.journal],
        waits=_wait(wait_of(detail)),
    )


def _wait(wait: Wait | None) -> WaitOut | None:
    if wait is None:
        return None
    return WaitOut(reason=wait.reason, sentence=wait.sentence, until=wait.until)


def _delivery(row: DeliveryRow | DeliveryDetail) -> dict[str, Any]:
    delivery = row.delivery
    return {
        "id": delivery.id,
        "event_id": delivery.webhook_id,
        "endpoint_id": delivery.endpoint,
        "type": delivery.type,
        "state": row.word,
        "lease_token": delivery.lease_token,
        "tries": delivery.tries,
        "due_at": delivery.due_at,
        "created_at": delivery.created_at,
        "finished_at": delivery.finished_at,
        "last_status": delivery.last.status if delivery.last else None,
        "last_cause": delivery.last.cause if delivery.last else None,
        "trigger": delivery.trigger,
    }


def event_attempt(attempt: Attempt, delivery: Delivery) -> EventAttempt:
    return EventAttempt(**_attempt(attempt), delivery_id=delivery.id, endpoint_id=delivery.endpoint)


def _attempt(attempt: Attempt) -> dict[str, Any]:
    body = (attempt.response or {}).get("body")
    return {
        "token": attempt.token,
        "worker": attempt.worker,
        "trigger": attempt.trigger,
        "status": attempt.status,
        "cause": attempt.cause,
        "reason": attempt.reason,
        "counted": attempt.counted,
        "started_at": attempt.started_at,
        "ms": attempt.ms,
        "response_body": bytes(body).decode("utf-8", "replace") if body is not None else None,
    }


def _line(entry: JournalEntry) -> JournalOut:
    return JournalOut(
        at=entry.at,
        kind=entry.kind,
        title=entry.title,
        detail=entry.detail,
        token=entry.token,
        worker=entry.worker,
    )


def event_type_out(kind: EventKind) -> EventTypeOut:
    return EventTypeOut(
        name=kind.name,
        description=kind.description,
        schema_=kind.schema,
        created_at=kind.created_at,
    )


def worker_out(beat: Beat, now: datetime) -> WorkerOut:
    plain = {key: getattr(beat, key) for key in WorkerOut.model_fields if key != "state"}
    return WorkerOut(**plain, state=beat.health(now))
