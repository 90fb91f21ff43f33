"""The wiring of `relay up`: settings, database, demo, then one supervisor over everything."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from relay_web import demo, embedded, ports
from relay_web.errors import CannotRun
from relay_web.settings import DEFAULT_DATA_DIR, Settings
from relay_web.store import Store
from relay_web.supervisor import Child, Supervisor, answers, say

_SOURCE = Path(__file__).parent.parent


def up(*, with_demo: bool, port: int | None, workers: int, data_dir: Path | None) -> int:
    """Run until Ctrl-C or SIGTERM; returns 0. Raises BadSetting or CannotRun."""
    folder = (data_dir or Path(os.environ.get("RELAY_DATA_DIR") or DEFAULT_DATA_DIR)).resolve()
    _make(folder)
    given = {**os.environ, "PORT": str(port)} if port else os.environ
    settings = Settings.load(given, data_dir=folder)
    if with_demo and not settings.development:
        raise CannotRun("--demo is for development mode only; unset SECRET_KEY and MONGODB_URI.")
    if not ports.is_free(settings.port):
        raise CannotRun(f"Port {settings.port} is in use; choose another one with --port.")
    with _database(settings) as server:
        guide = _prepare(settings, with_demo=with_demo)
        url = f"http://127.0.0.1:{settings.port}"
        (folder / "url").write_text(f"{url}\n")
        environment = _environment(settings)
        children = [_child("web", "web")]
        children += [_child(f"worker.{n}", "worker", restarts=True) for n in range(1, workers + 1)]
        if guide:
            environment["RELAY_API_KEY"] = guide.api_key
            children.append(_demo_child(url, guide))
        with Supervisor(children, environment) as supervisor:
            supervisor.start()
            _watch(supervisor, server, lambda: _announce(url, settings, guide))
            say("Stopping; a moment for what is under way.")
    return 0


def _watch(
    supervisor: Supervisor, server: embedded.Mongod | None, announce: Callable[[], bool]
) -> None:
    """Until told to stop. Raises CannotRun when something ended that must not."""
    announced = False
    while not supervisor.stopping:
        supervisor.turn()
        if server and server.process.poll() is not None:
            raise CannotRun("MongoDB ended, so everything was stopped; see its mongod.log.")
        announced = announced or announce()


@contextmanager
def _database(settings: Settings) -> Iterator[embedded.Mongod | None]:
    """The embedded server around a `with` block, where the settings name no other."""
    if settings.mongodb_uri:
        yield None
    else:
        with embedded.running(settings.data_dir) as server:
            yield server


def _prepare(settings: Settings, *, with_demo: bool) -> demo.Guide | None:
    """Migrate, and make or find the demo team."""
    uri = settings.mongodb_uri or embedded.locate(settings.data_dir)
    store = Store.open(uri, timeout=settings.db_timeout, pool_size=5, appname="relay-up")
    try:
        store.ensure_schema()
        return demo.prepare(store, settings) if with_demo else None
    finally:
        store.close()


def _demo_child(url: str, guide: demo.Guide) -> Child:
    command = [sys.executable, "-m", "relay_web.demo_traffic", url, str(guide.receiver_port)]
    return Child("demo", command, restarts=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise CannotRun(
            f"{folder} cannot be made ({problem.strerror}); choose another --data-dir."
        ) from None


def _environment(settings: Settings) -> dict[str, str]:
    """What the children see: our environment, with everything this start decided spelled out."""
    source = os.pathsep.join(filter(None, (str(_SOURCE), os.environ.get("PYTHONPATH"))))
    local = {"HOST": settings.host or "127.0.0.1"} if settings.development else {}
    return {
        **os.environ,
        **local,
        "PORT": str(settings.port),
        "RELAY_DATA_DIR": str(settings.data_dir),
        "LOG_FORMAT": settings.log_format,
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": source,
    }


def _child(name: str, command: str, *, restarts: bool = False) -> Child:
    return Child(name, [sys.executable, "-m", "relay_web", command], restarts)


def _announce(url: str, settings: Settings, guide: demo.Guide | None) -> bool:
    """Once the web process answers, say where everything is; whether that was done."""
    if not answers(url):
        return False
    say("")
    say(f"  Relay is at {url}")
    if settings.development:
        say("  Development mode: plain http and endpoints on this machine are allowed, and the")
        say(f"  keys and the database are kept in {settings.data_dir}.")
    if guide:
        say("")
        say(f"  Sign in   {guide.email}   password {guide.password}")
        say(f"  API key   {guide.api_key}")
        say("")
        say("  Publish an event:")
        say(f"    curl {url}/api/v1/events -H 'Authorization: Bearer {guide.api_key}' \\")
        say("      -H 'Content-Type: application/json' \\")
        say("""      -d '{"type": "order.paid", "data": {"id": 1}}'""")
    else:
        say("  A user, a team and an API key: relay bootstrap --email E --password P --team T")
    say("")
    say("  Ctrl-C stops everything.")
    say("")
    return True
