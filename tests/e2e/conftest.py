"""Whole processes on the run's server: a database for each module, emptied for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from relay_web.store import Store
from tests.e2e.stage import Stage
from tests.guard import BY_HAND
from tests.receiver import Receiver


@pytest.fixture(scope="module")
def e2e_uri(mongo_uri: str, request: pytest.FixtureRequest) -> str:
    """A database of this module's own, on the run's server."""
    address, _, options = mongo_uri.partition("?")
    return f"{address}_{request.module.__name__.rpartition('.')[2]}?{options}"


@pytest.fixture(scope="module")
def e2e_store(e2e_uri: str) -> Iterator[Store]:
    store = Store.open(e2e_uri)
    store.client.drop_database(store.db.name)
    store.ensure_schema()
    yield store
    store.client.drop_database(store.db.name)
    store.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def stage(e2e_store: Store, e2e_uri: str, receiver: Receiver, tmp_path: Path) -> Iterator[Stage]:
    """An empty database, a receiver, and whatever processes the test starts."""
    for name in e2e_store.db.list_collection_names():
        e2e_store.db[name].delete_many({}, comment=BY_HAND)
    stage = Stage(e2e_store, e2e_uri, receiver, tmp_path)
    yield stage
    stage.close()
