"""`relay drill` with real processes: what it shows, that it can fail, what it leaves behind."""

import subprocess

import pytest

from relay_web import cli, rehearsal

KEY = "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def _server_in_use(monkeypatch, store, mongo_uri):
    """Settings of an instance with a database server; the drill sets what else it needs."""
    monkeypatch.setenv("MONGODB_URI", mongo_uri)
    for name in ("SECRET_KEY", "RELAY_SECRETS_KEY", "RELAY_LEASE", "DYNO"):
        monkeypatch.delenv(name, raising=False)


def databases(store):
    return {name for name in store.client.list_database_names() if "drill" in name}


def test_it_shows_a_stale_worker_being_refused(store, capfd):
    assert cli.run(["drill"]) == 0

    output = capfd.readouterr()
    assert output.err == ""
    steps = ["claim 1", "lease lost", "claim 2", "late result fenced", "PASS"]
    places = [output.out.index(step) for step in steps]
    assert places == sorted(places)
    assert "Late result fenced off" in output.out
    assert databases(store) == set()
    assert store.db.deliveries.count_documents({}) == 0


def test_a_worker_that_does_not_live_fails_it(store, monkeypatch, capfd):
    ends = ["/bin/sh", "-c", "echo no room for a worker; exit 1"]
    monkeypatch.setattr(rehearsal, "leashed", lambda *_: ends)

    assert cli.run(["drill"]) == 1

    last = capfd.readouterr().out.splitlines()[-1]
    assert last == "FAIL  A worker ended before worker A starts (no room for a worker)."
    assert databases(store) == set()


def test_a_bad_setting_of_the_instance_is_said_before_anything_starts(monkeypatch, capfd):
    monkeypatch.setenv("RELAY_RETRY_SCHEDULE", "soon")
    monkeypatch.setattr(subprocess, "Popen", None)

    assert cli.run(["drill"]) == 78

    assert capfd.readouterr().err.startswith("relay: RELAY_RETRY_SCHEDULE")


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("mongodb://h", "mongodb://h/x"),
        ("mongodb://h:1,g:2/relay?replicaSet=rs0", "mongodb://h:1,g:2/x?replicaSet=rs0"),
        ("mongodb+srv://u:p@h/relay", "mongodb+srv://u:p@h/x?authSource=relay"),
        ("mongodb://u:p@h/", "mongodb://u:p@h/x"),
        ("mongodb://u:p@h/relay?w=1", "mongodb://u:p@h/x?w=1&authSource=relay"),
        ("mongodb://u:p@h/relay?authSource=admin", "mongodb://u:p@h/x?authSource=admin"),
    ],
)
def test_another_database_on_the_same_server_keeps_the_rights(uri, expected):
    assert rehearsal.beside(uri, "x") == expected
