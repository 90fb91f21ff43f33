"""Both orders of every race of a person's action against a holder's word, and against a reclaim.

A person's action is a look and a compare-and-set; a reclaim is an update and a look at what it got.
Their rival is let in before, between and after, at an exact command, by a listener that makes one
thread wait for the other. However they meet, it ends as if one had come after the other.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pymongo
import pymongo.monitoring
import pytest

from relay_web.clock import new_id
from relay_web.domain.delivery import Claim, Delivery, State
from relay_web.domain.policy import Kind, Verdict
from relay_web.errors import Conflict
from relay_web.store import Store
from relay_web.store.deliveries import Fate, Result
from tests.factories import again, claim, lapse, make_delivery

#: Seconds after which a thread that waits for the other one is a failure of the test.
STUCK = 20.0


class Gate(pymongo.monitoring.CommandListener):
    """Holds one thread's `nth` command of a kind on `deliveries` until its rival has finished."""

    def __init__(self) -> None:
        self._held: tuple[int, str] | None = None
        self.reached, self.opened = threading.Event(), threading.Event()

    def hold(self, command: str) -> None:
        """From now on, the calling thread's next such command waits for `opened`."""
        self._held = threading.get_ident(), command
        self.reached.clear()
        self.opened.clear()

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        on_deliveries = event.command.get(event.command_name) == "deliveries"
        if on_deliveries and (threading.get_ident(), event.command_name) == self._held:
            self._held = None
            self.reached.set()
            assert self.opened.wait(STUCK)

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None: ...


@dataclass
class Arena:
    """A store whose commands can be held, and the one that the rival uses."""

    gated: Store
    store: Store
    gate: Gate

    def meet(self, held: Callable[[Store], None], rival: Callable[[Store], None], at: str) -> None:
        """Run `held` up to its command `at`, then all of `rival`, then the rest of `held`."""
        problems: list[BaseException] = []

        def run() -> None:
            try:
                self.gate.hold(at)
                held(self.gated)
            except BaseException as problem:
                problems.append(problem)
                self.gate.reached.set()

        thread = threading.Thread(target=run)
        thread.start()
        assert self.gate.reached.wait(STUCK)
        rival(self.store)
        self.gate.opened.set()
        thread.join(STUCK)
        assert not thread.is_alive()
        assert not problems, problems


@pytest.fixture
def arena(store: Store, mongo_uri: str) -> Iterator[Arena]:
    gate = Gate()
    client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
        mongo_uri, tz_aware=True, event_listeners=[gate]
    )
    yield Arena(Store(client, store.db.name), store, gate)
    client.close()


@dataclass
class Case:
    """One delivery that is held under a lease, and what was said about it."""

    delivery: Delivery
    claim: Claim
    fate: Fate | None = None
    got: tuple[Claim, ...] = ()
    refused: bool = False


Move = Callable[[Store, Case], None]


def by_person(name: str) -> Move:
    def act(store: Store, case: Case) -> None:
        action = getattr(store.deliveries, name)
        try:
            action(case.delivery.team, case.delivery.id, action_id=new_id("act"), by="Ana")
        except Conflict:
            case.refused = True

    return act


def drop(store: Store, case: Case) -> None:
    """As upkeep does: look, then write what was seen."""
    before = again(store, case.delivery)
    live = before.state in (State.PENDING, State.LEASED)
    case.refused = not (live and store.deliveries.drop(before, why="endpoint deleted"))


def says(verdict: Verdict) -> Move:
    def commit(store: Store, case: Case) -> None:
        (case.fate,) = store.deliveries.commit([Result(case.claim, verdict)])

    return commit


def reclaim(store: Store, case: Case) -> None:
    case.got = tuple(store.deliveries.claim([case.delivery.id], worker="thief", lease=30.0))


ACTIONS: dict[str, Move] = {
    "retry": by_person("retry"),
    "cancel": by_person("cancel"),
    "take over": by_person("take_over"),
    "drop": drop,
}
RIVALS: dict[str, Move] = {
    "delivered": says(Verdict.delivered(200)),
    "retry later": says(Verdict.retry(503, "server_error", 300.0, "backoff step 1 of 7")),
    "failed": says(Verdict.failed(500, "server_error", "after 8 attempts")),
    "dropped": says(Verdict.unsent(Kind.CANCELLED, None, "the endpoint was deleted")),
    "release": says(Verdict.release("the worker was stopped")),
    "reclaim": reclaim,
}
PAIRS = [
    pytest.param(action, rival, id=f"{action} against {rival}")
    for action, rival in product(ACTIONS, RIVALS)
]


def held(store: Store, rival: str) -> Case:
    """A delivery under a lease; one that has run out, where the rival is a reclaim."""
    delivery = make_delivery(store)
    mine = claim(store, delivery)
    if rival == "reclaim":
        lapse(store, mine)
    return Case(delivery, mine)


def outcome(store: Store, case: Case) -> dict[str, object]:
    """What two runs of the same two moves in the same order have in common."""
    now = again(store, case.delivery)
    alive = now.state in (State.PENDING, State.LEASED)
    assert (now.lane is not None, now.due_at is not None) == (alive, alive)
    assert (now.lease is not None) is (now.state is State.LEASED)
    return {
        "state": now.state,
        "token": now.lease_token,
        "holder": now.lease and now.lease.worker,
        "lost": [(loss.token, loss.worker, loss.why) for loss in now.lost],
        "tries": (now.tries, now.round_tries, now.unresolved),
        "due": now.due_at is not None and now.due_at <= store.now(),
        "told": (now.trigger, now.once, now.retry_now),
        "actions": [(action.kind, action.token) for action in now.actions],
        "rev": now.rev,
        "answers": (case.fate, case.refused, [one.lease_token for one in case.got]),
    }


def one_after_the_other(store: Store, rival: str, *moves: Move) -> dict[str, object]:
    case = held(store, rival)
    for move in moves:
        move(store, case)
    return outcome(store, case)


@pytest.mark.parametrize(("action", "rival"), PAIRS)
def test_a_rival_between_a_persons_look_and_write_came_first(
    arena: Arena, action: str, rival: str
) -> None:
    act, against = ACTIONS[action], RIVALS[rival]
    case = held(arena.store, rival)

    arena.meet(lambda gated: act(gated, case), lambda store: against(store, case), at="update")

    found = outcome(arena.store, case)
    if action == "drop":  # upkeep does not look again; its next round does
        assert found["answers"] == (case.fate, True, [one.lease_token for one in case.got])
        assert found["actions"] == []
    else:
        assert found == one_after_the_other(arena.store, rival, against, act)


@pytest.mark.parametrize(("action", "rival"), PAIRS)
def test_an_action_just_before_a_rivals_write_came_first(
    arena: Arena, action: str, rival: str
) -> None:
    act, against = ACTIONS[action], RIVALS[rival]
    case = held(arena.store, rival)

    arena.meet(lambda gated: against(gated, case), lambda store: act(store, case), at="update")

    assert outcome(arena.store, case) == one_after_the_other(arena.store, rival, act, against)


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_between_a_reclaim_and_its_answer_is_seen_in_the_answer(
    arena: Arena, action: str
) -> None:
    """The claim is what the second read finds under its lease id, not what the update counted."""
    case = held(arena.store, "reclaim")

    arena.meet(
        lambda gated: reclaim(gated, case),
        lambda store: ACTIONS[action](store, case),
        at="find",
    )

    now = again(arena.store, case.delivery)
    kept = action == "retry"  # asking for another attempt leaves the holder its right
    assert now.lease_token == 2 + (not kept)
    assert [one.lease_token for one in case.got] == [2] * kept
    assert (now.state is State.LEASED) is kept


@pytest.mark.parametrize(("action", "rival"), PAIRS)
def test_started_together_they_end_as_one_order_or_the_other(
    store: Store, action: str, rival: str
) -> None:
    act, against = ACTIONS[action], RIVALS[rival]
    orders = [
        one_after_the_other(store, rival, act, against),
        one_after_the_other(store, rival, against, act),
    ]
    case, start = held(store, rival), threading.Barrier(2, timeout=STUCK)

    def run(move: Move) -> None:
        start.wait()
        move(store, case)

    threads = [threading.Thread(target=run, args=(move,)) for move in (act, against)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(STUCK)

    found = outcome(store, case)
    if action == "drop" and found["actions"] == []:
        return  # it had looked before, and was refused
    if rival == "reclaim" and found["state"] is not State.LEASED:
        # The action may also have come between the claim and its answer.
        for order in (found, *orders):
            del order["answers"]
    assert found in orders


def test_one_worker_that_reports_under_two_leases_at_once_is_told_both_fates(store: Store) -> None:
    """A worker that was frozen may take back its own delivery before it reports."""
    delivery = make_delivery(store)
    first = claim(store, delivery)
    lapse(store, first)
    second = claim(store, delivery)
    failed = Verdict.failed(500, "server_error", "after 8 attempts")

    fates = store.deliveries.commit([Result(first, failed), Result(second, failed)])

    assert fates == [Fate.FENCED, Fate.KEPT]
