"""The stale worker, with real processes: past its lease, it cannot change what its successor wrote.

Each test runs its story twenty times, on twenty endpoints at once.
"""

from collections.abc import Iterator

import pytest

from relay_web.domain.delivery import Delivery, State
from relay_web.domain.journal import Entry
from tests.e2e.gate import Gate
from tests.e2e.held import Held
from tests.e2e.stage import PATIENT, PATIENT_LEASE, Stage, Worker
from tests.e2e.waiting import SOON, eventually
from tests.receiver import Step, answer

RUNS = 20
SLOTS = {"RELAY_CONCURRENCY": "40"}


@pytest.fixture
def gate(stage: Stage) -> Iterator[Gate]:
    with Gate(stage.settings["MONGODB_URI"]) as gate:
        yield gate


def _start_a_worker_whose_requests_hang(
    stage: Stage, successor: Step, **settings: str
) -> tuple[Worker, Held]:
    """Worker A has sent a request to each endpoint; whoever sends again is answered `successor`."""
    held = Held()
    for run in range(RUNS):
        stage.receiver.script(f"/run/{run}", held, successor)
        stage.publish(to=stage.endpoint(f"/run/{run}"))
    worker = stage.worker(**SLOTS, **PATIENT, **settings)
    stage.receiver.wait(RUNS, within=SOON)
    return worker, held


def _start_a_worker_that_stops_with_its_answers_in_hand(
    stage: Stage, gate: Gate, late: int, successor: Step
) -> Worker:
    """Worker A, cut off from the database, was answered `late` everywhere, and then stopped."""
    slow, held = _start_a_worker_whose_requests_hang(stage, successor, MONGODB_URI=gate.uri)
    gate.shut()
    held.release(late)
    eventually(lambda: "commit.waiting" in slow.process.output(), "A cannot write its results")
    slow.process.freeze()
    return slow


def test_a_worker_that_was_stopped_past_its_lease_changes_nothing(stage: Stage) -> None:
    # Given worker A, which stops running while its requests are under way
    slow, held = _start_a_worker_whose_requests_hang(stage, answer(200))
    slow.process.freeze()

    # When its leases run out, and worker B claims, delivers and commits
    quick = stage.worker(**SLOTS)
    stage.settled(delivered=RUNS, within=PATIENT_LEASE + SOON)
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
    stage: Stage, gate: Gate, late: int, successor: int, state: State, end: list[Entry]
) -> None:
    slow = _start_a_worker_that_stops_with_its_answers_in_hand(stage, gate, late, answer(successor))

    # When worker B takes over and commits what it heard
    quick = stage.worker(**SLOTS, RELAY_RETRY_SCHEDULE="1h")
    stage.settled(**{state.value: RUNS}, within=PATIENT_LEASE + SOON)
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
        _tells_both_stories(stage, delivery, slow, quick, end)


@pytest.mark.parametrize("late", [500, 200], ids=["late failure", "late success"])
def test_a_late_result_ends_nothing_that_the_successor_is_still_sending(
    stage: Stage, gate: Gate, late: int
) -> None:
    """The same id in the same state: only the token and the lease tell the two workers apart."""
    second = Held()
    slow = _start_a_worker_that_stops_with_its_answers_in_hand(stage, gate, late, second)

    # When A comes back while B's requests are under way
    quick = stage.worker(**SLOTS, RELAY_SEND_DEADLINE="20s", RELAY_LEASE="27s")
    stage.receiver.wait(2 * RUNS, within=PATIENT_LEASE + SOON)
    before = stage.deliveries()
    gate.open()
    slow.process.thaw()
    _reports_everything(stage, slow)

    # Then B still holds every one of them, and its word is the outcome
    assert {delivery.state for delivery in before} == {State.LEASED}
    assert stage.deliveries() == before
    second.release(200)
    stage.settled(delivered=RUNS)
    assert len(stage.receiver.requests()) == 2 * RUNS
    for delivery in stage.deliveries():
        _tells_both_stories(stage, delivery, slow, quick, [Entry.ATTEMPT, Entry.DELIVERED])


def _reports_everything(stage: Stage, slow: Worker) -> None:
    def reported() -> int:
        return stage.store.db.attempts.count_documents({"token": 1})

    eventually(lambda: reported() == RUNS, "A has left its evidence")
    assert slow.process.stop() == 0
    assert slow.process.output().count("fate=fenced") == RUNS


def _tells_both_stories(
    stage: Stage, delivery: Delivery, slow: Worker, quick: Worker, end: list[Entry]
) -> None:
    assert (delivery.lease_token, delivery.tries) == (2, 1)
    assert [(loss.token, loss.worker, loss.why) for loss in delivery.lost] == [
        (1, slow.name, "expired")
    ]
    requests = stage.sent(delivery)
    assert [request.headers["relay-lease-token"] for request in requests] == ["1", "2"]
    assert len({(request.headers["webhook-id"], request.body) for request in requests}) == 1
    lines = stage.journal(delivery)
    # Times of attempts come from two workers' clocks, so only each one's own order is certain.
    first = [line for line in lines if line.token == 1]
    assert [line.kind for line in first if line.kind is not Entry.FENCED] == [
        Entry.LEASE, Entry.LOST, Entry.TAKEOVER,
    ]  # fmt: skip
    assert {line.worker for line in first} == {slow.name}
    assert [line.title for line in first if line.kind is Entry.FENCED] == ["Late result fenced off"]
    mine = [(line.kind, line.worker) for line in lines if line.token == 2]
    assert mine == [(kind, quick.name) for kind in [Entry.LEASE, *end]]
