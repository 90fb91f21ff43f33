"""The state machine with every guard: nothing breaks. With one guard less: something does."""

import sys
from dataclasses import dataclass

import pytest

from relay_web.domain.delivery import State
from relay_web.domain.transitions import TRANSITIONS, Transition
from tests.model.explore import explore
from tests.model.invariants import INVARIANTS
from tests.model.machine import Record, Rules, Worker


def test_no_order_of_events_breaks_an_invariant(capsys: pytest.CaptureFixture[str]) -> None:
    found = explore(Rules(), INVARIANTS)

    with capsys.disabled():
        sys.stderr.write(
            f"\nmodel: {found.states} states, {found.transitions} steps, "
            f"{found.stale} stale writes tried, none accepted\n"
        )
    assert found.broken is None, found.way
    assert found.rows == set(TRANSITIONS)
    assert found.stale > 0


@dataclass(frozen=True)
class TokenAlone(Rules):
    """The holder guard without the lease id, over claims that no majority confirmed."""

    claims_by_majority = False

    def holds(self, record: Record, worker: Worker, row: Transition) -> bool:
        return record.state is row.source and record.token == worker.token


@dataclass(frozen=True)
class UnguardedRelease(Rules):
    """A release by id and state alone."""

    def holds(self, record: Record, worker: Worker, row: Transition) -> bool:
        if row.name == "release":
            return record.state is row.source
        return super().holds(record, worker, row)


@dataclass(frozen=True)
class RetryFromSnapshot(Rules):
    """A retry that writes what follows from what was read, whatever is there by now."""

    acts_on_memory = True

    def may_act(self, record: Record, looked: tuple[State, int], row: Transition) -> bool:
        return row.name.startswith("revive") or super().may_act(record, looked, row)


@dataclass(frozen=True)
class SuccessAfterCancel(Rules):
    """A success that is taken although the delivery was cancelled meanwhile."""

    def holds(self, record: Record, worker: Worker, row: Transition) -> bool:
        late = row.name == "deliver" and record.state is State.CANCELLED
        return late or super().holds(record, worker, row)


MUTANTS = [
    (TokenAlone(), "I2"),
    (TokenAlone(), "I3"),
    (TokenAlone(), "I9"),
    (UnguardedRelease(), "I3"),
    (RetryFromSnapshot(), "I1"),
    (SuccessAfterCancel(), "I7"),
]


@pytest.mark.parametrize(
    ("rules", "invariant"),
    MUTANTS,
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_missing_guard_is_found(rules: Rules, invariant: str) -> None:
    found = explore(rules, {invariant: INVARIANTS[invariant]})
    assert found.broken == invariant
    assert len(found.way) < 20
