"""What a figure is measured on: one mongod, receivers, real workers, the real web process.

Everything lives in a temporary folder and ends with the `with` block it was started in; should the
bench itself be killed, the kernel ends its children (see `relay_web.leash`).
"""

import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from relay_web import embedded
from relay_web.leash import leashed
from relay_web.ports import kept_port
from relay_web.store import Store

#: Seconds anything may take to start, to drain or to end before the run is given up.
PATIENCE: Final = 60.0
_SOURCE: Final = Path(__file__).parent.parent


class GaveUp(Exception):
    """What was waited for did not happen in time."""


def wait_for(condition: Callable[[], bool], what: str, *, within: float = PATIENCE) -> None:
    """Look every few milliseconds until `condition` holds; raises `GaveUp`."""
    give_up = time.monotonic() + within
    while not condition():
        if time.monotonic() > give_up:
            raise GaveUp(f"{what} took longer than {within:.0f} s")
        time.sleep(0.005)


@dataclass(frozen=True, slots=True)
class Process:
    """A process under measurement, its children included (gunicorn's workers are)."""

    root: psutil.Process

    def cpu(self) -> float:
        """Seconds of CPU used so far, user and system."""
        return float(sum(sum(one.cpu_times()[:2]) for one in self._all()))

    def memory(self) -> int:
        """Resident bytes of the largest process of the family: the one that does the work."""
        return int(max(one.memory_info().rss for one in self._all()))

    def _all(self) -> list[psutil.Process]:
        return [self.root, *self.root.children(recursive=True)]


class Receiver:
    """A running `bench.receiver`, asked over one connection of its own."""

    def __init__(self, port: int, process: Process) -> None:
        self.process = process
        self.base = f"http://127.0.0.1:{port}"
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def stats(self) -> dict[str, Any]:
        """`requests` counted since its start, and the `timed` notes since the last look."""
        self._line.request("GET", "/stats")
        found: dict[str, Any] = json.loads(self._line.getresponse().read())
        return found

    def count(self) -> int:
        """Requests received since its start."""
        number: int = self.stats()["requests"]
        return number

    def close(self) -> None:
        self._line.close()


@dataclass(frozen=True, slots=True)
class Account:
    """A person with a team, and the team's API key."""

    email: str
    password: str
    slug: str
    team_id: str
    api_key: str


class System:
    """One mongod, and whatever else a figure asks for."""

    def __init__(self, folder: Path, server: embedded.Mongod) -> None:
        self._folder = folder
        self._server = server
        self.mongod = Process(psutil.Process(server.process.pid))
        self.secrets_key = secrets.token_hex(24)

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["System"]:
        """A fresh system around a `with` block."""
        with tempfile.TemporaryDirectory(prefix="relay-bench-") as name:
            folder = Path(name)
            with embedded.running(folder) as server:
                yield cls(folder, server)

    def uri(self, database: str) -> str:
        return self._server.uri.replace(f"/{embedded.DATABASE}?", f"/{database}?")

    @contextmanager
    def store(self, database: str) -> Iterator[Store]:
        """An empty database with Relay's schema; dropped at the end."""
        store = Store.open(self.uri(database), timeout=PATIENCE, appname="relay-bench")
        try:
            store.client.drop_database(database)
            store.ensure_schema()
            yield store
            store.client.drop_database(database)
        finally:
            store.close()

    def account(self, store: Store) -> Account:
        """A person and a team of their own."""
        email, password = "bench@example.com", secrets.token_hex(12)
        made = store.accounts.bootstrap(email, password, "Bench", secret_key=self.secrets_key)
        return Account(email, password, made["team"], made["team_id"], made["api_key"])

    @contextmanager
    def receiver(self) -> Iterator[Receiver]:
        with self._started("receiver", ["-m", "bench.receiver"], piped=True) as process:
            assert process.stdout is not None
            receiver = Receiver(
                int(process.stdout.readline()), Process(psutil.Process(process.pid))
            )
            try:
                yield receiver
            finally:
                receiver.close()

    @contextmanager
    def worker(self, store: Store, *, concurrency: int = 100) -> Iterator[Process]:
        """A worker that has reported for work. Its log goes to a file, as a platform's would."""
        extra = {"RELAY_CONCURRENCY": str(concurrency)}
        before = {beat.pid for beat in store.workers.all()}
        command = ["-m", "relay_web", "worker"]
        with self._started("worker", command, self._environment(store, extra)) as process:
            wait_for(
                lambda: (
                    any(
                        beat.pid not in before and beat.state == "beating"
                        for beat in store.workers.all()
                    )
                    or process.poll() is not None
                ),
                "starting a worker",
            )
            if process.poll() is not None:
                raise GaveUp(f"the worker ended at once; see {self._folder / 'worker.log'}")
            yield Process(psutil.Process(process.pid))

    @contextmanager
    def web(self, store: Store) -> Iterator[tuple[Process, int]]:
        """One web process under gunicorn, answering, and its port."""
        port = kept_port(self._folder / "web.port")
        extra = {"PORT": str(port), "HOST": "127.0.0.1", "WEB_CONCURRENCY": "1"}
        command = ["-m", "relay_web", "web"]
        with self._started("web", command, self._environment(store, extra)) as process:
            wait_for(
                lambda: _answers(port) or process.poll() is not None, "starting the web process"
            )
            if process.poll() is not None:
                raise GaveUp(f"the web process ended at once; see {self._folder / 'web.log'}")
            yield Process(psutil.Process(process.pid)), port

    @contextmanager
    def _started(
        self,
        name: str,
        arguments: list[str],
        environment: Mapping[str, str] | None = None,
        *,
        piped: bool = False,
    ) -> Iterator[subprocess.Popen[bytes]]:
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                leashed([sys.executable, *arguments], signal.SIGTERM),
                env={**os.environ, "PYTHONPATH": str(_SOURCE), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else log,
                stderr=log,
                process_group=0,
            )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _environment(self, store: Store, extra: Mapping[str, str]) -> dict[str, str]:
        return {
            "MONGODB_URI": self.uri(store.db.name),
            "SECRET_KEY": self.secrets_key,
            "RELAY_SECRETS_KEY": self.secrets_key,
            # The bench speaks as a platform's router does, which ends TLS in front of it.
            "RELAY_TRUSTED_PROXIES": "1",
            "RELAY_ALLOW_HTTP": "1",
            "RELAY_EGRESS_ALLOW": "127.0.0.0/8",
            **extra,
        }


def _answers(port: int) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        line.request("GET", "/readyz")
        return bool(line.getresponse().status == 200)
    except OSError:
        return False
    finally:
        line.close()
