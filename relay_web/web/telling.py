"""What a page says about one delivery: its drawing, its diagnosis, and which buttons make sense.

Everything here follows from what the store read; nothing asks the database again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from relay_web.domain.causes import Cause
from relay_web.domain.delivery import TERMINAL, State, Word
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.explanations import Explanation, explain
from relay_web.domain.journal import Attempt, JournalEntry
from relay_web.store.overview import Problem
from relay_web.store.timeline import DeliveryDetail
from relay_web.web import strip, times
from relay_web.web.words import cause_name

PHASES: Final = (
    ("dns", "name lookup"),
    ("connect", "connect"),
    ("tls", "TLS"),
    ("write", "write"),
    ("wait", "wait for the answer"),
    ("body", "read the answer"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a person may do now. `refused` says why Retry is not possible; empty if it is."""

    refused: str = ""
    #: It was delivered: retrying asks first.
    again: bool = False
    #: It had ended: one may also start the schedule anew.
    restart: bool = False
    cancel: bool = False
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class Phase:
    name: str
    label: str
    ms: float
    x: float
    width: float


def offer(detail: DeliveryDetail, clock: Any) -> Offer:
    """The actions that fit the state; `clock` turns a time into text in the reader's zone."""
    it = detail.delivery
    if it.state is State.LEASED and it.lease and it.due_at:
        left = it.due_at > detail.now
        why = f"In flight on {it.lease.worker} until {clock(it.due_at)}."
        return Offer(
            refused=why if left else "It waits to be taken over.", cancel=True, take_over=True
        )
    refused = ""
    if detail.endpoint is None or detail.endpoint.deleted_at is not None:
        refused = "The endpoint was deleted."
    elif detail.word is Word.HELD:
        refused = "Resume the endpoint first."
    elif detail.event is None:
        refused = "The payload is past retention, so there is nothing to send."
    return Offer(
        refused=refused,
        again=it.state is State.DELIVERED and not refused,
        restart=it.state in (State.FAILED, State.CANCELLED),
        cancel=it.state is State.PENDING,
    )


def diagnosis(detail: DeliveryDetail) -> Explanation | None:
    """Cause and next step for the last failure; None for what is well or was never tried."""
    it = detail.delivery
    if it.state in (State.DELIVERED, State.CANCELLED):
        return None
    attempt = newest(detail)
    if attempt is not None and attempt.cause is not None:
        host = urlsplit(attempt.request.get("url", "")).hostname or "The endpoint"
        return explain(attempt.cause, host=host, status=attempt.status, detail=attempt.reason)
    if it.last is not None and it.last.cause:
        return explain(Cause(it.last.cause), status=it.last.status)
    return explain(Cause.LOST) if it.lost else None


def explained(problem: Problem, endpoint: Endpoint) -> Explanation:
    """The same for many deliveries that fail alike."""
    host = urlsplit(endpoint.url).hostname or endpoint.name
    cause = Cause(problem.cause)
    return explain(cause, host=host, status=problem.status, detail=problem.reason)


def last_answer(detail: DeliveryDetail) -> str:
    """The last counted outcome in a few words: `503 Service Unavailable`, `timed out …`."""
    attempt = newest(detail)
    if attempt is not None:
        return status_text(attempt.status) if attempt.status else attempt.reason
    last = detail.delivery.last
    if last is None:
        return "none"
    return status_text(last.status) if last.status else cause_name(last.cause)


def status_text(status: int) -> str:
    """`503 Service Unavailable`; the number alone where HTTP has no name for it."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def phase_bars(attempt: Attempt) -> list[Phase]:
    """The parts of an attempt that were measured, side by side on 0–100 %, each at least 1 %."""
    known = [
        (name, label, float(attempt.phases.get(f"{name}_ms") or 0.0))
        for name, label in PHASES
        if attempt.phases.get(f"{name}_ms") is not None
    ]
    total = sum(ms for *_, ms in known)
    if not known:
        return []
    shares = [max(1.0, ms / total * 100 if total else 1.0) for *_, ms in known]
    scale, x, bars = 100 / sum(shares), 0.0, []
    for (name, label, ms), share in zip(known, shares, strict=True):
        bars.append(Phase(name, label, ms, round(x, 2), round(share * scale, 2)))
        x += share * scale
    return bars


def drawing(detail: DeliveryDetail) -> strip.Strip:
    """The strip: who held the delivery when, what was sent, where a token stopped counting."""
    it = detail.delivery
    at_rest = it.state in TERMINAL
    spans = [strip.Span(loss.worker, loss.token, loss.granted_at, loss.at) for loss in it.lost]
    lost = {(loss.token, loss.lease_id) for loss in it.lost}
    reported = {(attempt.token, attempt.lease_id) for attempt in detail.attempts}
    spans += [
        strip.Span(attempt.worker, attempt.token, attempt.granted_at, attempt.ended_at)
        for attempt in detail.attempts
        if (attempt.token, attempt.lease_id) not in lost
    ]
    reporters = {attempt.lease_id for attempt in detail.attempts}
    if it.state is State.LEASED and it.lease and it.lease.id not in reporters:
        spans.append(
            strip.Span(it.lease.worker, it.lease_token, it.lease.granted_at, detail.now, open=True)
        )
    works = [_work(attempt) for attempt in detail.attempts]
    works += [
        strip.Work(
            loss.worker, loss.token, loss.granted_at, loss.at, "idle", "lost", "lost", "unknown"
        )
        for loss in it.lost
        if (loss.token, loss.lease_id) not in reported
    ]
    return strip.draw(
        sorted(spans, key=lambda span: span.start),
        works,
        created=it.created_at,
        now=None if at_rest else detail.now,
        due=it.due_at if it.state is State.PENDING and detail.word is not Word.HELD else None,
        fences=[(loss.worker, loss.at) for loss in it.lost],
    )


def _work(attempt: Attempt) -> strip.Work:
    label = str(attempt.status) if attempt.status else cause_name(attempt.cause)
    if attempt.fenced:
        tone, kind, icon = "fence", "fenced", "fenced"
    elif attempt.verdict == "delivered":
        tone, kind, icon = "ok", "plain", "delivered"
    else:
        tone, kind, icon = "bad", "plain", "failed"
    return strip.Work(
        attempt.worker, attempt.token, attempt.started_at, attempt.ended_at, tone, kind, icon, label
    )


def drawing_name(detail: DeliveryDetail) -> str:
    """What is heard for the drawing: `2 attempts, 1 fenced`."""
    count, fenced = len(detail.attempts), sum(attempt.fenced for attempt in detail.attempts)
    silent = len(detail.delivery.lost) - fenced
    told = [f"{count} attempt" + ("" if count == 1 else "s")]
    told += [f"{fenced} fenced"] if fenced else []
    told += [f"{silent} lost"] if silent > 0 else []
    return ", ".join(told)


def outcome_heard(attempt: Attempt) -> str:
    """One sentence for the status region: `Attempt 3: 503 in 812 ms`."""
    took = times.duration(attempt.ms / 1000)
    verdict = " delivered," if attempt.verdict == "delivered" else ":"
    return f"Attempt {attempt.number}{verdict} {attempt.reason} in {took}"


def fingerprint(lines: Sequence[JournalEntry]) -> str:
    """Short mark of some journal lines: a page that holds the same ones needs only what follows."""
    told = "\n".join(f"{line.at} {line.kind} {line.title} {line.detail}" for line in lines)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def pace(detail: DeliveryDetail) -> int:
    """Seconds until the page asks again: 1 while something is sent or due, 10 when that is far."""
    it = detail.delivery
    if it.state is State.LEASED:
        return 1
    if detail.word is Word.HELD or it.due_at is None:
        return 10
    ahead = it.due_at - detail.now
    if ahead <= timedelta(0):
        return 1
    return 2 if ahead < timedelta(seconds=30) else 10


def attempt_limit(schedule: Sequence[float], detail: DeliveryDetail) -> int | None:
    """How many attempts the schedule allows; None once a person has added to them."""
    it = detail.delivery
    return None if it.once or it.tries != it.round_tries else len(schedule) + 1


def newest(detail: DeliveryDetail) -> Attempt | None:
    """The last attempt that counted."""
    counted = [attempt for attempt in detail.attempts if attempt.counted]
    return counted[-1] if counted else None
