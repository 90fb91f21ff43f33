"""The Procfile's own lines, run as a platform runs them: through a shell, stopped by SIGTERM."""

import os
import signal
import urllib.error
import urllib.request

import pytest

from tests.platform.running import ROOT, Running, free_port

LINES = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())


@pytest.fixture
def production(store, mongo_uri, tmp_path):
    return {
        "MONGODB_URI": mongo_uri,
        "SECRET_KEY": "0123456789abcdef" * 2,
        "RELAY_SECRETS_KEY": "fedcba9876543210" * 2,
        "PORT": free_port(tmp_path),
        "RELAY_TRUSTED_PROXIES": "1",
        # As Heroku's build pack sets it.
        "GUNICORN_CMD_ARGS": "--access-logfile -",
    }


def assert_quiet(running):
    assert "Warning" not in running.output
    assert "Traceback" not in running.output


def stop_group(running):
    """SIGTERM to every process, and again, as platforms do."""
    for _ in range(2):
        os.killpg(running.process.pid, signal.SIGTERM)
    return running.ended()


def test_release_migrates(production):
    with Running(shell=LINES["release"], **production) as release:
        assert release.ended() == 0
    assert_quiet(release)


def test_web_answers_and_ends_cleanly(production):
    with Running(shell=f"exec {LINES['web']}", **production) as web:
        url = f"http://127.0.0.1:{production['PORT']}"
        web.wait_until(lambda: answers(url), "an answer")
        request = urllib.request.Request(
            f"{url}/api/v1/endpoints?token=in-the-log", headers={"X-Forwarded-Proto": "https"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        refused.value.close()
        assert stop_group(web) == 0
    assert_quiet(web)
    assert "event=request method=GET path=/api/v1/endpoints status=4" in web.output
    assert "in-the-log" not in web.output


def test_worker_beats_and_ends_cleanly(production, store):
    with Running(shell=f"exec {LINES['worker']}", **production) as worker:
        worker.wait_until(lambda: store.workers.live() == 1, "a heartbeat")
        assert stop_group(worker) == 0
    assert_quiet(worker)


@pytest.mark.parametrize("process", ["release", "web", "worker"])
def test_a_setting_that_cannot_work_ends_each_process_with_78(production, process):
    broken = {**production, "RELAY_LEASE": "1", "SECRET_KEY": ""}
    with Running(shell=f"exec {LINES[process]}", **broken) as refused:
        assert refused.ended() == 78
    assert [line.split()[:2] for line in refused.output.splitlines()] == [
        ["relay:", "SECRET_KEY"],
        ["relay:", "RELAY_LEASE"],
    ]


def test_gunicorn_by_hand_gives_up_at_a_bad_setting_rather_than_restarting_for_ever(production):
    by_hand = "exec gunicorn -c python:relay_web.gunicorn_conf relay_web.wsgi:app"
    with Running(shell=by_hand, **{**production, "SECRET_KEY": ""}) as refused:
        assert refused.ended() != 0
    assert "relay: SECRET_KEY must be set" in refused.output


def answers(url):
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=1) as reply:
            return reply.status == 200
    except OSError:
        return False
