"""The fence: a holder's word counts only under the token and the lease id it was given."""

import pytest

from relay_web.domain.delivery import State
from relay_web.domain.policy import Kind, Verdict
from relay_web.store import Store
from relay_web.store.deliveries import Fate, Result
from tests.factories import again, claim, lapse, make_delivery
from tests.guard import BY_HAND

VERDICTS = {
    "delivered": Verdict.delivered(200),
    "retry": Verdict.retry(500, "server_error", 60.0, "backoff step 1 of 7"),
    "failed": Verdict.failed(500, "server_error", "after 8 attempts"),
    "release": Verdict.release("the worker was stopped"),
    "cancelled": Verdict.unsent(Kind.CANCELLED, None, "the endpoint was deleted"),
}


@pytest.mark.parametrize("late", VERDICTS.values(), ids=VERDICTS)
def test_a_worker_that_lost_its_lease_cannot_overwrite_its_successor(
    store: Store, late: Verdict
) -> None:
    # Given a worker that claimed a delivery and then stalled past its lease
    pending = make_delivery(store)
    slow = claim(store, pending, worker="slow")
    lapse(store, slow)

    # And a second worker that took it over
    quick = claim(store, pending, worker="quick")
    assert quick.lease_token == slow.lease_token + 1
    assert quick.number == slow.number + 1
    held = again(store, pending)

    # When the first one wakes up and reports
    assert store.deliveries.commit([Result(slow, late)]) == [Fate.FENCED]

    # Then nothing changed, and the second one's word counts
    assert again(store, pending) == held
    assert store.deliveries.commit([Result(quick, Verdict.delivered(200))]) == [Fate.KEPT]
    after = again(store, pending)
    assert after.state is State.DELIVERED
    assert [(loss.token, loss.worker, loss.why) for loss in after.lost] == [(1, "slow", "expired")]


@pytest.mark.parametrize("late", VERDICTS.values(), ids=VERDICTS)
@pytest.mark.parametrize("first", VERDICTS.values(), ids=VERDICTS)
def test_a_late_word_changes_nothing_after_the_successor_has_committed(
    store: Store, first: Verdict, late: Verdict
) -> None:
    pending = make_delivery(store)
    slow = claim(store, pending, worker="slow")
    lapse(store, slow)
    quick = claim(store, pending, worker="quick")
    assert store.deliveries.commit([Result(quick, first)]) == [Fate.KEPT]
    settled = again(store, pending)

    assert store.deliveries.commit([Result(slow, late)]) == [Fate.FENCED]

    assert again(store, pending) == settled


@pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS)
def test_a_lapsed_lease_that_nobody_took_over_still_counts(store: Store, verdict: Verdict) -> None:
    """The fence is the token, never the time."""
    pending = make_delivery(store)
    held = claim(store, pending)
    lapse(store, held)

    assert store.deliveries.commit([Result(held, verdict)]) == [Fate.KEPT]

    assert again(store, pending).state is not State.LEASED


def test_the_same_token_under_another_lease_id_is_fenced(store: Store) -> None:
    """A failover can roll a claim back and give its token out again (reliability M5)."""
    pending = make_delivery(store)
    ghost = claim(store, pending, worker="ghost")
    store.db.deliveries.replace_one(
        {"_id": pending.id}, _rolled_back(store, pending.id), comment=BY_HAND
    )
    owner = claim(store, pending, worker="owner")
    assert owner.lease_token == ghost.lease_token

    assert store.deliveries.commit([Result(ghost, Verdict.delivered(200))]) == [Fate.FENCED]

    assert again(store, pending).lease.worker == "owner"  # type: ignore[union-attr]


def _rolled_back(store: Store, delivery: str) -> dict[str, object]:
    doc = store.db.deliveries.find_one({"_id": delivery})
    assert doc is not None
    doc |= {"state": "pending", "lease_token": 0, "unresolved": 0, "due_at": doc["created_at"]}
    del doc["lease"]
    return doc


@pytest.mark.parametrize("verdict", VERDICTS.values(), ids=VERDICTS)
def test_a_repeated_commit_is_recognised_as_ours(store: Store, verdict: Verdict) -> None:
    """The reply to the first one may have been lost; writing again must not look like a fence."""
    held = claim(store, make_delivery(store))
    assert store.deliveries.commit([Result(held, verdict)]) == [Fate.KEPT]

    assert store.deliveries.commit([Result(held, verdict)]) == [Fate.KEPT]


def test_a_group_keeps_each_result_apart(store: Store) -> None:
    """One update serves many successes; one lost lease among them fences only itself."""
    deliveries = [make_delivery(store) for _ in range(5)]
    ids = [delivery.id for delivery in deliveries]
    claims = store.deliveries.claim(ids, worker="slow", lease=30.0)
    assert len(claims) == 5
    lapse(store, claims[2])
    store.deliveries.claim([claims[2].delivery], worker="quick", lease=30.0)

    fates = store.deliveries.commit([Result(one, Verdict.delivered(200)) for one in claims])

    assert fates == [Fate.KEPT, Fate.KEPT, Fate.FENCED, Fate.KEPT, Fate.KEPT]
    states = {
        one.delivery: again(store, d).state for one, d in zip(claims, deliveries, strict=True)
    }
    assert list(states.values()).count(State.DELIVERED) == 4


def test_only_what_is_due_can_be_claimed(store: Store) -> None:
    pending = make_delivery(store)
    held = claim(store, pending)
    assert store.deliveries.claim([pending.id], worker="other", lease=30.0) == []

    store.deliveries.commit([Result(held, VERDICTS["retry"])])
    assert store.deliveries.claim([pending.id], worker="other", lease=30.0) == []
    assert again(store, pending).lease_token == 1
