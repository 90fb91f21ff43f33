"""`relay up` with real processes: it comes up whole, and ends whole, whatever ends it."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from relay_web import embedded
from tests.platform.running import ROOT, Running, free_port

ACCOUNT = ("--email", "ops@example.com", "--password", "a long enough one", "--team", "Acme")


def relay(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "relay_web", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def up(folder: Path, *arguments: str, **environment: str) -> Running:
    port = free_port(folder.parent)
    running = Running("up", "--data-dir", str(folder), "--port", port, *arguments, **environment)
    running.wait_for("Ctrl-C stops everything")
    return running


def family(running: Running) -> list[psutil.Process]:
    """Every process below the supervisor."""
    return psutil.Process(running.process.pid).children(recursive=True)


def child(running: Running, word: str) -> psutil.Process:
    """The one process just below the supervisor whose command line holds `word`."""
    below = psutil.Process(running.process.pid).children()
    return next(process for process in below if word in process.cmdline())


def assert_all_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=40)
    assert not alive


def test_everything_comes_up_and_goes_down_by_one_signal(tmp_path):
    with up(tmp_path / "data") as running:
        processes = family(running)
        names = {word for process in processes for word in process.cmdline()}
        assert {"worker", "gunicorn"} <= names
        assert any(process.name() == "mongod" for process in processes)
        assert running.stop(signal.SIGTERM) == 0
    assert_all_gone(processes)
    assert "Warning" not in running.output
    assert "Traceback" not in running.output


def test_ctrl_c_in_a_terminal_reaches_the_whole_group_and_still_ends_in_order(tmp_path):
    with up(tmp_path / "data") as running:
        processes = family(running)
        os.killpg(running.process.pid, signal.SIGINT)
        assert running.ended() == 0
    assert_all_gone(processes)
    assert "Traceback" not in running.output


def test_commands_in_other_processes_find_it_by_its_data_directory(tmp_path):
    folder = str(tmp_path / "data")
    with up(tmp_path / "data", "--workers", "0") as running:
        made = relay("bootstrap", *ACCOUNT, "--json", "--data-dir", folder)
        answer = json.loads(made.stdout)
        with urllib.request.urlopen(f"{answer['url']}/healthz") as reply:
            assert reply.status == 200
        assert "none is beating" in relay("doctor", "--data-dir", folder).stdout
        with (
            Running("worker", RELAY_DATA_DIR=folder) as first,
            Running("worker", "--data-dir", folder) as second,
        ):
            for worker in (first, second):
                worker.wait_for("worker.started")
            running.wait_until(
                lambda: "2 beating" in relay("doctor", "--data-dir", folder).stdout, "two workers"
            )
            key = answer["api_key"]
            sent = relay("send", "a.b", '{"n": 1}', "--api-key", key, "--data-dir", folder)
            assert (sent.returncode, sent.stderr) == (0, "")
            assert sent.stdout.startswith("msg_")
            assert [first.stop(), second.stop(signal.SIGINT)] == [0, 0]
        assert "Warning" not in first.output + second.output
        assert "Traceback" not in first.output + second.output


def test_a_crashed_worker_is_started_again(tmp_path):
    with up(tmp_path / "data") as running:
        running.wait_for("worker.started")
        child(running, "worker").kill()
        running.wait_for("worker.1 | ended (SIGKILL); starting it again in 1 s")
        running.wait_until(lambda: running.output.count("worker.started") == 2, "second start")
        assert running.stop() == 0


def test_when_the_web_process_dies_everything_ends_with_a_sentence(tmp_path):
    with up(tmp_path / "data") as running:
        processes = family(running)
        child(running, "gunicorn").kill()
        assert running.ended() == 1
    assert "relay: The web process ended (SIGKILL), so everything was stopped." in running.output
    assert_all_gone(processes)


def test_when_the_database_dies_everything_ends_with_a_sentence(tmp_path):
    with up(tmp_path / "data") as running:
        processes = family(running)
        next(process for process in processes if process.name() == "mongod").kill()
        assert running.ended() == 1
    assert "relay: MongoDB ended, so everything was stopped" in running.output
    assert_all_gone(processes)


def test_a_killed_supervisor_leaves_nothing_that_blocks_the_next_start(tmp_path):
    with up(tmp_path / "data") as running:
        processes = family(running)
        running.process.kill()
        running.ended()
    assert_all_gone(processes)
    with up(tmp_path / "data") as running:
        assert running.stop() == 0


def api(running: Running, path: str) -> Any:
    """GET from the API of a demo, with the key that it printed."""
    url = re.search(r"Relay is at (\S+)", running.output)[1]
    key = re.search(r"API key +(\S+)", running.output)[1]
    request = urllib.request.Request(
        f"{url}/api/v1/{path}", headers={"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def test_the_demo_is_alive_and_the_second_start_finds_it_again(tmp_path):
    def states(running: Running) -> set[str]:
        return {item["state"] for item in api(running, "deliveries?limit=100")["items"]}

    with up(tmp_path / "data", "--demo") as running:
        names = {item["name"] for item in api(running, "endpoints")["items"]}
        assert names == {"Warehouse", "Accounting", "Old CRM"}
        running.wait_until(
            lambda: {"delivered", "retrying"} <= states(running), "deliveries and retries"
        )
        before = {item["id"] for item in api(running, "deliveries?limit=100")["items"]}
        guide = re.findall(r"(?:Sign in|API key) .*", running.output)
        assert running.stop() == 0
    assert "Traceback" not in running.output
    with up(tmp_path / "data", "--demo") as running:
        assert re.findall(r"(?:Sign in|API key) .*", running.output) == guide
        assert before <= {item["id"] for item in api(running, "deliveries?limit=100")["items"]}
        assert len(api(running, "endpoints")["items"]) == 3


@pytest.fixture(scope="module")
def living(tmp_path_factory):
    """One instance that the tests below only look at."""
    folder = tmp_path_factory.mktemp("living") / "data"
    with up(folder, "--workers", "0") as running:
        yield folder, running


def test_a_second_start_in_the_same_directory_is_refused(living, tmp_path):
    folder, _ = living
    second = relay("up", "--data-dir", str(folder), "--port", free_port(tmp_path))
    assert second.returncode == 1
    assert second.stderr.startswith("relay: A MongoDB is already running in")


def test_a_port_in_use_is_refused_before_anything_starts(living, tmp_path):
    folder, _ = living
    taken = (folder / "url").read_text().strip().rpartition(":")[2]
    second = relay("up", "--data-dir", str(tmp_path / "data"), "--port", taken)
    assert second.returncode == 1
    assert f"Port {taken} is in use; choose another one with --port." in second.stderr
    assert embedded.find(tmp_path / "data") is None


def test_a_data_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    refused = relay("up", "--data-dir", str(tmp_path / "file" / "data"))
    assert refused.returncode == 1
    assert "choose another --data-dir" in refused.stderr


def test_the_demo_is_for_development_mode_only(tmp_path):
    keys = {"SECRET_KEY": "0123456789abcdef" * 2, "RELAY_SECRETS_KEY": "fedcba9876543210" * 2}
    refused = relay("up", "--demo", "--data-dir", str(tmp_path / "data"), **keys)
    assert refused.returncode == 1
    assert "--demo is for development mode only" in refused.stderr
