"""What each `relay` subcommand does: read the settings, do one thing, say how it went."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relay_web import __version__, embedded
from relay_web.settings import DEFAULT_DATA_DIR, Settings

if TYPE_CHECKING:
    from relay_web.store import Store

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="RELAY_DATA_DIR",
    help="Where `relay up` keeps its MongoDB and keys. [default: .relay]",
)


@contextmanager
def open_store(settings: Settings, *, appname: str = "relay-cli") -> Iterator["Store"]:
    """The store that `settings` lead to, known to answer. Raises CannotRun or Unavailable."""
    from relay_web.store import Store

    uri = settings.mongodb_uri or embedded.locate(settings.data_dir)
    store = Store.open(uri, timeout=settings.db_timeout, pool_size=5, appname=appname)
    try:
        store.ping()
        yield store
    finally:
        store.close()


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every setting is an environment variable; the README lists them.",
)
@click.version_option(__version__, prog_name="relay")
def commands() -> None:
    """Relay delivers webhooks: at least once, fenced, and visible.

    \b
    Try it on this machine, with nothing set up:
      relay up --demo
    Publish an event:
      relay send invoice.paid '{"amount": 4200}' --api-key KEY
    """


@commands.command("up")
@click.option("--demo", is_flag=True, help="A demo team with endpoints that work, lag and fail.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Where to serve. [default: PORT or 5000]"
)
@click.option("--workers", type=click.IntRange(0, 64), default=1, show_default=True)
@data_dir_option
def run_all(demo: bool, port: int | None, workers: int, data_dir: Path | None) -> int:
    """Run everything on this machine.

    That is web, workers and, unless MONGODB_URI is set, a MongoDB.

    Without settings this is development mode: keys are made once and kept in the data directory,
    and endpoints may be plain http on this machine. Ctrl-C stops everything.

    \b
    Examples:
      relay up --demo
      relay up --port 8080 --workers 2
      relay up --workers 0        # then start workers one by one: relay worker
    """
    from relay_web.up import up

    return up(with_demo=demo, port=port, workers=workers, data_dir=data_dir)


@commands.command("web")
@data_dir_option
def serve(data_dir: Path | None) -> None:
    """Serve pages and API: the Procfile's web.

    Checks the settings, then becomes gunicorn.
    """
    settings = Settings.load(data_dir=data_dir)
    os.environ["RELAY_DATA_DIR"] = str(settings.data_dir)
    sys.stdout.flush()
    os.execv(  # a fresh interpreter: gevent has to patch before Relay is imported
        sys.executable,
        [
            sys.executable,
            "-m",
            "gunicorn",
            "-c",
            "python:relay_web.gunicorn_conf",
            "relay_web.wsgi:app",
        ],
    )


@commands.command("worker")
@data_dir_option
def deliver(data_dir: Path | None) -> int:
    """Deliver: the Procfile's worker.

    Run as many side by side as you like. SIGTERM hands over what has not been sent and lets the
    rest finish, within 25 seconds.
    """
    settings = Settings.load(data_dir=data_dir)
    from relay_web import worker

    return worker.run(settings)


@commands.command()
@data_dir_option
def migrate(data_dir: Path | None) -> None:
    """Bring the database up to date.

    Collections and indexes; safe to run again.
    """
    settings = Settings.load(data_dir=data_dir)
    with open_store(settings) as store:
        store.ensure_schema()
        click.echo(f"The database {store.db.name} is up to date.")


@commands.command()
@data_dir_option
def rekey(data_dir: Path | None) -> int:
    """Put every signing secret under the newest key.

    Set RELAY_SECRETS_KEY to NEW,OLD and restart; run this; then drop OLD and restart again.
    """
    from relay_web.domain.vault import Vault
    from relay_web.engine import rekey as work

    settings = Settings.load(data_dir=data_dir)
    with open_store(settings) as store:
        result = work.rekey(store, Vault(settings.secrets_keys))
    click.echo(f"{result.done} secrets are under the newest key.")
    for endpoint in result.unreadable:
        click.echo(f"No key opens the secret of {endpoint}; add its old key, or rotate it.")
    return 1 if result.unreadable else 0


@commands.command()
@click.option("--email", required=True, help="The user's address, for signing in.")
@click.option("--password", required=True, help="At least 12 characters; `-` reads it from stdin.")
@click.option("--team", required=True, help="The team's name; the user owns it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: team, team_id, api_key, url.")
@data_dir_option
def bootstrap(email: str, password: str, team: str, as_json: bool, data_dir: Path | None) -> None:
    """Make a user, a team and a key.

    Run again, it finds them: the same command, the same answer.

    \b
    Example:
      relay bootstrap --email me@example.com --password 'long and secret' --team Acme --json
    """
    settings = Settings.load(data_dir=data_dir)
    if password == "-":
        password = sys.stdin.readline().rstrip("\r\n")
    with open_store(settings) as store:
        store.ensure_schema()
        made = store.accounts.bootstrap(email, password, team, secret_key=settings.secret_key)
    answer = {**made, "url": served_at(settings)}
    if as_json:
        click.echo(json.dumps(answer))
        return
    for name, value in answer.items():
        click.echo(f"{name:8} {value}")


@commands.command()
@click.argument("type")
@click.argument("data", default="{}")
@click.option("--url", envvar="RELAY_URL", help="Where Relay runs. [RELAY_URL]")
@click.option("--api-key", envvar="RELAY_API_KEY", help="A key that may publish. [RELAY_API_KEY]")
@click.option("--idempotency-key", help="Sending again with the same one changes nothing.")
@data_dir_option
def send(
    type: str,
    data: str,
    url: str | None,
    api_key: str | None,
    idempotency_key: str | None,
    data_dir: Path | None,
) -> None:
    """Publish one event. DATA is JSON, or `-` to read it from stdin; it is sent as it stands.

    \b
    Examples:
      relay send invoice.paid '{"amount": 4200}' --api-key KEY
      jq .order order.json | relay send order.created -
    """
    from relay_web.publishing import publish

    if not api_key:
        raise click.UsageError("Give --api-key, or set RELAY_API_KEY")
    where = url or noted_url(data_dir or Path(DEFAULT_DATA_DIR))
    text = sys.stdin.buffer.read() if data == "-" else os.fsencode(data)
    accepted = publish(where, api_key, type, text, idempotency_key=idempotency_key)
    count = accepted["deliveries"]
    again = " (published before; nothing was added)" if accepted.get("duplicate") else ""
    click.echo(f"{accepted['id']} for {count} endpoint{'' if count == 1 else 's'}{again}")


@commands.command()
@data_dir_option
def doctor(data_dir: Path | None) -> int:
    """Check this instance.

    Settings, database, workers and egress; says what to do about what is wrong.
    """
    from relay_web.doctor import examine

    settings = Settings.load(data_dir=data_dir)
    click.echo("ok    settings: every variable can be used")
    findings = []
    with open_store(settings) as store:
        for finding in examine(settings, store):
            findings.append(finding)
            click.echo(f"{finding.level:5} {finding.subject}: {finding.sentence}")
    return 1 if any(finding.level == "fail" for finding in findings) else 0


def served_at(settings: Settings) -> str:
    """Where people reach this instance: RELAY_PUBLIC_URL, or where `relay up` serves just now."""
    if settings.public_url or settings.mongodb_uri:
        return settings.public_url or f"http://127.0.0.1:{settings.port}"
    return noted_url(settings.data_dir)


def noted_url(data_dir: Path) -> str:
    """What the last `relay up` in `data_dir` served at, or the default address."""
    note = data_dir / "url"
    return note.read_text().strip() if note.exists() else "http://127.0.0.1:5000"
