"""What the API answers. Each model builds the JSON and describes it in the OpenAPI document."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field, PlainSerializer, WithJsonSchema

from relay_web.domain.delivery import Word
from relay_web.domain.endpoint import EndpointState
from relay_web.domain.event import iso_millis
from relay_web.domain.waiting import Reason

Item = TypeVar("Item")

Time = Annotated[
    datetime,
    PlainSerializer(iso_millis, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class PageOut(BaseModel, Generic[Item]):
    """One page. `next` goes into `after` for the page behind it; null is the end."""

    items: Sequence[Item]
    next: str | None


class AcceptedOut(BaseModel):
    """The promise: this event reaches each of `deliveries` endpoints at least once."""

    id: str
    type: str
    deliveries: int
    duplicate: bool


class RefusedOut(BaseModel):
    """An event of a batch that clashes with an earlier one: same key or id, other content."""

    status: int
    code: str
    message: str


class BatchOut(BaseModel):
    """One answer for each event, in the order they came."""

    items: Sequence[AcceptedOut | RefusedOut]


class SecretOut(BaseModel):
    """A signing secret without its text. `expires_at`: until when an old one also signs."""

    id: str
    created_at: Time
    expires_at: Time | None


class EndpointOut(BaseModel):
    """One endpoint. Header values that hold credentials are masked."""

    id: str
    url: str
    name: str
    state: EndpointState
    state_since: Time
    state_reason: str | None
    event_types: Sequence[str]
    headers: dict[str, str]
    rate_per_second: int | None
    max_in_flight: int | None
    ordered: bool
    description: str
    retry_schedule: Sequence[float] | None
    secrets: Sequence[SecretOut]
    #: Verifies the `v1a` signatures of an endpoint that asked for Ed25519; `whpk_…`.
    public_key: str | None
    created_at: Time
    rev: int


class EndpointCreated(EndpointOut):
    """The only two answers that show a secret are this one and the rotation's."""

    secret: str
    warnings: Sequence[str] = ()


class AttemptOut(BaseModel):
    """One request. `counted` is false when its worker had lost the lease by then."""

    token: int
    worker: str
    trigger: str
    status: int | None
    cause: str | None
    reason: str
    counted: bool
    started_at: Time
    ms: float
    response_body: str | None


class JournalOut(BaseModel):
    """One line of the timeline."""

    at: Time
    kind: str
    title: str
    detail: str
    token: int | None
    worker: str | None


class DeliveryOut(BaseModel):
    """One event on its way to one endpoint."""

    id: str
    event_id: str
    endpoint_id: str
    type: str
    state: Word
    lease_token: int
    tries: int
    due_at: Time | None
    created_at: Time
    finished_at: Time | None
    last_status: int | None
    last_cause: str | None
    trigger: str


class WaitOut(BaseModel):
    """Why it has not been sent yet, and until when where that is known."""

    reason: Reason
    sentence: str
    until: Time | None


class DeliveryDetailOut(DeliveryOut):
    waits: WaitOut | None
    attempts: Sequence[AttemptOut]
    timeline: Sequence[JournalOut]


class ActedOut(BaseModel):
    """`outcome`: `done`; `already` for a repeated request; `in_flight` if it is being sent now."""

    outcome: str
    message: str
    delivery: DeliveryOut


class ResentOut(BaseModel):
    """What was sent again: so many matched, so many are retried now."""

    matched: int
    retried: int


class FanOut(BaseModel):
    """One endpoint's share in an event: its delivery, or why there is none."""

    endpoint_id: str
    endpoint: str
    delivery_id: str | None
    state: Word | None
    tries: int | None
    why: str | None


class EventOut(BaseModel):
    id: str
    type: str
    created_at: Time
    source: str | None
    idempotency_key: str | None
    deliveries: int


class EventDetailOut(EventOut):
    """`body` is the exact text that is signed and sent; null once retention has removed it."""

    body: str | None
    fanout: Sequence[FanOut]


class EventAttempt(AttemptOut):
    delivery_id: str
    endpoint_id: str


class EventTypeOut(BaseModel):
    name: str
    description: str
    schema_: Annotated[dict[str, Any] | bool | None, Field(serialization_alias="schema")]
    created_at: Time


class WorkerOut(BaseModel):
    name: str
    state: str
    version: str
    started_at: Time
    beat_at: Time
    slots: int
    in_flight: int
    stall_ms: float
    clock_offset_ms: float


class ProblemOut(BaseModel):
    """RFC 9457. `message` (and `detail`, the same) is one sentence that says what to do."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    message: str
    request_id: str
    field: str | None = None
