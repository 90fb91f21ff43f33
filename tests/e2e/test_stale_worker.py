"""The stale worker, with real processes: past its lease, it cannot change what its successor wrote.

Each test runs its story twenty times, on twenty endpoints at once.
"""

import pytest

from relay_web.domain.delivery import Delivery, State
from relay_web.domain.journal import Entry
from tests.e2e.gate import Gate
from tests.e2e.held import Held
from tests.e2e.stage import LEASE, Stage, Worker
from tests.e2e.waiting import SOON, eventually
from tests.receiver import answer

RUNS = 20


def _start_a_worker_whose_requests_hang(stage: Stage, successor: int, **settings: str) -> tuple[Worker, Held]:
    """Worker A has sent one request to each endpoint; whoever sends again is answered `successor`."""
    held = Held()
    for run in range(RUNS):
        stage.receiver.script(f"/run/{run}", held, answer(successor))
        stage.publish(to=stage.endpoint(f"/run/{run}"))
    worker = stage.worker(RELAY_CONCURRENCY="40", **settings)
    stage.receiver.wait(RUNS, within=SOON)
    return worker, held


def test_a_worker_that_was_stopped_past_its_lease_changes_nothing(stage: Stage) -> None:
    # Given worker A, which stops running while its requests are under way
    slow, held = _start_a_worker_whose_requests_hang(stage, 200)
    slow.process.freeze()

    # When its leases run out, and worker B claims, delivers and commits
    quick = stage.worker(RELAY_CONCURRENCY="40")
    stage.settled(delivered=RUNS, within=LEASE + SOON)
    before = stage.deliveries()

    # And A comes back, answered at last, but out of time
    held.release(200)
    slow.process.thaw()
    _reports_everything(stage, slow)

    # Then every delivery is still what B made of it, nobody sends again, and the timeline shows it
    assert stage.deliveries() == before
    assert len(stage.receiver.requests()) == 2 * RUNS
    for delivery in before:
        assert delivery.state is State.DELIVERED
        _was_sent_twice(stage, delivery)
        _tells_both_stories(stage, delivery, slow, quick, [Entry.ATTEMPT, Entry.DELIVERED])


@pytest.mark.parametrize(
    ("late", "successor", "state", "end"),
    [
        (500, 200, State.DELIVERED, [Entry.ATTEMPT, Entry.DELIVERED]),
        (200, 500, State.PENDING, [Entry.ATTEMPT, Entry.WAIT]),
    ],
    ids=["late failure", "late success"],
)
def test_an_answer_in_hand_is_worth_nothing_once_the_lease_is_lost(
    stage: Stage, late: int, successor: int, state: State, end: list[Entry]
) -> None:
    with Gate(stage.settings["MONGODB_URI"]) as gate:
        # Given worker A, which is cut off from the database, gets its answers, and then stops
        slow, held = _start_a_worker_whose_requests_hang(
            stage, successor, MONGODB_URI=gate.uri, RELAY_SEND_DEADLINE="3s", RELAY_LEASE="10s"
        )
        gate.shut()
        held.release(late)
        eventually(lambda: "commit.waiting" in slow.process.output(), "A cannot write its results")
        slow.process.freeze()

        # When worker B takes over and commits what it heard
        quick = stage.worker(RELAY_CONCURRENCY="40", RELAY_RETRY_SCHEDULE="1h")
        stage.settled(**{state.value: RUNS}, within=10 + SOON)
        before = stage.deliveries()

        # And A comes back, and with it everything that it had sent to the database
        gate.open()
        slow.process.thaw()
        _reports_everything(stage, slow)

    # Then B's word stands
    assert stage.deliveries() == before
    assert stage.store.db.attempts.count_documents({"token": 1, "status": late}) == RUNS
    for delivery in before:
        assert delivery.last is not None and delivery.last.status == successor
        _was_sent_twice(stage, delivery)
        _tells_both_stories(stage, delivery, slow, quick, end)


def _reports_everything(stage: Stage, slow: Worker) -> None:
    def reported() -> int:
        return stage.store.db.attempts.count_documents({"token": 1})

    eventually(lambda: reported() == RUNS, "A has left its evidence")
    assert slow.process.stop() == 0
    assert slow.process.output().count("fate=fenced") == RUNS


def _was_sent_twice(stage: Stage, delivery: Delivery) -> None:
    first, second = stage.sent(delivery)
    tokens = [request.headers["relay-lease-token"] for request in (first, second)]
    assert tokens == ["1", "2"]
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def _tells_both_stories(
    stage: Stage, delivery: Delivery, slow: Worker, quick: Worker, end: list[Entry]
) -> None:
    assert (delivery.lease_token, delivery.tries) == (2, 1)
    assert [(loss.token, loss.worker, loss.why) for loss in delivery.lost] == [
        (1, slow.name, "expired")
    ]
    lines = stage.journal(delivery)
    # Times of attempts come from two workers' clocks, so only each one's own order is certain.
    first = [line for line in lines if line.token == 1]
    assert [line.kind for line in first if line.kind is not Entry.FENCED] == [
        Entry.LEASE, Entry.LOST, Entry.TAKEOVER,
    ]  # fmt: skip
    assert {line.worker for line in first} == {slow.name}
    assert [line.title for line in first if line.kind is Entry.FENCED] == ["Late result fenced off"]
    second = [(line.kind, line.worker) for line in lines if line.token == 2]
    assert second == [(kind, quick.name) for kind in [Entry.LEASE, *end]]
