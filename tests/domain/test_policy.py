"""Decisions are pure: what an outcome leads to, given the claim and the schedule."""

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from relay_web.domain.causes import Cause
from relay_web.domain.delivery import MAX_UNRESOLVED, Claim
from relay_web.domain.policy import JITTER, MANUAL, Kind, Verdict, decide, poisonous

SCHEDULE = (5.0, 300.0, 1800.0)
CLAIM = Claim(
    "dlv_1", "team_1", "msg_1", "msg_1", "ep_1", "a", 1, "lease", "worker.1",
    datetime(2026, 12, 1, tzinfo=UTC), 0, 0, 1, "schedule", False, 0, None, 0.0,
)  # fmt: skip


def verdict(claim: Claim = CLAIM, *, status: int | None = 500, retry_after: float | None = None,
            cause: Cause | None = Cause.SERVER_ERROR) -> Verdict:  # fmt: skip
    return decide(
        claim,
        status=status,
        cause=cause,
        retry_after=retry_after,
        schedule=SCHEDULE,
        rng=random.Random(7),
    )


@pytest.mark.parametrize("status", [200, 201, 202, 204, 205, 206, 299])
def test_2xx_is_delivered(status: int) -> None:
    assert verdict(status=status, cause=None).kind is Kind.DELIVERED


@pytest.mark.parametrize("done", [0, 1, 2])
def test_each_failure_takes_the_next_step_with_jitter(done: int) -> None:
    got = verdict(replace(CLAIM, tries=done, round_tries=done))
    assert got.kind is Kind.RETRY
    assert SCHEDULE[done] * (1 - JITTER) <= got.delay <= SCHEDULE[done] * (1 + JITTER)
    assert got.rule == f"backoff step {done + 1} of 3"


def test_after_the_last_step_it_gives_up() -> None:
    got = verdict(replace(CLAIM, tries=3, round_tries=3))
    assert (got.kind, got.rule) == (Kind.FAILED, "after 4 attempts")


def test_410_ends_it_and_disables_the_endpoint() -> None:
    got = verdict(status=410, cause=Cause.GONE)
    assert got.kind is Kind.FAILED
    assert got.disable_endpoint


def test_retry_after_only_ever_lengthens_a_wait() -> None:
    assert verdict(status=429, retry_after=120.0).delay == 120.0
    assert verdict(status=503, retry_after=0.0).delay >= SCHEDULE[0] * (1 - JITTER)


@pytest.mark.parametrize("trigger", sorted(MANUAL))
@pytest.mark.parametrize("done", [0, 1, 3])
def test_a_manual_attempt_uses_up_no_step_and_never_ends_the_schedule(
    trigger: str, done: int
) -> None:
    got = verdict(replace(CLAIM, tries=done, round_tries=done, trigger=trigger))
    assert got.kind is Kind.RETRY
    assert not got.counts


def test_a_single_attempt_after_the_end_ends_again() -> None:
    got = verdict(replace(CLAIM, trigger="manual", once=True))
    assert got.kind is Kind.FAILED


def test_poison_is_stopped_after_five_claims_without_a_result() -> None:
    assert not poisonous(replace(CLAIM, unresolved=MAX_UNRESOLVED))
    assert poisonous(replace(CLAIM, unresolved=MAX_UNRESOLVED + 1))
