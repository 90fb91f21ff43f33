"""Every row of the transition table against the real database: state, token, and what it leaves."""

import pytest

from relay_web.clock import new_id
from relay_web.domain.delivery import Claim, Delivery, State
from relay_web.domain.policy import Kind, Verdict
from relay_web.domain.transitions import TRANSITIONS, Actor
from relay_web.errors import Conflict, NotFound
from relay_web.store import Store
from relay_web.store.deliveries import Fate, Result
from tests.factories import OTHER_TEAM, again, claim, lapse, make_delivery

RETRY = Verdict.retry(503, "server_error", 300.0, "backoff step 1 of 7")
FAILED = Verdict.failed(500, "server_error", "after 8 attempts")


def commit(store: Store, held: Claim, verdict: Verdict) -> None:
    assert store.deliveries.commit([Result(held, verdict)]) == [Fate.KEPT]


def in_state(store: Store, state: State) -> Delivery:
    """A delivery brought to `state` by the store's own writes."""
    pending = make_delivery(store)
    if state is State.PENDING:
        return pending
    held = claim(store, pending)
    if state is State.DELIVERED:
        commit(store, held, Verdict.delivered(200))
    elif state is State.FAILED:
        commit(store, held, FAILED)
    elif state is State.CANCELLED:
        store.deliveries.cancel(pending.team, pending.id, action_id="a", by="Ana")
    return again(store, pending)


def by_worker(store: Store, before: Delivery) -> None:
    claim(store, before)


def by_thief(store: Store, before: Delivery) -> None:
    lapse(store, before)
    claim(store, before, worker="thief")


def by_holder(verdict: Verdict):  # type: ignore[no-untyped-def]
    def act(store: Store, before: Delivery) -> None:
        assert before.lease is not None
        held = Claim(
            before.id, before.team, before.event, before.webhook_id, before.endpoint, before.type,
            before.lease_token, before.lease.id, before.lease.worker, before.lease.granted_at,
            before.tries, before.round_tries, before.unresolved, before.trigger, before.once,
            len(before.lost), None, 0.0,
        )  # fmt: skip
        commit(store, held, verdict)

    return act


def by_person(name: str):  # type: ignore[no-untyped-def]
    def act(store: Store, before: Delivery) -> None:
        action = getattr(store.deliveries, name)
        action(before.team, before.id, action_id=new_id("act"), by="Ana")

    return act


def by_sweeper(store: Store, before: Delivery) -> None:
    assert store.deliveries.drop(before, why="endpoint deleted")


DOERS = {
    "claim": by_worker,
    "reclaim": by_thief,
    "deliver": by_holder(Verdict.delivered(204)),
    "retry later": by_holder(RETRY),
    "give up": by_holder(FAILED),
    "drop held": by_holder(Verdict.unsent(Kind.CANCELLED, None, "the endpoint was deleted")),
    "release": by_holder(Verdict.release("the worker was stopped")),
    "cancel waiting": by_person("cancel"),
    "cancel in flight": by_person("cancel"),
    "revive delivered": by_person("retry"),
    "revive failed": by_person("retry"),
    "revive cancelled": by_person("retry"),
    "retry now": by_person("retry"),
    "ask while sending": by_person("retry"),
    "take over": by_person("take_over"),
    "drop waiting": by_sweeper,
    "drop in flight": by_sweeper,
}


def test_every_transition_is_tried() -> None:
    assert set(DOERS) == set(TRANSITIONS) - {"open"}


@pytest.mark.parametrize("name", DOERS)
def test_a_transition_moves_state_and_token_as_the_table_says(store: Store, name: str) -> None:
    row = TRANSITIONS[name]
    assert row.source is not None
    before = in_state(store, row.source)

    DOERS[name](store, before)

    after = again(store, before)
    assert after.state is row.target
    assert after.lease_token == before.lease_token + row.bumps
    assert after.rev == before.rev + 1
    # Alive means queued with a date; ended means out of the queue, with an end.
    alive = after.state in (State.PENDING, State.LEASED)
    assert (after.lane == after.endpoint) is alive
    assert (after.due_at is not None) is alive
    assert (after.finished_at is None) is alive
    assert (after.lease is not None) is (after.state is State.LEASED)
    # A lease that ends without its holder's word is kept.
    ended_for_it = row.source is State.LEASED and row.bumps
    assert len(after.lost) == len(before.lost) + ended_for_it
    assert ("expire_at" in _raw(store, after)) is not alive


def _raw(store: Store, delivery: Delivery) -> dict[str, object]:
    doc = store.db.deliveries.find_one({"_id": delivery.id})
    assert doc is not None
    return doc


def test_opening_twice_changes_nothing(store: Store) -> None:
    pending = make_delivery(store)
    as_opened = _raw(store, pending)
    held = claim(store, pending)
    store.deliveries.open([as_opened])
    assert again(store, pending).lease_token == held.lease_token


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("name", ["retry", "cancel", "take_over"])
def test_the_same_action_id_has_one_effect(store: Store, name: str, state: State) -> None:
    before = in_state(store, state)
    action = getattr(store.deliveries, name)
    try:
        first = action(before.team, before.id, action_id="once", by="Ana")
    except Conflict:
        assert again(store, before) == before
        return
    second = action(before.team, before.id, action_id="once", by="Ana")
    assert second.kind == "already"
    assert second.delivery == first.delivery


@pytest.mark.parametrize("name", ["retry", "cancel", "take_over"])
def test_another_team_can_do_nothing(store: Store, name: str) -> None:
    before = make_delivery(store)
    with pytest.raises(NotFound):
        getattr(store.deliveries, name)(OTHER_TEAM, before.id, action_id="x", by="Eve")
    assert again(store, before) == before


def test_a_manual_attempt_neither_uses_nor_ends_the_schedule(store: Store) -> None:
    held = claim(store, make_delivery(store))
    commit(store, held, RETRY)
    store.deliveries.retry(held.team, held.delivery, action_id="now", by="Ana")

    (manual,) = store.deliveries.claim([held.delivery], worker="w", lease=30)

    assert (manual.trigger, manual.tries, manual.round_tries) == ("manual", 1, 1)


def test_a_retry_asked_for_while_sending_follows_a_failure_at_once(store: Store) -> None:
    for verdict in (RETRY, FAILED):
        held = claim(store, make_delivery(store))
        asked = store.deliveries.retry(held.team, held.delivery, action_id="now", by="Ana")
        assert asked.kind == "asked"

        commit(store, held, verdict)

        assert store.deliveries.claim([held.delivery], worker="w", lease=30)


def test_a_retry_asked_for_while_sending_is_forgotten_after_success(store: Store) -> None:
    held = claim(store, make_delivery(store))
    store.deliveries.retry(held.team, held.delivery, action_id="now", by="Ana")

    commit(store, held, Verdict.delivered(200))

    assert store.deliveries.get(held.team, held.delivery).state is State.DELIVERED
    assert store.deliveries.claim([held.delivery], worker="w", lease=30) == []


def test_an_ordered_lane_has_one_slot_until_its_holder_ends(store: Store) -> None:
    first = make_delivery(store)
    second = make_delivery(store, store.endpoints.get(first.team, first.endpoint))
    take = store.deliveries.claim
    (held,) = take([first.id], worker="w", lease=30, ordered=True)
    assert take([second.id], worker="w", lease=30, ordered=True) == []

    # A failed one holds the lane between its tries, too.
    commit(store, held, RETRY)
    assert take([second.id], worker="w", lease=30, ordered=True) == []

    store.deliveries.cancel(first.team, first.id, action_id="c", by="Ana")
    assert len(take([second.id], worker="w", lease=30, ordered=True)) == 1


def test_who_may_do_what_is_written_down_for_each_transition() -> None:
    """Only a change that its holder makes leaves the token, and one that changes no hands."""
    for row in TRANSITIONS.values():
        stays = row.actor is Actor.HOLDER or row.name in ("open", "ask while sending")
        assert row.bumps is not stays
