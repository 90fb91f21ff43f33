"""From an outcome to a verdict: a pure decision, the same for the same arguments."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from relay_web.domain.causes import Cause
from relay_web.domain.delivery import MAX_UNRESOLVED, Claim

#: Share by which a delay may be shorter or longer, so that retries of one outage spread out.
JITTER: Final = 0.2


#: Triggers of attempts that a person asked for.
MANUAL: Final = frozenset({"manual", "bulk", "recover"})


class Kind(StrEnum):
    DELIVERED = "delivered"
    RETRY = "retry"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where a delivery goes next. Build it with the names below.

    `delay` is in seconds from the database's now; `rule` says what chose it, for the timeline.
    """

    kind: Kind
    status: int | None = None
    cause: str | None = None
    delay: float = 0.0
    rule: str = ""
    #: Whether this result uses up one step of the automatic schedule.
    counts: bool = True
    disable_endpoint: bool = False
    #: Whether a request was made: only then is it a try.
    sent: bool = True

    @classmethod
    def delivered(cls, status: int) -> "Verdict":
        return cls(Kind.DELIVERED, status)

    @classmethod
    def retry(
        cls, status: int | None, cause: str | None, delay: float, rule: str, *, counts: bool = True
    ) -> "Verdict":
        return cls(Kind.RETRY, status, cause, delay, rule, counts)

    @classmethod
    def failed(
        cls, status: int | None, cause: str | None, rule: str, *, disable_endpoint: bool = False
    ) -> "Verdict":
        return cls(Kind.FAILED, status, cause, 0.0, rule, True, disable_endpoint)

    @classmethod
    def unsent(cls, kind: "Kind", cause: str | None, rule: str) -> "Verdict":
        """An end without a request: poison, payload gone, endpoint deleted."""
        return cls(kind, None, cause, rule=rule, counts=False, sent=False)

    @classmethod
    def release(cls, rule: str, *, delay: float = 0.0) -> "Verdict":
        return cls(Kind.RELEASE, delay=delay, rule=rule, counts=False, sent=False)


def decide(
    claim: Claim,
    *,
    status: int | None,
    cause: Cause | None,
    retry_after: float | None,
    schedule: Sequence[float],
    rng: random.Random,
) -> Verdict:
    """The verdict on one finished attempt of `claim`.

    `schedule` holds the delays in seconds between tries, so there are `len(schedule) + 1` tries.
    `retry_after` (seconds, already clamped to a day) can only make a wait longer. A manual attempt
    uses up no step: it neither shortens nor ends the automatic schedule.
    """
    if cause is None and status is not None and 200 <= status < 300:
        return Verdict.delivered(status)
    if status == 410:
        return Verdict.failed(status, cause, "answered 410 Gone", disable_endpoint=True)
    if claim.once:
        return Verdict.failed(status, cause, "a single manual attempt; the schedule had ended")
    manual = claim.trigger in MANUAL
    step = claim.round_tries - 1 if manual else claim.round_tries
    if step >= len(schedule):
        return Verdict.failed(status, cause, f"after {claim.tries + 1} attempts")
    delay = schedule[max(step, 0)] * rng.uniform(1 - JITTER, 1 + JITTER)
    if retry_after is not None and retry_after > delay:
        return Verdict.retry(
            status, cause, retry_after, f"Retry-After: {retry_after:.0f} s", counts=not manual
        )
    rule = f"backoff step {max(step, 0) + 1} of {len(schedule)}"
    return Verdict.retry(status, cause, delay, rule, counts=not manual)


def poisonous(claim: Claim) -> bool:
    """Whether too many claims in a row ended without a result (the claim at hand not counted)."""
    return claim.unresolved > MAX_UNRESOLVED
