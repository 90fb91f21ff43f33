"""What a drill is played with: a database of its own, a receiver that holds back its answer, and
worker processes that can be stopped in the middle of what they do.
"""

import http.server
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from relay_web import embedded
from relay_web.leash import leashed
from relay_web.settings import DEFAULT_DATA_DIR, Settings
from relay_web.store import Store

#: Seconds. The shortest lease that a start allows with these: deadline + 2 × timeout + 5.
LEASE: Final = 8.0
_TIMING: Final = {
    "RELAY_LEASE": f"{LEASE:g}s",
    "RELAY_SEND_DEADLINE": "1s",
    "RELAY_DB_TIMEOUT": "1s",
}
_SOURCE: Final = Path(__file__).parent.parent


class Receiver:
    """An endpoint on this machine: the first request is answered when told to, others at once."""

    def __init__(self) -> None:
        #: Headers of each request as it arrived, by their names in lower case.
        self.requests: list[Mapping[str, str]] = []
        self._answer = threading.Event()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._answer.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/drill"

    def answer(self) -> None:
        """Let the first request have its answer."""
        self._answer.set()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                receiver.requests.append(
                    {name.lower(): value for name, value in self.headers.items()}
                )
                if len(receiver.requests) == 1:
                    receiver._answer.wait()
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    pass  # who asked no longer listens

            def log_message(self, *_: object) -> None: ...

        return Handler


class WorkerProcess:
    """A worker as the Procfile starts it, in a process group of its own."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                leashed([sys.executable, "-m", "relay_web", "worker"], signal.SIGKILL),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_running(self) -> bool:
        return self._process.poll() is None

    def freeze(self) -> None:
        """Stop it where it stands, and wait until the kernel says that it does."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Gone, frozen or not: its database goes too."""
        self._process.kill()
        self._process.wait()

    def reports(self) -> list[dict[str, Any]]:
        """What it logged of each attempt: `token`, `fate` and the rest."""
        return [line for line in self._lines() if line.get("event") == "delivery.attempted"]

    def last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"

    def _lines(self) -> Iterator[dict[str, Any]]:
        for line in self._log.read_text(errors="replace").splitlines():
            try:
                yield json.loads(line)
            except ValueError:  # half written, or no log line
                continue


class Rehearsal:
    """Everything one drill starts. It ends with it."""

    def __init__(self, store: Store, settings: Settings, uri: str, folder: Path) -> None:
        self.store, self.settings = store, settings
        self._folder = folder
        self._workers: list[WorkerProcess] = []
        source = os.pathsep.join(filter(None, (str(_SOURCE), os.environ.get("PYTHONPATH"))))
        self._environment = {
            **_environment(settings.secret_key),
            "MONGODB_URI": uri,
            "RELAY_DATA_DIR": str(folder),
            "PYTHONPATH": source,
        }

    def worker(self) -> WorkerProcess:
        """Start another worker."""
        log = self._folder / f"worker.{len(self._workers) + 1}.log"
        self._workers.append(WorkerProcess(self._environment, log))
        return self._workers[-1]

    def end(self) -> None:
        for worker in self._workers:
            worker.end()


@contextmanager
def rehearsal(data_dir: Path | None) -> Iterator[Rehearsal]:
    """A database for one drill and all that is started on it; nothing of it stays.

    It is made beside the instance's own, on the server in use: MONGODB_URI, or what `relay up`
    runs in `data_dir`. Where there is none, a server is started for the drill.
    """
    folder = data_dir or Path(os.environ.get("RELAY_DATA_DIR") or DEFAULT_DATA_DIR)
    settings = Settings.load(_environment(secrets.token_hex(32)), data_dir=folder)
    with tempfile.TemporaryDirectory(prefix="relay-drill-") as made:
        own = Path(made)
        with _server(settings, own) as server:
            uri = beside(server, f"relay_drill_{secrets.token_hex(4)}")
            store = Store.open(uri, timeout=5.0, pool_size=5, appname="relay-drill")
            played = Rehearsal(store, settings, uri, own)
            try:
                store.ping()
                store.ensure_schema()
                yield played
            finally:
                played.end()
                store.discard()
                store.close()


def beside(uri: str, database: str) -> str:
    """The same server and the same rights, another database."""
    head, _, options = uri.partition("?")
    scheme, _, rest = head.partition("://")
    hosts, _, own = rest.partition("/")
    # A URI's database is also where its user is looked up, unless it says otherwise.
    if own and "@" in hosts and "authsource=" not in options.lower():
        options = "&".join(filter(None, (options, f"authSource={own}")))
    return f"{scheme}://{hosts}/{database}" + (f"?{options}" if options else "")


@contextmanager
def _server(settings: Settings, folder: Path) -> Iterator[str]:
    uri = settings.mongodb_uri or embedded.find(settings.data_dir)
    if uri is not None:
        yield uri
        return
    with embedded.running(folder) as server:
        yield server.uri


def _environment(key: str) -> dict[str, str]:
    """This process's environment, with what a drill has its own way of."""
    return {
        **os.environ,
        **_TIMING,
        "SECRET_KEY": key,
        "RELAY_SECRETS_KEY": key,
        "RELAY_ALLOW_HTTP": "1",
        "RELAY_EGRESS_ALLOW": "127.0.0.0/8",
        "RELAY_CONCURRENCY": "4",
        "LOG_FORMAT": "json",
        "LOG_LEVEL": "INFO",
    }
