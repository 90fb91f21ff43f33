"""The commands: exit codes, and a sentence that says what to do for everything that goes wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from relay_web import cli

KEY = "0123456789abcdef" * 2
ACCOUNT = ["--email", "ops@example.com", "--password", "a long enough one", "--team", "Acme"]


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    """Nothing of the caller's environment, and a data directory that does not exist yet."""
    for name in ("MONGODB_URI", "RELAY_URL", "RELAY_API_KEY", "PORT", "DYNO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RELAY_DATA_DIR", str(tmp_path / "none"))


@pytest.fixture
def production(monkeypatch, store, mongo_uri):
    """Settings that lead to this test's own database."""
    for name, value in {
        "MONGODB_URI": mongo_uri,
        "SECRET_KEY": KEY,
        "RELAY_SECRETS_KEY": KEY[::-1],
    }.items():
        monkeypatch.setenv(name, value)
    return store


#: command line, exit code, what stderr must hold
BAD = [
    (["--nonsense"], 2, "relay: No such option '--nonsense'"),
    (["fly"], 2, "No such command 'fly'"),
    (["up", "--port", "70000"], 2, "70000 is not in the range"),
    (["up", "--port", "x"], 2, "see `relay up --help`"),
    (["up", "--workers", "-1"], 2, "-1 is not in the range"),
    (["up", "--data-dir", __file__], 2, "is a file"),
    (["bootstrap"], 2, "Missing option '--email'"),
    (["bootstrap", "--email", "x"], 2, "Missing option"),
    (["send"], 2, "Missing argument 'TYPE'"),
    (["send", "a.b"], 2, "Give --api-key, or set RELAY_API_KEY; see `relay send --help`."),
    (["send", "a.b", "{bad", "--api-key", "k"], 2, "DATA is not JSON"),
    (["send", "a.b", "{}", "--api-key", "k", "--url", "ftp://x"], 2, "--url: Use an address"),
    (["send", "a.b", "{}", "--api-key", "k", "--url", "http://127.0.0.1:1"], 1, "No Relay answers"),
    (["send", "a.b", "{}", "--api-key", "k\n", "--url", "http://127.0.0.1:1"], 1, "relay: "),
    (["migrate"], 78, "start `relay up` there first, or set MONGODB_URI"),
    (["worker"], 78, "start `relay up` there first, or set MONGODB_URI"),
    (["doctor"], 78, "start `relay up` there first, or set MONGODB_URI"),
    (["bootstrap", *ACCOUNT], 78, "start `relay up` there first, or set MONGODB_URI"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_gives_a_sentence_and_its_code(arguments, code, said, capsys):
    assert cli.run(arguments) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert said in output.err
    assert output.err.startswith("relay: ")
    assert "Traceback" not in output.err


@pytest.mark.parametrize(
    "command", ["up", "web", "worker", "migrate", "bootstrap", "send", "doctor", "drill"]
)
def test_help_teaches_every_command(command, capsys):
    assert cli.run([command, "--help"]) == 0
    assert f"Usage: relay {command}" in capsys.readouterr().out


def test_an_existing_directory_without_a_running_database_is_explained(tmp_path, capsys):
    assert cli.run(["migrate", "--data-dir", str(tmp_path)]) == 1
    assert "No MongoDB is running in" in capsys.readouterr().err


def test_every_bad_setting_has_its_own_line(production, monkeypatch, capsys):
    monkeypatch.setenv("PORT", "x")
    monkeypatch.setenv("RELAY_LEASE", "1")
    assert cli.run(["migrate"]) == 78
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == [
        "PORT",
        "RELAY_LEASE",
    ]


def test_a_database_that_is_away_is_said_in_a_sentence(production, monkeypatch, capsys):
    monkeypatch.setenv("MONGODB_URI", "mongodb://127.0.0.1:1/relay")
    monkeypatch.setenv("RELAY_DB_TIMEOUT", "300ms")
    assert cli.run(["migrate"]) == 1
    assert "database is away" in capsys.readouterr().err


def test_a_name_without_database_records_is_a_bad_setting(production, monkeypatch, capsys):
    monkeypatch.setenv("MONGODB_URI", "mongodb+srv://nowhere.invalid/relay")
    assert cli.run(["migrate"]) == 78
    assert capsys.readouterr().err.startswith("relay: MONGODB_URI")


def test_migrate_can_be_run_again(production, capsys):
    assert cli.run(["migrate"]) == 0
    assert cli.run(["migrate"]) == 0
    assert capsys.readouterr().out.count("is up to date") == 2


def test_bootstrap_gives_the_same_answer_every_time(production, capsys):
    answers = []
    for _ in range(2):
        assert cli.run(["bootstrap", *ACCOUNT, "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert set(answers[0]) == {"team", "team_id", "api_key", "url"}
    assert answers[0]["url"] == "http://127.0.0.1:5000"


@pytest.mark.parametrize(
    ("option", "value"), [("--email", "nobody"), ("--password", "short"), ("--team", " ")]
)
def test_bootstrap_names_the_option_that_is_wrong(production, option, value, capsys):
    arguments = list(ACCOUNT)
    arguments[arguments.index(option) + 1] = value
    assert cli.run(["bootstrap", *arguments]) == 2
    assert capsys.readouterr().err.startswith("relay: --")
    assert production.db.users.count_documents({}) == 0
    assert production.db.teams.count_documents({}) == 0


def test_doctor_finds_that_nothing_delivers(production, capsys):
    assert cli.run(["doctor"]) == 1
    output = capsys.readouterr().out
    assert "ok    replica set: rs0" in output
    assert "ok    write concern: majority and journaled" in output
    assert "fail  workers: none is beating" in output
    assert "ok    egress: https only, public addresses only" in output


def test_a_reader_that_leaves_early_causes_no_traceback(production):
    command = f"{sys.executable} -m relay_web doctor | true"
    done = subprocess.run(
        ["sh", "-c", command], cwd=Path(cli.__file__).parent.parent, capture_output=True, text=True
    )
    assert done.stderr == ""
