"""What must hold over every step (reliability §1.4, as far as a model can hold it).

I8 needs a receiver and its answers: `test_store_machine.py` holds it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from relay_web.domain.delivery import LIVE, TERMINAL, State
from relay_web.domain.transitions import TRANSITIONS, Actor
from tests.model.machine import Rules, Step, World

Check = Callable[[World, Step, Rules], bool]
_WORDS: Final = [row for row in TRANSITIONS.values() if row.actor is Actor.HOLDER]


def token_rule(before: World, step: Step, _: Rules) -> bool:
    """I1: the token never falls, and goes up by one exactly where the table says so."""
    if step.label == "failover":
        return step.after.local.token >= before.safe.token
    old, new = before.local, step.after.local
    if step.row is None:
        return (old.state, old.token) == (new.state, new.token)
    ends = (old.state, new.state) == (step.row.source, step.row.target)
    return ends and new.token == old.token + step.row.bumps


def one_holder(_: World, step: Step, rules: Rules) -> bool:
    """I2: at most one worker passes the holder's guard."""
    local = step.after.local
    owners = [one for one in step.after.workers if one.phase in ("holding", "sending", "telling")]
    passing = [one for one in owners if any(rules.holds(local, one, row) for row in _WORDS)]
    return len(passing) <= 1


def no_stale_write(before: World, step: Step, _: Rules) -> bool:
    """I3: a holder's word is taken only from the lease that is the delivery's."""
    if step.row is None or step.row.actor is not Actor.HOLDER or step.by is None:
        return True
    return step.by.lease == before.local.lease


def what_is_stored_stays(before: World, step: Step, _: Rules) -> bool:
    """I4: a delivery that a majority has is there after any failover."""
    return before.safe.state is None or step.after.local.state is not None


def nothing_stuck(_: World, step: Step, __: Rules) -> bool:
    """I5: live is due, or will be by time alone; ended is out of the queue and held by nobody."""
    local = step.after.local
    held = local.lease != 0
    return held is (local.state is State.LEASED) and (local.state in LIVE or not local.due)


def every_send_is_accounted_for(_: World, step: Step, __: Rules) -> bool:
    """I6: what was sent is held, told or lost: never silence."""
    safe = step.after.safe
    held = 1 << safe.lease if safe.lease else 0
    return not step.after.sent & ~(safe.said | safe.lost | held)


def ends_stay_ended(before: World, step: Step, _: Rules) -> bool:
    """I7: only a person brings back what has ended."""
    left = before.local.state in TERMINAL and step.after.local.state is not before.local.state
    by_person = step.row is not None and step.row.actor is Actor.PERSON
    return not left or by_person or step.label == "failover"


def no_send_without_claim(_: World, step: Step, __: Rules) -> bool:
    """I9: no request under a token that a majority has not issued."""
    return step.label != "send" or step.by is None or step.by.token <= step.after.safe.token


def fate_is_true(before: World, step: Step, _: Rules) -> bool:
    """A worker that reads back learns what became of its word."""
    if not step.fate or step.by is None:
        return True
    return (step.fate == "kept") == bool(before.local.said >> step.by.lease & 1)


INVARIANTS: Final[Mapping[str, Check]] = {
    "I1": token_rule,
    "I2": one_holder,
    "I3": no_stale_write,
    "I4": what_is_stored_stays,
    "I5": nothing_stuck,
    "I6": every_send_is_accounted_for,
    "I7": ends_stay_ended,
    "I9": no_send_without_claim,
    "fate": fate_is_true,
}
