"""What the API takes about many deliveries at once."""

from typing import Annotated, Literal

from pydantic import Field

from relay_web.web.schemas import Body, EventTime, EventType, Rate, StateWord


class BulkIn(Body):
    """Which deliveries to retry, by the filters of the list; without a state, the undelivered.

    `pace` of them a second are queued for each endpoint, by default as many as its own limit.
    """

    state: Annotated[list[StateWord], Field(min_length=1)] | None = None
    endpoint: str | None = None
    type: EventType | None = None
    cause: str | None = None
    event: str | None = None
    since: EventTime | None = None
    until: EventTime | None = None
    pace: Rate | None = None
    dry_run: bool = False


class RecoverIn(Body):
    """Send again what failed since a time, or with `missed` what was never sent.

    `pace` deliveries a second are queued, by default as many as the endpoint's own limit.
    """

    since: EventTime
    kind: Literal["failed", "missed"] = "failed"
    pace: Rate | None = None
    dry_run: bool = False
