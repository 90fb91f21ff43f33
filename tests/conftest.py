"""One real MongoDB a run, one database a pytest process, emptied before each test that asks for it.

pytest itself stays unpatched: code that needs gevent's patching is tested in processes of its own.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flask
import hypothesis
import pymongo.monitoring
import pytest
from flask import Flask, Response

from relay_web import embedded
from relay_web.errors import CannotRun
from tests import tripwire
from tests.guard import BY_HAND, Guard

if TYPE_CHECKING:
    from relay_web.store import Store

#: Where the run's server is: set by hand to use another one, else by the process that starts it.
URI_VARIABLE = "RELAY_TEST_MONGODB_URI"

#: Sees every command of every client that this process opens.
guard = Guard()
pymongo.monitoring.register(guard)
tripwire.install()

_running = pytest.StashKey[tuple[embedded.Mongod, Path]]()

# A failure names the example and, with print_blob, the line that replays it.
hypothesis.settings.register_profile("relay", deadline=None, print_blob=True)
hypothesis.settings.load_profile("relay")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the server once: in xdist's controller, or in the only process there is."""
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = secrets.randbelow(2**32)
    if URI_VARIABLE in os.environ:
        return
    folder = Path(tempfile.mkdtemp(prefix="relay-test-"))
    try:
        server = embedded.start(folder)
    except CannotRun as problem:
        pytest.exit(str(problem), returncode=1)
    config.stash[_running] = server, folder
    os.environ[URI_VARIABLE] = server.uri


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what `pytest_configure` started, after every worker has ended."""
    if _running in config.stash:
        server, folder = config.stash[_running]
        del os.environ[URI_VARIABLE]
        server.stop()
        shutil.rmtree(folder)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """After a failure, print what a repeat needs."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.line(f"repeat with --hypothesis-seed={config.option.hypothesis_seed}")


@pytest.fixture(scope="session")
def mongo_uri(worker_id: str) -> str:
    """The run's server, with a database that only this pytest process uses."""
    address, _, options = os.environ[URI_VARIABLE].partition("?")
    return f"{address.rpartition('/')[0]}/relay_test_{worker_id}?{options}"


@pytest.fixture(scope="session")
def _store(mongo_uri: str) -> Iterator["Store"]:
    from relay_web.store import Store

    store = Store.open(mongo_uri)
    store.client.drop_database(store.db.name)
    store.ensure_schema()
    yield store
    store.close()


@pytest.fixture
def store(_store: "Store") -> "Store":
    """An open store whose collections exist, indexed, and are empty."""
    for name in _store.db.list_collection_names():
        _store.db[name].delete_many({}, comment=BY_HAND)
    return _store


@pytest.fixture(autouse=True)
def every_write_is_guarded() -> Iterator[None]:
    """Fail the test whose commands changed a delivery without the guard of a transition."""
    yield
    faults, guard.faults = guard.faults, []
    assert not faults


@pytest.fixture(autouse=True)
def nothing_forbidden_was_called() -> Iterator[None]:
    """Fail the test in which this process tried to connect to an address it must not call."""
    yield
    calls, tripwire.tripped[:] = list(tripwire.tripped), []
    assert not calls


@pytest.fixture(autouse=True)
def nothing_failed_inside(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Fail the test in which an application of this process answered 500, whoever asked."""
    failed: list[str] = []
    answer = Flask.full_dispatch_request

    def watched(app: Flask) -> Response:
        response = answer(app)
        if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
            failed.append(f"{flask.request.method} {flask.request.path}")
        return response

    monkeypatch.setattr(Flask, "full_dispatch_request", watched)
    yield
    assert bool(failed) is (request.node.get_closest_marker("fails_inside") is not None), failed


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's Chromium, quiet: no download of another one, no calls home."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None and "CI" not in os.environ:
        pytest.skip("install chromium, or set CHROMIUM to its path")
    return {
        **browser_type_launch_args,
        "executable_path": found,
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ],
    }
