"""The delivery state machine, complete, as one table.

A lease decides *when* a delivery may be taken by another worker; the fencing token (`lease_token`)
decides *whose* word counts. The token goes up by one with every change that is not made by the
current holder, and the holder's own writes carry it in their filter. So a worker that was paused
past its lease can cost a duplicate request, never a wrong state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from relay_web.domain.delivery import State


class Actor(StrEnum):
    WEB = "web"  #: accepts and fans out
    WORKER = "worker"  #: any worker, by the queue's rule
    HOLDER = "holder"  #: the worker that holds the lease, by the holder guard
    PERSON = "person"  #: a signed-in member or an API key
    SWEEPER = "sweeper"  #: upkeep, after a crash or a deletion


@dataclass(frozen=True, slots=True)
class Transition:
    """One legal change. `bumps` says whether the fencing token goes up by one."""

    name: str
    source: State | None
    target: State
    actor: Actor
    bumps: bool
    meaning: str


_ROWS: Final = (
    Transition("open", None, State.PENDING, Actor.WEB, False, "event fanned out"),
    Transition("claim", State.PENDING, State.LEASED, Actor.WORKER, True, "due, a slot is free"),
    Transition("reclaim", State.LEASED, State.LEASED, Actor.WORKER, True, "lease ran out"),
    Transition("deliver", State.LEASED, State.DELIVERED, Actor.HOLDER, False, "answered 2xx"),
    Transition("retry later", State.LEASED, State.PENDING, Actor.HOLDER, False, "tries left"),
    Transition("give up", State.LEASED, State.FAILED, Actor.HOLDER, False, "out of tries"),
    Transition("drop held", State.LEASED, State.CANCELLED, Actor.HOLDER, False, "no endpoint"),
    Transition("release", State.LEASED, State.PENDING, Actor.HOLDER, False, "not sent; due now"),
    Transition("cancel waiting", State.PENDING, State.CANCELLED, Actor.PERSON, True, "by hand"),
    Transition("cancel in flight", State.LEASED, State.CANCELLED, Actor.PERSON, True, "by hand"),
    Transition("revive delivered", State.DELIVERED, State.PENDING, Actor.PERSON, True, "again"),
    Transition("revive failed", State.FAILED, State.PENDING, Actor.PERSON, True, "retry"),
    Transition("revive cancelled", State.CANCELLED, State.PENDING, Actor.PERSON, True, "retry"),
    Transition("retry now", State.PENDING, State.PENDING, Actor.PERSON, True, "due at once"),
    Transition("ask while sending", State.LEASED, State.LEASED, Actor.PERSON, False, "then again"),
    Transition("take over", State.LEASED, State.PENDING, Actor.PERSON, True, "lease ended by hand"),
    Transition("drop waiting", State.PENDING, State.CANCELLED, Actor.SWEEPER, True, "no endpoint"),
    Transition("drop in flight", State.LEASED, State.CANCELLED, Actor.SWEEPER, True, "no endpoint"),
)

#: Every legal change by name. `store/deliveries.py` has one write for each and no others.
TRANSITIONS: Final[Mapping[str, Transition]] = MappingProxyType({row.name: row for row in _ROWS})
