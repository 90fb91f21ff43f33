"""Sending many again: what a job may be about, which deliveries it leaves alone, and how fast."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from relay_web.domain.delivery import MAX_ATTEMPTS, TERMINAL, Delivery, State, Word
from relay_web.domain.endpoint import Endpoint

#: Sends a second to an endpoint that has no limit, where none is chosen: what has just come back
#: is not flooded, and a stop has something to stop.
UNLIMITED: Final = 100
#: What "send again" means where no state is named: what ended without being delivered.
UNDELIVERED: Final = frozenset({Word.FAILED, Word.CANCELLED})
#: What failed, whether it has given up or not: the next try may be hours away.
FAILED: Final = frozenset({Word.FAILED, Word.RETRYING})


class Kind(StrEnum):
    """What a job is about."""

    RETRY = "retry"  #: what a filter matches
    FAILED = "failed"  #: what failed at one endpoint since a time
    MISSED = "missed"  #: events since a time that an endpoint wants and never got


class JobState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"  #: by a person; what was queued by then stays queued


class LeftOut(StrEnum):
    """Why a job passes a delivery over."""

    DELIVERED = "delivered"
    HELD = "held"
    REMOVED = "removed"
    SENDING = "sending"
    QUEUED = "queued"
    CAPPED = "capped"
    EXPIRED = "expired"
    CHANGED = "changed"


#: Each reason as it follows a number: "12 delivered already".
REASONS: Final[Mapping[LeftOut, str]] = {
    LeftOut.DELIVERED: "delivered already",
    LeftOut.HELD: "on an endpoint that is paused, suspended or disabled",
    LeftOut.REMOVED: "to an endpoint that was deleted",
    LeftOut.SENDING: "being sent now",
    LeftOut.QUEUED: "waiting for the first attempt already",
    LeftOut.CAPPED: f"after {MAX_ATTEMPTS} attempts, the most there are",
    LeftOut.EXPIRED: "without a payload, past retention",
    LeftOut.CHANGED: "moved on meanwhile",
}


def left_out(
    delivery: Delivery, endpoint: Endpoint | None, *, kept: bool, delivered_too: bool
) -> LeftOut | None:
    """Why a job does not send `delivery` again; None if it does.

    `kept` says whether the payload is still there; `delivered_too` that the job was asked, by
    name, for what arrived already.
    """
    if delivery.state is State.DELIVERED and not delivered_too:
        return LeftOut.DELIVERED
    if endpoint is None or endpoint.deleted_at is not None:
        return LeftOut.REMOVED
    if endpoint.state.holds:
        return LeftOut.HELD
    if delivery.state is State.LEASED:
        return LeftOut.SENDING
    if delivery.state is State.PENDING and not delivery.tries:
        return LeftOut.QUEUED
    if delivery.tries >= MAX_ATTEMPTS:
        return LeftOut.CAPPED
    return LeftOut.EXPIRED if delivery.state in TERMINAL and not kept else None


def pace_of(endpoint: Endpoint, chosen: int | None) -> int:
    """Deliveries a second that a job queues for `endpoint`: never more than its own limit."""
    limit = endpoint.rate_per_second
    if chosen is None:
        return limit or UNLIMITED
    return chosen if limit is None else min(chosen, limit)
