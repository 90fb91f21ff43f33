"""Chromium in front of the real pages; a worker process where something has to be sent."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect
from werkzeug.serving import make_server

from relay_web.domain.roles import Role
from relay_web.settings import Settings
from relay_web.store import Store
from relay_web.web import create_app
from tests.browser.scenery import EMAIL, PASSWORD, PEOPLE, Scene, build
from tests.e2e.processes import Process
from tests.e2e.waiting import eventually
from tests.guard import BY_HAND
from tests.receiver import Receiver

KEY = "a key that only browser tests use"
#: Milliseconds. Generous: nothing waits this long unless it is going to fail.
PATIENCE = 20_000
expect.set_options(timeout=PATIENCE)


@dataclass(frozen=True)
class Site:
    """The pages, served by this process, and their database."""

    url: str
    uri: str
    store: Store
    settings: Settings

    def empty(self) -> None:
        for name in self.store.db.list_collection_names():
            self.store.db[name].delete_many({}, comment=BY_HAND)


@pytest.fixture(scope="session")
def site(mongo_uri: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    address, _, options = mongo_uri.partition("?")
    uri = f"{address}_browser?{options}"
    store = Store.open(uri)
    store.client.drop_database(store.db.name)
    store.ensure_schema()
    given = {"RELAY_SECRETS_KEY": KEY}
    settings = Settings.load(given, data_dir=tmp_path_factory.mktemp("data"))
    server = make_server("127.0.0.1", 0, create_app(settings, store), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Site(f"http://127.0.0.1:{server.port}", uri, store, settings)
    server.shutdown()
    thread.join()
    server.server_close()
    store.client.drop_database(store.db.name)
    store.close()


@pytest.fixture
def empty(site: Site) -> Site:
    """The site before anybody signed up."""
    site.empty()
    return site


@pytest.fixture
def scene(empty: Site) -> Scene:
    """A team worth looking at."""
    return build(empty.store, empty.settings)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def start_worker(site: Site, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts worker processes on the site's database; each has said its first beat."""
    started: list[Process] = []

    def start(**changes: str) -> Process:
        settings = {
            "MONGODB_URI": site.uri,
            "SECRET_KEY": KEY,
            "RELAY_SECRETS_KEY": KEY,
            "RELAY_ALLOW_HTTP": "1",
            "RELAY_EGRESS_ALLOW": "127.0.0.0/8",
            "RELAY_SEND_DEADLINE": "2s",
            "RELAY_DB_TIMEOUT": "2s",
            "RELAY_LEASE": "12s",
        }
        process = Process("worker", settings | changes, tmp_path / f"worker.{len(started)}.log")
        started.append(process)
        eventually(
            lambda: any(beat.pid == process.pid for beat in site.store.workers.all()),
            "the worker beats",
            seen=process.output,
        )
        return process

    yield start
    for process in started:
        process.end()
        assert not process.complaints()


@pytest.fixture
def worker(start_worker: Callable[..., Process]) -> Process:
    return start_worker()


#: What a browser, and htmx, say of a request that never had an answer.
_AWAY = ("net::ERR", "htmx:sendError", "htmx:sendAbort", "htmx:afterRequest")


@dataclass
class Watch:
    """What a browser complained about. Refusals that a test provokes are named by their status."""

    complaints: list[str] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)

    def expect(self, *statuses: int) -> None:
        self.expected.update(statuses)

    def console(self, message: ConsoleMessage) -> None:
        told = message.text
        refused = any(f"status of {n} " in told or f"Code {n} " in told for n in self.expected)
        away = 0 in self.expected and any(
            word in told
            for word in ("net::ERR", "htmx:sendError", "htmx:sendAbort", "htmx:afterRequest")
        )
        if message.type in ("error", "warning") and not refused and not away:
            self.complaints.append(f"{message.type}: {message.text}")

    def follow(self, page: Page) -> None:
        page.on("console", self.console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Fails the test for any console error, uncaught exception or content policy report."""
    watch = Watch()
    yield watch
    assert not watch.complaints


@pytest.fixture(scope="session")
def base_url(site: Site) -> str:
    return site.url


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "timezone_id": "Europe/Berlin"}


@pytest.fixture
def sign_in(watch: Watch) -> Callable[..., Page]:
    """A page of somebody who signed in; the scene's owner, unless another address is given."""

    def enter(context: BrowserContext, email: str = EMAIL) -> Page:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        watch.follow(page)
        page.goto("/signin")
        fill_sign_in(page, email, PASSWORD)
        page.wait_for_url("**/t/*/")
        return page

    return enter


def fill_sign_in(page: Page, email: str, password: str) -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture
def ana(scene: Scene, context: BrowserContext, sign_in: Callable[..., Page]) -> Page:
    """The owner of the scene's team, on the overview."""
    return sign_in(context)


@pytest.fixture
def someone(
    scene: Scene, site: Site, browser: Browser, sign_in: Callable[..., Page]
) -> Iterator[Callable[..., Page]]:
    """Another person of the team by role, in a browser of their own; `script=False` for none."""
    opened: list[BrowserContext] = []

    def enter(role: Role = Role.OWNER, *, script: bool = True) -> Page:
        context = browser.new_context(base_url=site.url, java_script_enabled=script)
        opened.append(context)
        return sign_in(context, PEOPLE[role])

    yield enter
    for context in opened:
        context.close()


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where `make screenshots` finds them."""
    folder = Path(os.environ.get("RELAY_SCREENSHOTS", "build/screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
