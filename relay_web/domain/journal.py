"""What happened to a delivery, in order: drawn up from its document and its attempts.

Nothing keeps a journal of its own. The delivery holds the current lease, the leases that were
lost and what people did; each attempt holds the rest. So the two can never tell different stories.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from relay_web.domain.causes import Cause
from relay_web.domain.delivery import Delivery, Lost, State
from relay_web.domain.lateness import by_then

Doc = dict[str, Any]


class Entry(StrEnum):
    """Kinds of lines, in the order they have when the clock cannot tell two apart."""

    CREATED = "created"
    LOST = "lost"
    ACTION = "action"
    CANCELLED = "cancelled"
    TAKEOVER = "takeover"
    LEASE = "lease"
    ATTEMPT = "attempt"
    FENCED = "fenced"
    DELIVERED = "delivered"
    GAVE_UP = "gave_up"
    WAIT = "wait"


_RANK = {kind: rank for rank, kind in enumerate(Entry)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One HTTP request, or a claim that ended without one. Times are the database's."""

    id: str
    token: int
    lease_id: str
    worker: str
    trigger: str
    number: int
    granted_at: datetime
    started_at: datetime
    ended_at: datetime
    ms: float
    verdict: str
    status: int | None
    cause: Cause | None
    reason: str
    rule: str
    delay: float
    phases: Doc
    request: Doc
    response: Doc | None
    remote_ip: str | None
    tls_version: str | None
    #: False: its worker had lost the lease, so another word counts ("late result fenced off").
    counted: bool

    @property
    def fenced(self) -> bool:
        return not self.counted

    @classmethod
    def from_doc(cls, doc: Doc, delivery: Delivery) -> "Attempt":
        """Read stored evidence; whether it counted follows from the delivery's lost leases."""
        lost = any(
            (loss.token, loss.lease_id) == (doc["token"], doc["lease_id"]) for loss in delivery.lost
        )
        plain = {key: doc[key] for key in cls.__dataclass_fields__ if key in doc}
        cause = Cause(doc["cause"]) if doc["cause"] else None
        return cls(**plain | {"id": doc["_id"], "cause": cause, "counted": not lost})


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One line of the timeline. `until` is set where the line says how long something lasts."""

    at: datetime
    kind: Entry
    title: str
    detail: str = ""
    token: int | None = None
    worker: str | None = None
    attempt: Attempt | None = None
    until: datetime | None = None


def journal(
    delivery: Delivery, attempts: Sequence[Attempt], *, endpoint: str
) -> list[JournalEntry]:
    """Everything known about `delivery`, oldest first. `endpoint` is the name to show."""
    lines = [
        JournalEntry(
            at=delivery.created_at,
            kind=Entry.CREATED,
            title=f"Event accepted, delivery created for {endpoint}",
        )
    ]
    lost = {(loss.token, loss.lease_id): loss for loss in delivery.lost}
    for attempt in attempts:
        late = by_then(lost.get((attempt.token, attempt.lease_id)), delivery, attempts)
        lines += _told(attempt, delivery, late)
    told = {(attempt.token, attempt.lease_id) for attempt in attempts}
    for key, loss in lost.items():
        lines += _ended(loss, silent=key not in told)
    lines += _acts(delivery)
    lines += _now(delivery, attempts)
    return sorted(lines, key=lambda line: (line.at, _RANK[line.kind]))


def _told(attempt: Attempt, delivery: Delivery, late: str) -> Iterator[JournalEntry]:
    common: dict[str, Any] = {"token": attempt.token, "worker": attempt.worker}
    yield _lease(attempt.granted_at, attempt.worker, attempt.token)
    if late:
        yield JournalEntry(
            at=attempt.ended_at,
            kind=Entry.FENCED,
            title="Late result fenced off",
            detail=(
                f"{attempt.worker} reported {attempt.reason} after {_span(attempt.ms)} with token "
                f"{attempt.token}; {late}, so this was not recorded as the outcome. The endpoint "
                f"may have got it twice; every request carried webhook-id {delivery.webhook_id}."
            ),
            attempt=attempt,
            **common,
        )
        return
    yield JournalEntry(
        at=attempt.ended_at,
        kind=Entry.ATTEMPT,
        title=f"Attempt {attempt.number}: {attempt.reason} in {_span(attempt.ms)}",
        detail="" if attempt.trigger == "schedule" else f"Asked for: {attempt.trigger}",
        attempt=attempt,
        **common,
    )
    yield from _followed(attempt, common)


def _followed(attempt: Attempt, common: dict[str, Any]) -> Iterator[JournalEntry]:
    """What a counted attempt led to."""
    if attempt.verdict == "retry":
        until = attempt.ended_at + timedelta(seconds=attempt.delay)
        yield JournalEntry(
            at=attempt.ended_at,
            kind=Entry.WAIT,
            title=f"Waits {_span(attempt.delay * 1000)}",
            detail=attempt.rule,
            until=until,
            **common,
        )
    elif attempt.verdict == "failed":
        yield JournalEntry(
            at=attempt.ended_at,
            kind=Entry.GAVE_UP,
            title="Gave up",
            detail=f"{_sentence(attempt.rule)} Retry now sends it again.",
            **common,
        )
    elif attempt.verdict == "delivered":
        yield JournalEntry(at=attempt.ended_at, kind=Entry.DELIVERED, title="Delivered", **common)


def _ended(loss: Lost, *, silent: bool) -> Iterator[JournalEntry]:
    """The end of a lease without its holder's word; `silent`: nothing was ever reported for it."""
    if silent:
        yield _lease(loss.granted_at, loss.worker, loss.token)
    common: dict[str, Any] = {"at": loss.at, "token": loss.token, "worker": loss.worker}
    outcome = (
        f"Outcome of the attempt under token {loss.token} is unknown; the endpoint may have "
        "received it."
        if silent
        else ""
    )
    if loss.why == "expired":
        yield JournalEntry(
            kind=Entry.LOST,
            title=f"{loss.worker} lost the lease: it ran out without a result",
            detail=outcome,
            **common,
        )
    yield JournalEntry(
        kind=Entry.TAKEOVER if loss.why != "cancelled" else Entry.CANCELLED,
        title=f"Token {loss.token} no longer counts ({loss.why})",
        detail="" if loss.why == "expired" else outcome,
        **common,
    )


def _acts(delivery: Delivery) -> Iterator[JournalEntry]:
    for action in delivery.actions:
        cancelled = action.kind == "cancel"
        yield JournalEntry(
            at=action.at,
            kind=Entry.CANCELLED if cancelled else Entry.ACTION,
            title=f"{action.kind.capitalize()} by {action.by}",
            token=action.token,
        )


def _now(delivery: Delivery, attempts: Sequence[Attempt]) -> Iterator[JournalEntry]:
    reported = {attempt.lease_id for attempt in attempts}
    lease, last = delivery.lease, delivery.last
    if delivery.state is State.LEASED and lease is not None and lease.id not in reported:
        yield _lease(lease.granted_at, lease.worker, delivery.lease_token, delivery.due_at)
    # An end without a request leaves no attempt; the rule of its outcome is all there is.
    ends = {
        State.FAILED: (Entry.GAVE_UP, "Gave up"),
        State.CANCELLED: (Entry.CANCELLED, "Cancelled"),
    }
    if delivery.state in ends and last is not None and last.lease_id not in reported:
        kind, title = ends[delivery.state]
        yield JournalEntry(at=last.at, kind=kind, title=title, detail=_sentence(last.rule))


def _lease(at: datetime, worker: str, token: int, until: datetime | None = None) -> JournalEntry:
    return JournalEntry(
        at=at,
        kind=Entry.LEASE,
        title=f"{worker} took the lease",
        detail=f"token {token}",
        token=token,
        worker=worker,
        until=until,
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _span(ms: float) -> str:
    """A length of time for people: `812 ms`, `41.2 s`, `5 min`, `2 h 10 min`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
