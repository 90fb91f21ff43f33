"""Random orders of everything that can be done to deliveries, on the real database.

After each step every delivery is compared with what it was before: it changed by exactly the
transition that was made, or not at all. The words of workers that lost their lease are tried all
along, and none is taken.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run

from relay_web.clock import new_id
from relay_web.domain.delivery import LIVE, TERMINAL, Claim, Delivery, State
from relay_web.domain.policy import Kind, Verdict
from relay_web.domain.transitions import TRANSITIONS, Actor
from relay_web.engine.intake import Intake
from relay_web.errors import Conflict
from relay_web.store import Store
from relay_web.store.deliveries import Acted, Fate, Result
from tests.factories import lapse, make_endpoint, publish
from tests.guard import BY_HAND

Doc = dict[str, Any]

VERDICTS = {
    "delivered": Verdict.delivered(200),
    "retry at once": Verdict.retry(503, "server_error", 0.0, "backoff step 1 of 7"),
    "retry later": Verdict.retry(503, "server_error", 60.0, "backoff step 2 of 7"),
    "failed": Verdict.failed(500, "server_error", "after 8 attempts"),
    "cancelled": Verdict.unsent(Kind.CANCELLED, None, "the endpoint was deleted"),
    "release": Verdict.release("the worker was stopped"),
}
_ROWS = {(row.source, row.target, row.bumps, row.actor) for row in TRANSITIONS.values()}
pick = st.integers(min_value=0, max_value=1000)


@dataclass
class Told:
    """A claim that was ever made, and what is known of its holder's word."""

    claim: Claim
    verdict: Verdict | None = None
    #: Whether the database took it.
    taken: bool = False


class Deliveries(RuleBasedStateMachine):
    """A few deliveries on one endpoint, worked on from all sides."""

    #: Over the whole run: stale words tried, transitions made.
    stale_tried = 0
    made: ClassVar[set[str]] = set()

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        for name in ("deliveries", "attempts", "events", "endpoints"):
            store.db[name].delete_many({}, comment=BY_HAND)
        self.endpoint = make_endpoint(store)
        self.known: dict[str, Delivery] = {}
        #: As published; ids made within one millisecond sort by chance.
        self.order: list[str] = []
        self.claims: list[Told] = []
        self.evidence: dict[str, Doc] = {}
        self.publish()

    @precondition(lambda self: len(self.known) < 3)
    @rule()
    def publish(self) -> None:
        """Accept and fan out; a fan-out that is run again adds nothing."""
        accepted = publish(self.store)
        event = self.store.events.get(self.endpoint.team, accepted.event)
        before = self._stored()
        Intake(self.store).finish([event])
        assert self._stored() == before
        self.order += [key for key in before if key not in self.known]
        self.known = before

    @rule(worker=st.sampled_from(["worker.1", "worker.2", "worker.3"]), only=st.none() | pick)
    def claim(self, worker: str, only: int | None) -> None:
        """Ask for all, or for one: what is not due is not given."""
        asked = self.order if only is None else [self._one(only).id]
        got = self.store.deliveries.claim(asked, worker=worker, lease=30.0)
        assert {one.delivery for one in got} <= set(asked)
        self.claims += map(Told, got)
        self._changed(Actor.WORKER, {one.delivery for one in got})

    @precondition(lambda self: self.claims)
    @rule(which=pick, verdict=st.sampled_from(sorted(VERDICTS)))
    def commit(self, which: int, verdict: str) -> None:
        """The word of any claim ever made: current, late, or a repeat after a lost reply."""
        told = self.claims[-1 - which % len(self.claims)]
        told.verdict = told.verdict or VERDICTS[verdict]
        self._commit([told])

    @precondition(lambda self: self.claims)
    @rule(verdict=st.sampled_from(sorted(VERDICTS)))
    def commit_everything(self, verdict: str) -> None:
        """All claims in one group, as a worker that was frozen for long would."""
        for told in self.claims:
            told.verdict = told.verdict or VERDICTS[verdict]
        self._commit(self.claims)

    def _commit(self, group: list[Told]) -> None:
        owners = {told.claim.delivery for told in group if self._owns(told)}
        results = [Result(told.claim, told.verdict) for told in group if told.verdict]
        self.store.attempts.record([_attempt(one) for one in results if one.verdict.sent])
        self._see_evidence()
        owning = [self._owns(told) for told in group]
        fates = self.store.deliveries.commit(results)
        for told, owned, fate in zip(group, owning, fates, strict=True):
            told.taken |= owned
            type(self).stale_tried += not told.taken
            assert fate is (Fate.KEPT if told.taken else Fate.FENCED)
        self._changed(Actor.HOLDER, owners)

    def _see_evidence(self) -> None:
        """I6: at most one attempt under a token, and none changes or vanishes."""
        now = {doc["_id"]: doc for doc in self.store.db.attempts.find()}
        assert all(now.get(key) == doc for key, doc in self.evidence.items())
        assert len({(doc["delivery"], doc["token"]) for doc in now.values()}) == len(now)
        self.evidence = now

    def _owns(self, told: Told) -> bool:
        now = self.known[told.claim.delivery]
        lease = now.lease
        return lease is not None and (now.lease_token, lease.id) == (
            told.claim.lease_token,
            told.claim.lease_id,
        )

    @precondition(lambda self: any(one.lease for one in self.known.values()))
    @rule(which=pick)
    def run_out(self, which: int) -> None:
        """A lease runs out. That alone takes nobody's word away."""
        leased = [self.known[key] for key in self.order if self.known[key].lease]
        lapse(self.store, leased[which % len(leased)])

    @precondition(lambda self: any(one.lease for one in self.known.values()))
    @rule(which=pick)
    def take_back(self, which: int) -> None:
        """A lease runs out, and another worker has been waiting for that."""
        self.run_out(which)
        self.claim("worker.3", None)

    @rule(which=pick, restart=st.booleans())
    def retry(self, which: int, restart: bool) -> None:
        self._act(which, lambda key, action: self.store.deliveries.retry(
            self.endpoint.team, key, action_id=action, by="Ana", restart=restart
        ))  # fmt: skip

    @rule(which=pick)
    def cancel(self, which: int) -> None:
        self._act(which, lambda key, action: self.store.deliveries.cancel(
            self.endpoint.team, key, action_id=action, by="Ana"
        ))  # fmt: skip

    @rule(which=pick)
    def take_over(self, which: int) -> None:
        self._act(which, lambda key, action: self.store.deliveries.take_over(
            self.endpoint.team, key, action_id=action, by="Ana"
        ))  # fmt: skip

    def _act(self, which: int, act: Callable[[str, str], Acted]) -> None:
        """A person acts, twice by the same press: the second one changes nothing."""
        before = self._one(which)
        action = new_id("act")
        try:
            act(before.id, action)
        except Conflict:
            self._changed(Actor.PERSON, set())
            return
        assert act(before.id, action).kind == "already"
        self._changed(Actor.PERSON, {before.id})

    @rule(which=pick)
    def drop(self, which: int) -> None:
        """Its endpoint was deleted. Upkeep may have looked before it ended."""
        before = self._one(which)
        if before.state in LIVE:
            assert self.store.deliveries.drop(before, why="endpoint deleted")
            assert not self.store.deliveries.drop(before, why="endpoint deleted")
            self._changed(Actor.SWEEPER, {before.id})

    def _one(self, which: int) -> Delivery:
        return self.known[self.order[which % len(self.order)]]

    def _stored(self) -> dict[str, Delivery]:
        self.docs = list(self.store.db.deliveries.find())
        return {doc["_id"]: Delivery.from_doc(doc) for doc in self.docs}

    def _changed(self, actor: Actor, expected: set[str]) -> None:
        """I1, I3, I7: exactly `expected` changed, each by one row that is open to `actor`."""
        now = self._stored()
        moved = {key for key, one in now.items() if one.rev != self.known[key].rev}
        assert moved == expected
        for key in moved:
            old, new = self.known[key], now[key]
            bump = new.lease_token - old.lease_token
            row = (old.state, new.state, bool(bump), actor)
            assert (new.rev - old.rev, bump in (0, 1)) == (1, True)
            assert row in _ROWS
            assert old.state not in TERMINAL or actor is Actor.PERSON
            type(self).made.add(f"{old.state} {new.state} {actor}")
        self.known = now

    @invariant()
    def one_holder(self) -> None:
        """I2: the holder's guard lets at most one claim through."""
        for key in self.known:
            owners = [one for one in self.claims if one.claim.delivery == key and self._owns(one)]
            assert len(owners) <= 1

    @invariant()
    def no_silence(self) -> None:
        """I6: each claim is held, was heard, or is in `lost`, in one of the three only."""
        for told in self.claims:
            lost = [
                loss for loss in self.known[told.claim.delivery].lost
                if (loss.token, loss.lease_id) == (told.claim.lease_token, told.claim.lease_id)
            ]  # fmt: skip
            assert self._owns(told) + told.taken + len(lost) == 1

    @invariant()
    def delivered_was_answered(self) -> None:
        """I8: delivered implies a 2xx under the lease whose word it was."""
        for one in self.known.values():
            if one.state is State.DELIVERED:
                assert one.last is not None
                good = [
                    doc for doc in self.evidence.values()
                    if doc["lease_id"] == one.last.lease_id and doc["status"] == 200
                ]  # fmt: skip
                assert [doc["delivery"] for doc in good].count(one.id) == 1

    @invariant()
    def payload_outlives(self) -> None:
        """I12, and the shape of what is alive: queued, dated, and never on its way out."""
        for doc in self.docs:
            alive = doc["state"] in LIVE
            assert ("expire_at" in doc, "lane" in doc, "due_at" in doc) == (not alive, alive, alive)


def _attempt(result: Result) -> Doc:
    """The evidence of a result, as far as the invariants read it."""
    claim = result.claim
    return {
        "_id": f"{claim.delivery}:{claim.lease_token}",
        "delivery": claim.delivery,
        "token": claim.lease_token,
        "lease_id": claim.lease_id,
        "status": result.verdict.status,
    }


@pytest.mark.timeout(180)
def test_whatever_happens_in_whatever_order_no_stale_word_is_taken(
    store: Store, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    Deliveries.stale_tried, Deliveries.made = 0, set()
    limits = settings(
        max_examples=80,
        stateful_step_count=30,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a failure is told with its steps; shrinking would take minutes
    )
    run(lambda: Deliveries(store), settings=limits)

    seed = request.config.option.hypothesis_seed
    with capsys.disabled():
        sys.stderr.write(
            f"\nstore machine: {Deliveries.stale_tried} stale words tried, none taken; "
            f"{len(Deliveries.made)} kinds of change (seed {seed})\n"
        )
    assert Deliveries.stale_tried > 0
