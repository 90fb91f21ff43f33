"""Workers that are killed outright: what was accepted arrives, and what is unknown is called so."""

import random

from relay_web.domain.delivery import Delivery
from tests.e2e import invariants
from tests.e2e.held import Held
from tests.e2e.stage import LEASE, PATIENT, PATIENT_LEASE, Stage
from tests.e2e.waiting import SOON
from tests.receiver import answer, pause

#: Another order of the same kills finds other moments; a failure names it.
SEED = 20261201


def test_500_events_arrive_though_the_worker_is_killed_again_and_again(stage: Stage) -> None:
    # Given 500 events for five endpoints that take their time
    rng = random.Random(SEED)
    for number in range(5):
        stage.receiver.script(f"/in/{number}", [pause(0.02), answer(200)])
        stage.publish_many(100, to=stage.endpoint(f"/in/{number}"))

    # When each worker is killed after a few more requests, at whatever it is doing then
    for _ in range(8):
        worker = stage.worker(RELAY_CONCURRENCY="20")
        arrived = len(stage.receiver.requests())
        stage.receiver.wait(arrived + rng.randint(1, 50), within=SOON)
        worker.process.kill()
    stage.worker(RELAY_CONCURRENCY="20")

    # Then all arrive, and a request whose outcome nobody knows is shown as exactly that
    stage.settled(delivered=500, within=LEASE + SOON)
    interrupted = [delivery for delivery in stage.deliveries() if delivery.lost]
    assert interrupted, "no kill hit a delivery: the trial proves nothing"
    for delivery in interrupted:
        _shows_the_unknown(stage, delivery)
    invariants.hold(stage)


def test_deliveries_of_a_killed_worker_go_to_the_next_one(stage: Stage) -> None:
    # Given a worker with four requests that hang
    held = Held()
    stage.receiver.script("/in", held, held, held, held, answer(200))
    stage.publish_many(4, to=stage.endpoint("/in"))
    first = stage.worker(RELAY_CONCURRENCY="8", **PATIENT)
    stage.receiver.wait(4, within=SOON)

    # When it is killed, and another one starts
    first.process.kill()
    stage.worker(RELAY_CONCURRENCY="8")

    # Then everything arrives again once the leases are over, with nobody's help
    stage.settled(delivered=4, within=PATIENT_LEASE + SOON)
    for delivery in stage.deliveries():
        assert delivery.lease_token == 2
        assert [loss.worker for loss in delivery.lost] == [first.name]
        _shows_the_unknown(stage, delivery)
    invariants.hold(stage)


def _shows_the_unknown(stage: Stage, delivery: Delivery) -> None:
    told = " ".join(line.detail for line in stage.journal(delivery))
    known = {attempt["token"] for attempt in stage.store.attempts.of(delivery.id)}
    for loss in delivery.lost:
        unknown = f"attempt under token {loss.token} is unknown"
        assert (unknown in told) == (loss.token not in known)
