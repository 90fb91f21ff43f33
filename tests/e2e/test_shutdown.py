"""SIGTERM, as platforms send it: to every process, perhaps twice, SIGKILL to follow (C50)."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import requests

from relay_web.domain.causes import Cause
from tests.e2e import invariants
from tests.e2e.gate import Gate
from tests.e2e.held import Held
from tests.e2e.stage import Stage
from tests.e2e.waiting import SOON, eventually
from tests.receiver import answer

SLOTS = 4
#: Seconds a platform waits before it kills; Relay means to be gone well before.
KILLED_AFTER = 30.0
EXIT_WITHIN = 25.0
#: Seconds after which gunicorn would cut off what is left.
GUNICORN_GIVES_UP = 15.0


def test_what_is_under_way_finishes_and_what_waits_goes_on_waiting(stage: Stage) -> None:
    # Given four requests that hang, and fifty deliveries that wait for a slot
    held, waiting = Held(), 50
    stage.receiver.script("/in", held, held, held, held, answer(200))
    stage.publish_many(SLOTS + waiting, to=stage.endpoint("/in", max_in_flight=SLOTS))
    worker = stage.worker(RELAY_SEND_DEADLINE="20s", RELAY_LEASE="27s").process
    stage.receiver.wait(SLOTS, within=SOON)

    # When the worker is told to stop, and told again, before the four are answered
    worker.send(signal.SIGTERM)
    eventually(lambda: "worker.draining" in worker.output(), "the worker drains")
    worker.send(signal.SIGTERM)
    held.release()
    assert worker.wait(EXIT_WITHIN) == 0

    # Then those four are recorded and no other was begun; none has failed
    assert stage.states() == {"delivered": SLOTS, "pending": waiting}
    assert len(stage.receiver.requests()) == SLOTS
    assert all(delivery.lease_token == 0 for delivery in stage.deliveries(state="pending"))

    # And the next worker sends the rest
    stage.worker()
    stage.settled(delivered=SLOTS + waiting)
    assert len(stage.receiver.requests()) == SLOTS + waiting
    invariants.hold(stage)


def test_what_does_not_finish_goes_to_another_worker_at_once(stage: Stage) -> None:
    # Given four requests that will hang for longer than anybody waits, and a second worker
    patience = {"RELAY_SEND_DEADLINE": "60s", "RELAY_LEASE": "67s"}
    held = Held()
    stage.receiver.script("/in", held, held, held, held, answer(200))
    stage.publish_many(SLOTS, to=stage.endpoint("/in"))
    first = stage.worker(RELAY_CONCURRENCY="8", **patience)
    stage.receiver.wait(SLOTS, within=SOON)
    stage.worker(RELAY_CONCURRENCY="8", **patience)

    # When the first one is told to stop
    told = time.monotonic()
    assert first.process.stop(EXIT_WITHIN) == 0

    # Then the other one sends them again, long before the leases would have run out
    requests = stage.receiver.wait(2 * SLOTS, within=SOON)
    assert requests[-1].at - told < KILLED_AFTER
    stage.settled(delivered=SLOTS)
    ids = [request.headers["webhook-id"] for request in requests]
    assert sorted(ids[:SLOTS]) == sorted(ids[SLOTS:])

    # And the timeline says what became of the first request, and no try was used up
    for delivery in stage.deliveries():
        assert (delivery.tries, delivery.lost) == (1, ())
        broken, done = stage.store.attempts.of(delivery.id)
        assert (broken["cause"], done["status"]) == (Cause.INTERRUPTED.value, 200)
    invariants.hold(stage)


def test_a_publish_that_is_under_way_is_still_answered(stage: Stage) -> None:
    with ExitStack() as stack:
        gate = stack.enter_context(Gate(stage.settings["MONGODB_URI"]))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        # Given a publish that waits for the database, and a browser that keeps its connection
        stage.endpoint("/in")
        web = stage.web(MONGODB_URI=gate.uri, RELAY_DB_TIMEOUT="15s", RELAY_LEASE="60s")
        assert web.publish({}).status_code == 202
        browser = stack.enter_context(requests.Session())
        assert browser.get(f"http://127.0.0.1:{web.port}/healthz").ok
        gate.shut()
        publish = pool.submit(web.publish, {})
        eventually(lambda: gate.has_stopped(b"endpoints"), "the publish asks the database")

        # When the web process is told to stop before the database answers
        web.process.send(signal.SIGTERM)
        eventually(lambda: not web.is_alive(), "it takes no new requests")
        gate.open()

        # Then it answers all the same, and ends without waiting for the browser
        assert publish.result(SOON).status_code == 202
        assert web.process.wait(GUNICORN_GIVES_UP) == 0
    stage.worker()
    stage.settled(delivered=2)
    invariants.hold(stage)
