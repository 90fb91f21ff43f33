"""A delivery, the claim on one, and the words people read for its state."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

Doc = dict[str, Any]

#: A delivery keeps no more attempts than this; a person cannot retry past it (reliability B87).
MAX_ATTEMPTS: Final = 200
#: Claims in a row without a result after which a delivery counts as poison (reliability T8).
MAX_UNRESOLVED: Final = 5


class State(StrEnum):
    PENDING = "pending"  #: waits for `due_at`, then any worker may claim it
    LEASED = "leased"  #: one worker holds it until `due_at`, the end of the lease
    DELIVERED = "delivered"  #: the endpoint answered 2xx
    FAILED = "failed"  #: out of tries, refused for good, or poison; a person may retry it
    CANCELLED = "cancelled"  #: ended by a person or by its endpoint's deletion


LIVE: Final = frozenset({State.PENDING, State.LEASED})
TERMINAL: Final = frozenset({State.DELIVERED, State.FAILED, State.CANCELLED})


class Word(StrEnum):
    """What people read on pages, in the API, in filters and in CSV files."""

    QUEUED = "queued"
    RETRYING = "retrying"
    HELD = "held"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


def screen_word(state: State, *, tries: int, held: bool) -> Word:
    """The one mapping from stored state to screen word; `held` is "its endpoint holds"."""
    if state is State.PENDING:
        if held:
            return Word.HELD
        return Word.RETRYING if tries else Word.QUEUED
    return Word.SENDING if state is State.LEASED else Word(state.value)


@dataclass(frozen=True, slots=True)
class Lease:
    id: str
    worker: str
    granted_at: datetime


@dataclass(frozen=True, slots=True)
class Lost:
    """A lease that ended without its holder's word: `why` is expired, cancelled or taken over."""

    token: int
    worker: str
    lease_id: str
    granted_at: datetime
    at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Last:
    """The last outcome that counted."""

    status: int | None
    cause: str | None
    at: datetime
    lease_id: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What a person did; `token` is the fencing token after it."""

    id: str
    kind: str
    by: str
    at: datetime
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event to one endpoint: the state of record."""

    id: str
    team: str
    event: str
    webhook_id: str
    endpoint: str
    type: str
    state: State
    lane: str | None
    due_at: datetime | None
    lease_token: int
    lease: Lease | None
    tries: int
    round_tries: int
    unresolved: int
    lost: tuple[Lost, ...]
    last: Last | None
    rev: int
    actions: tuple[Action, ...]
    created_at: datetime
    finished_at: datetime | None
    trigger: str
    once: bool
    retry_now: bool

    @classmethod
    def from_doc(cls, doc: Doc) -> "Delivery":
        """Read a stored document; unknown fields of a newer version are left alone."""
        lease, last = doc.get("lease"), doc.get("last")
        return cls(
            id=doc["_id"],
            team=doc["team"],
            event=doc["event"],
            webhook_id=doc["webhook_id"],
            endpoint=doc["endpoint"],
            type=doc["type"],
            state=State(doc["state"]),
            lane=doc.get("lane"),
            due_at=doc.get("due_at"),
            lease_token=doc["lease_token"],
            lease=Lease(lease["id"], lease["worker"], lease["granted_at"]) if lease else None,
            tries=doc["tries"],
            round_tries=doc["round_tries"],
            unresolved=doc["unresolved"],
            lost=tuple(_lost(entry) for entry in doc.get("lost", ())),
            last=_last(last) if last else None,
            rev=doc["rev"],
            actions=tuple(_action(entry) for entry in doc.get("actions", ())),
            created_at=doc["created_at"],
            finished_at=doc.get("finished_at"),
            trigger=doc["trigger"],
            once=doc.get("once", False),
            retry_now=doc.get("retry_now", False),
        )


def _last(entry: Doc) -> Last:
    return Last(
        entry["status"], entry["cause"], entry["at"], entry["lease_id"], entry.get("rule", "")
    )


def _lost(entry: Doc) -> Lost:
    return Lost(
        entry["token"], entry["worker"], entry["lease_id"],
        entry["granted_at"], entry["at"], entry["why"],
    )  # fmt: skip


def _action(entry: Doc) -> Action:
    return Action(entry["id"], entry["kind"], entry["by"], entry["at"], entry["token"])


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to report on one delivery, once. Only the store makes these."""

    delivery: str
    team: str
    event: str
    webhook_id: str
    endpoint: str
    type: str
    lease_token: int
    lease_id: str
    worker: str
    granted_at: datetime
    tries: int
    round_tries: int
    unresolved: int
    trigger: str
    once: bool
    #: Leases of this delivery that ended without a result that counted.
    losses: int
    #: The worker whose lease had run out and was ended by this claim, or None.
    taken_from: str | None
    #: CLOCK_BOOTTIME second at which the lease must be taken as over: counted from *before* the
    #: claim was asked for, on the clock that also runs during suspend (reliability §1.5 B).
    ends: float

    @property
    def number(self) -> int:
        """Which attempt this is, from one: no two leases that sent share a number."""
        return self.tries + self.losses + 1


def delivery_stem(event: str) -> str:
    """What the ids of all deliveries of an event, and of their attempts, begin with."""
    return f"dlv_{event.partition('_')[2]}"


def delivery_id(event: str, endpoint: str) -> str:
    """The id of an event's delivery to an endpoint: the same pair always gives the same id.

    Both tails have a fixed length, so two pairs never share one; the event's comes first, so ids
    sort by acceptance. A fan-out that runs twice therefore inserts nothing twice.
    """
    return f"{delivery_stem(event)}{endpoint.partition('_')[2]}"
