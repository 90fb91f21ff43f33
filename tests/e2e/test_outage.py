"""The database goes away in the midst of work and comes back; nobody has to help (C35)."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from relay_web import embedded
from relay_web.store import Store
from tests.e2e import invariants
from tests.e2e.stage import DB_TIMEOUT, Stage
from tests.e2e.waiting import SOON, eventually
from tests.e2e.web import Web
from tests.receiver import Receiver, answer, pause

CONCURRENCY = 4
#: Answers without the database, after which it has been gone for long enough.
REFUSALS = 12


class Database:
    """A server of this test's own, because it has to go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = embedded.start(folder)
        self.uri = self._server.uri

    def go(self) -> None:
        self._server.process.kill()
        self._server.stop()

    def come_back(self) -> None:
        self._server = embedded.start(self._folder)
        assert self._server.uri == self.uri

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "database")
    yield database
    database.stop()


@pytest.fixture
def stage(database: Database, receiver: Receiver, tmp_path: Path) -> Iterator[Stage]:
    """The stage on that server."""
    store = Store.open(database.uri)
    store.ensure_schema()
    stage = Stage(store, database.uri, receiver, tmp_path)
    yield stage
    stage.close()
    store.close()


class Publisher:
    """Publishes ten events a second until it is told to stop, and keeps every answer."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._over = threading.Event()
        self.accepted: list[str] = []
        self.refused = 0
        self.slowest = 0.0

    def run(self) -> None:
        while not self._over.wait(0.1):
            before = time.monotonic()
            answer = self._web.publish({})
            self.slowest = max(self.slowest, time.monotonic() - before)
            if answer.status_code == 202:
                self.accepted.append(answer.json()["id"])
            else:
                assert answer.status_code == 503, answer.text
                assert answer.headers["Retry-After"]
                self.refused += 1

    def stop(self) -> None:
        self._over.set()


@contextmanager
def _publishing(web: Web) -> Iterator[Publisher]:
    publisher = Publisher(web)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(publisher.run)
        try:
            yield publisher
        finally:
            publisher.stop()
            running.result()


def test_a_database_outage_is_waited_out(stage: Stage, database: Database) -> None:
    # Given work under way
    stage.receiver.script("/in", [pause(0.3), answer(200)])
    stage.endpoint("/in")
    worker = stage.worker(RELAY_CONCURRENCY=f"{CONCURRENCY}")
    web = stage.web()
    with _publishing(web) as publisher:
        stage.receiver.wait(5, within=SOON)

        # When the database is killed, and comes back later
        database.go()
        eventually(lambda: publisher.refused >= REFUSALS, "publishes are refused", within=2 * SOON)
        assert web.call("GET", "/deliveries").status_code == 503
        database.come_back()
        before = len(stage.receiver.requests())
        stage.receiver.wait(before + CONCURRENCY + 5, within=SOON)

    # Then each 202 arrives, by the same processes, and repeats are what was in flight, no more
    assert publisher.slowest < 10 * DB_TIMEOUT
    stage.settled(delivered=stage.store.db.events.count_documents({}), within=2 * SOON)
    arrived = {request.headers["webhook-id"] for request in stage.receiver.requests()}
    assert arrived >= set(publisher.accepted)
    assert len(stage.receiver.requests()) - len(arrived) <= CONCURRENCY
    assert worker.process.is_running
    invariants.hold(stage)
