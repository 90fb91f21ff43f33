"""Why a delivery is not being sent: decided here for the scheduler, and told to people."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from relay_web.domain import ramp
from relay_web.domain.delivery import Delivery, State
from relay_web.domain.endpoint import Endpoint


class Reason(StrEnum):
    HELD_BY_WORKER = "held_by_worker"
    ENDPOINT_DELETED = "endpoint_deleted"
    ENDPOINT_HELD = "endpoint_held"
    SECRET_UNREADABLE = "secret_unreadable"
    BACKOFF = "backoff"
    COOLING_DOWN = "cooling_down"
    IN_ORDER = "in_order"
    RATE_LIMIT = "rate_limit"
    IN_FLIGHT_LIMIT = "in_flight_limit"
    NO_WORKER = "no_worker"
    NEXT_SLOT = "next_slot"


@dataclass(frozen=True, slots=True)
class Wait:
    """Why it waits, in words, and until when where that is known."""

    reason: Reason
    sentence: str
    until: datetime | None = None


def endpoint_hold(endpoint: Endpoint, *, now: datetime, readable: bool = True) -> Wait | None:
    """What keeps everything of this endpoint from being sent at `now`, or None.

    The scheduler passes over a lane for exactly this; `readable` says whether its secrets can be
    opened with the keys at hand.
    """
    if endpoint.state.holds:
        since = f"{endpoint.state_since:%Y-%m-%d %H:%M} UTC"
        return Wait(
            Reason.ENDPOINT_HELD,
            f"Endpoint {endpoint.state.value} since {since}: held, not lost. Resume sends it.",
        )
    if not readable:
        return Wait(
            Reason.SECRET_UNREADABLE,
            "Its signing secret cannot be decrypted with RELAY_SECRETS_KEY: held until the key "
            "that sealed it is back.",
        )
    if endpoint.cool_until is not None and endpoint.cool_until > now:
        return Wait(
            Reason.COOLING_DOWN,
            "The endpoint said it is busy several times in a row; Relay leaves it alone until "
            f"{endpoint.cool_until:%H:%M:%S} UTC.",
            endpoint.cool_until,
        )
    return None


def why(
    delivery: Delivery,
    endpoint: Endpoint | None,
    *,
    now: datetime,
    workers: int,
    tries: int,
    readable: bool = True,
) -> Wait | None:
    """Why `delivery` has not been sent, or None when it has ended.

    `workers` is how many beat now; `tries` how many automatic attempts its schedule allows.
    """
    if delivery.state is State.LEASED and delivery.lease is not None:
        return Wait(
            Reason.HELD_BY_WORKER,
            f"Held by {delivery.lease.worker} until {delivery.due_at:%H:%M:%S} UTC.",
            delivery.due_at,
        )
    if delivery.state is not State.PENDING or delivery.due_at is None:
        return None
    if endpoint is None or endpoint.deleted_at is not None:
        return Wait(Reason.ENDPOINT_DELETED, "Its endpoint was deleted; Relay will cancel it.")
    if hold := endpoint_hold(endpoint, now=now, readable=readable):
        return hold
    if not workers:
        return Wait(
            Reason.NO_WORKER,
            "No worker has reported lately. Nothing is lost; sending starts when one returns.",
        )
    if delivery.due_at > now:
        return _backoff(delivery, delivery.due_at, tries)
    return _turn(endpoint)


def _backoff(delivery: Delivery, due_at: datetime, tries: int) -> Wait:
    after = ""
    if delivery.last is not None:
        after = f" after {delivery.last.status or delivery.last.cause}"
    number = delivery.round_tries + 1
    return Wait(
        Reason.BACKOFF, f"Retry {number} of {tries} at {due_at:%H:%M:%S} UTC{after}.", due_at
    )


def _turn(endpoint: Endpoint) -> Wait:
    """It is due and nothing stands in its way but its turn."""
    if endpoint.ordered:
        return Wait(
            Reason.IN_ORDER,
            "This endpoint is ordered: it is sent when the ones before it have ended.",
        )
    if (rate := ramp.rate(endpoint)) is not None:
        slowly = "" if endpoint.ramp_step is None else ", slowly at first after a resume"
        return Wait(Reason.RATE_LIMIT, f"Its turn comes at {rate:g} a second{slowly}.")
    if endpoint.max_in_flight is not None:
        most = endpoint.max_in_flight
        return Wait(Reason.IN_FLIGHT_LIMIT, f"At most {most} at a time go to this endpoint.")
    return Wait(Reason.NEXT_SLOT, "Due now: the next free worker slot takes it.")
