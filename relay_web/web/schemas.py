"""What the API takes. The same models validate requests and are printed in the OpenAPI document."""

import re
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from relay_web.domain import limits
from relay_web.domain.delivery import Word
from relay_web.domain.event_type import (
    MAX_LENGTH,
    MAX_PATTERNS,
    SUBSCRIPTION_PATTERN,
    TYPE_PATTERN,
    check_type,
)
from relay_web.domain.headers import MAX_HEADERS
from relay_web.errors import Invalid
from relay_web.store.paging import MAX_LIMIT
from relay_web.web.reading import checked

BATCH: Final = 100
#: Never a full stop: it separates the parts of the signed text (reliability G2, B31).
ID_PATTERN: Final = r"^[A-Za-z0-9_-]{1,64}$"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RFC3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def parse_time(text: object, *, field: str) -> datetime:
    """An RFC 3339 time with its zone; raises `Invalid` (reliability B26, B80)."""
    found = None
    if isinstance(text, str) and _RFC3339.fullmatch(text):
        try:
            found = datetime.fromisoformat(text.upper())
            found.timestamp()  # the first and last days of the calendar have no UTC time
        except (ValueError, OverflowError):
            found = None
    if found is None:
        raise Invalid("Use a time with its zone, such as 2026-12-01T14:02:11Z.", field=field)
    return found


def _event_id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise Invalid("Use 1 to 64 letters, digits, _ or -; no full stop, no space.", field="id")
    return text


def _event_time(text: str) -> str:
    parse_time(text, field="timestamp")
    return text


def _source(text: str) -> str:
    return limits.check_line(text, field="source", longest=200)


def _limit(value: object) -> int:
    text = str(value)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MAX_LIMIT:
        raise Invalid(f"Use a limit from 1 to {MAX_LIMIT}.", field="limit")
    return int(text)


def _whole(bounds: tuple[int, int]) -> tuple[BeforeValidator, WithJsonSchema]:
    def check(value: object) -> int:
        return limits.check_whole(value, bounds, field="")

    shape = {"type": "integer", "minimum": bounds[0], "maximum": bounds[1]}
    return BeforeValidator(checked(check)), WithJsonSchema(shape)


def _text(**shape: Any) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", **shape})


EventType = Annotated[
    str,
    AfterValidator(checked(check_type)),
    _text(pattern=TYPE_PATTERN, maxLength=MAX_LENGTH),
]
EventId = Annotated[str, AfterValidator(checked(_event_id)), _text(pattern=ID_PATTERN)]
EventTime = Annotated[str, AfterValidator(checked(_event_time)), _text(format="date-time")]
Source = Annotated[str, AfterValidator(checked(_source)), _text(minLength=1, maxLength=200)]
#: Checked in `engine.registration`, which names the pattern that is wrong.
Patterns = Annotated[
    list[str],
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "string", "pattern": SUBSCRIPTION_PATTERN, "maxLength": MAX_LENGTH},
            "minItems": 1,
            "maxItems": MAX_PATTERNS,
        }
    ),
]
HeaderMap = Annotated[dict[str, str], Field(json_schema_extra={"maxProperties": MAX_HEADERS})]
Url = Annotated[str, _text(format="uri", maxLength=2048)]
Name = Annotated[str, _text(minLength=1, maxLength=limits.NAME)]
Description = Annotated[str, _text(maxLength=limits.DESCRIPTION)]
Rate = Annotated[int, *_whole(limits.RATE)]
InFlight = Annotated[int, *_whole(limits.IN_FLIGHT)]
Schedule = Annotated[list[float], Field(json_schema_extra={"maxItems": limits.RETRIES})]
#: Not strict: JSON has text where Python has an enum.
StateWord = Annotated[Word, Field(strict=False)]
Limit = Annotated[
    int,
    BeforeValidator(checked(_limit)),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}),
]


class Body(BaseModel):
    """Strict: text stays text, an unknown field is refused (reliability B25)."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EventIn(Body):
    """One event. `data` is any JSON value; receivers get it byte for byte as it is sent here."""

    type: EventType
    data: Any
    id: EventId | None = None
    timestamp: EventTime | None = None
    source: Source | None = None


class BatchIn(Body):
    """Up to 100 events, each as for a single publish; none is stored if one is not valid."""

    events: Annotated[list[EventIn], Field(min_length=1, max_length=BATCH)]


class EndpointIn(Body):
    """A new endpoint. What is left out follows the instance's defaults; no types means all."""

    url: Url
    name: Name | None = None
    event_types: Patterns | None = None
    headers: HeaderMap | None = None
    rate_per_second: Rate | None = None
    max_in_flight: InFlight | None = None
    ordered: bool = False
    secret: str | None = None
    ed25519: bool = False
    description: Description | None = None
    retry_schedule: Schedule | None = None


class EndpointPatch(Body):
    """Only what is to change; null puts a field back to its default. `rev` guards a stale edit."""

    url: Url | None = None
    name: Name | None = None
    event_types: Patterns | None = None
    headers: HeaderMap | None = None
    rate_per_second: Rate | None = None
    max_in_flight: InFlight | None = None
    ordered: bool | None = None
    ed25519: bool | None = None
    description: Description | None = None
    retry_schedule: Schedule | None = None
    rev: Annotated[int, Field(ge=0)] | None = None


class RotateIn(Body):
    """`overlap` seconds during which the old secrets also sign; 0 ends them now."""

    overlap: Annotated[int, Field(ge=0, le=7 * 86400)] = 86400
    secret: str | None = None


class TrialIn(Body):
    """A test event for one endpoint, whatever it subscribes to."""

    type: EventType = "relay.test"


class RetryIn(Body):
    """`restart` gives a finished delivery its whole retry schedule again, not one attempt."""

    restart: bool = False


class CancelIn(Body):
    """Takes no fields; an empty object or no body at all."""


class EventTypeIn(Body):
    """An event type of the team; with a JSON Schema, `data` is checked against it at publish."""

    name: EventType
    description: Description = ""
    schema_: Annotated[dict[str, Any] | bool | None, Field(alias="schema")] = None


class Query(BaseModel):
    """Query strings hold text, so numbers are parsed; an unknown parameter is refused."""

    model_config = ConfigDict(extra="forbid")


class PageQuery(Query):
    limit: Limit = 50
    after: str | None = None


class EventsQuery(PageQuery):
    type: EventType | None = None
    since: EventTime | None = None
    until: EventTime | None = None


class DeliveriesQuery(PageQuery):
    state: Word | None = None
    endpoint: str | None = None
    type: EventType | None = None
    cause: str | None = None
    event: str | None = None
    job: str | None = None
    since: EventTime | None = None
    until: EventTime | None = None
