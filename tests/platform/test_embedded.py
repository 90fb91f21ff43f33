"""The embedded MongoDB, with real servers: single, findable, never in a next start's way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pymongo
import pytest

from relay_web import embedded
from relay_web.errors import CannotRun

OWNER = """
import sys, time
from pathlib import Path
from relay_web import embedded
{twist}
server = embedded.start(Path(sys.argv[1]))
print(server.process.pid, flush=True)
time.sleep(600)
"""


def insert(uri: str) -> None:
    with pymongo.MongoClient(uri) as client:
        client.relay.notes.insert_one({})


def count(uri: str) -> int:
    with pymongo.MongoClient(uri) as client:
        return client.relay.notes.count_documents({})


def start_owner(folder: Path, twist: str = "") -> tuple[subprocess.Popen[str], int]:
    """A process that starts a server in `folder` and holds it; also the server's pid."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(twist=twist), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner.stdout:
        return owner, int(owner.stdout.readline())


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


def test_it_takes_writes_as_a_replica_set_and_keeps_them(tmp_path):
    with embedded.running(tmp_path) as server:
        insert(server.uri)
        with pymongo.MongoClient(server.uri) as client:
            assert client.admin.command("hello")["setName"] == "rs0"
        port = (tmp_path / "mongod.port").read_text()
    assert embedded.find(tmp_path) is None
    with embedded.running(tmp_path) as server:
        assert count(server.uri) == 1
        assert (tmp_path / "mongod.port").read_text() == port


def test_another_process_finds_it_by_its_data_directory_and_cannot_start_a_second(tmp_path):
    owner, _ = start_owner(tmp_path)
    try:
        assert count(embedded.locate(tmp_path)) == 0
        with pytest.raises(CannotRun, match=r"already running in .*; stop the `relay up`"):
            embedded.start(tmp_path)
    finally:
        owner.kill()
        owner.wait()


def test_an_empty_directory_has_none_and_the_sentence_says_what_to_do(tmp_path):
    assert embedded.find(tmp_path) is None
    with pytest.raises(CannotRun, match="start `relay up` with this data directory, or set MONGO"):
        embedded.locate(tmp_path)


def test_a_killed_server_recovers_at_the_next_start(tmp_path):
    with embedded.running(tmp_path) as server:
        insert(server.uri)
        server.process.kill()
        server.process.wait()
    with embedded.running(tmp_path) as server:
        assert count(server.uri) == 1


def test_a_killed_owner_takes_its_server_along(tmp_path):
    owner, pid = start_owner(tmp_path)
    insert(embedded.locate(tmp_path))
    owner.kill()
    owner.wait()
    with embedded.running(tmp_path) as server:
        assert count(server.uri) == 1
    wait_gone(pid)


def test_an_orphan_is_stopped_before_a_new_server_starts(tmp_path):
    # Given a server without its leash, as on systems that have none
    owner, pid = start_owner(tmp_path, "embedded.leashed = lambda command, number: command")
    insert(embedded.locate(tmp_path))
    # When its owner is killed outright
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    # Then the next start ends the orphan and finds the data
    with embedded.running(tmp_path) as server:
        wait_gone(pid)
        assert count(server.uri) == 1


def test_a_server_that_cannot_run_says_why(tmp_path, monkeypatch):
    broken = tmp_path / "mongod"
    broken.write_text(
        "#!/bin/sh\necho 'libcurl.so.4: cannot open shared object file' >&2\nexit 127\n"
    )
    broken.chmod(0o755)
    monkeypatch.setattr(embedded, "find_mongod", lambda: broken)
    with pytest.raises(CannotRun, match=r"libcurl\.so\.4.*set MONGODB_URI"):
        embedded.start(tmp_path / "data")
    assert embedded.find(tmp_path / "data") is None


def test_where_there_is_no_mongod_the_sentence_asks_for_an_address(monkeypatch):
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CannotRun, match="set MONGODB_URI"):
        embedded.find_mongod()
