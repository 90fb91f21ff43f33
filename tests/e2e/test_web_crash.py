"""A web process that is killed while it publishes: each 202 reaches every target (C04)."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import requests

from tests.e2e import invariants
from tests.e2e.stage import Stage
from tests.e2e.waiting import SOON, eventually
from tests.e2e.web import Web

SEED = 20261202
PUBLISHERS = 4
EVENTS = 200
KILLS = 5
TARGETS = 3


class Ledger:
    """Publishers that send each event with one key until it is answered, and note the answer."""

    def __init__(self) -> None:
        self.accepted: dict[str, str] = {}
        self.repeated = 0
        self._web: Web | None = None
        self._is_up = threading.Event()

    def moves_to(self, web: Web) -> None:
        self._web = web
        self._is_up.set()

    def is_down(self) -> None:
        self._is_up.clear()

    def wait(self, accepted: int) -> None:
        eventually(lambda: len(self.accepted) >= accepted, f"{accepted} events are accepted")

    def publish(self, key: str) -> None:
        while key not in self.accepted:
            self._is_up.wait()
            assert self._web is not None
            try:
                answer = self._web.publish({"key": key}, key=key)
            except requests.RequestException:  # cut off, before its answer or within it
                self.repeated += 1
                continue
            assert answer.status_code == 202, answer.text
            assert answer.json()["deliveries"] == TARGETS
            self.accepted[key] = answer.json()["id"]


@contextmanager
def _publishers(ledger: Ledger) -> Iterator[None]:
    with ThreadPoolExecutor(PUBLISHERS) as pool:
        keys = [f"key-{number}" for number in range(EVENTS)]
        answers = [pool.submit(ledger.publish, key) for key in keys]
        yield
        for answer in answers:
            answer.result()


def test_what_was_answered_202_arrives_everywhere_though_the_web_process_is_killed(
    stage: Stage,
) -> None:
    # Given three endpoints that take every event, and publishers that write down each answer
    rng = random.Random(SEED)
    for number in range(TARGETS):
        stage.endpoint(f"/in/{number}")
    stage.worker()
    web, ledger = stage.web(), Ledger()

    # When the web process is killed again and again in the midst of it
    with _publishers(ledger):
        for _ in range(KILLS):
            ledger.moves_to(web)
            enough = len(ledger.accepted) + rng.randint(5, 35)
            ledger.wait(enough)
            web.process.kill()
            ledger.is_down()
            web = stage.web(port=web.port)
        ledger.moves_to(web)

    # Then each answered event is there once, and reached all three
    assert ledger.repeated, "no kill hit a publish: the trial proves nothing"
    assert len(set(ledger.accepted.values())) == EVENTS
    assert stage.store.db.events.count_documents({}) == EVENTS
    stage.settled(delivered=EVENTS * TARGETS, within=2 * SOON)
    invariants.hold(stage)
