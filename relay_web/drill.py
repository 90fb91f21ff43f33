"""`relay drill`: a worker is stopped past its lease, in front of you, with real processes.

Worker A claims and sends, and is frozen before it hears the answer. Its lease runs out; worker B
claims and delivers. A wakes up and reports on what it did under its old token. PASS means that the
report changed nothing.
"""

import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from relay_web.commands import data_dir_option

if TYPE_CHECKING:
    from relay_web.domain.delivery import Delivery
    from relay_web.rehearsal import Receiver, Rehearsal, WorkerProcess
    from relay_web.store.timeline import DeliveryDetail

T = TypeVar("T")

_TEAM: Final = "team_drill"
_LOOK_EVERY: Final = 0.05
#: Seconds that anything but the lease itself may take, on a machine that is busy.
_SOON: Final = 30.0


class _Failed(Exception):
    """Something did not happen as it must."""


@click.command()
@data_dir_option
def drill(data_dir: Path | None) -> int:
    """Stop a worker past its lease, and watch.

    Two workers and a receiver are started on a database of their own, made on the server in use
    (or on one started for it) and removed afterwards; your data is not touched. Takes about 15
    seconds. Ends with PASS, or with FAIL and exit code 1.
    """
    from relay_web.rehearsal import Receiver, rehearsal

    with rehearsal(data_dir) as played, Receiver() as receiver:
        return Drill(played, receiver).run()


class Drill:
    """One play, told as it happens."""

    def __init__(self, played: "Rehearsal", receiver: "Receiver") -> None:
        self._played, self._receiver = played, receiver
        self._store = played.store
        self._began = time.monotonic()
        self._names: dict[str, str] = {}

    def run(self) -> int:
        """Play it; the exit code."""
        try:
            self._play()
        except _Failed as problem:
            click.echo(f"FAIL  {problem}")
            return 1
        return 0

    def _play(self) -> None:
        from relay_web.rehearsal import LEASE

        self._say(f"a lease lasts {LEASE:g} s in this drill; starting worker A")
        first = self._start("A")
        delivery = self._publish()
        self._until(lambda: self._receiver.requests, "A's request arrives", first)
        self._say("claim 1: A holds the lease, token 1; its request is at the receiver")
        first.freeze()
        self._say("A is stopped (SIGSTOP): it can neither report nor see the time pass")
        second = self._start("B")
        self._until(lambda: self._now(delivery).lease_token == 2, "B takes over", second)
        self._say(f"lease lost: {LEASE:g} s went by without a word from A")
        self._say("claim 2: B holds the lease, token 2, and sends the same event again")
        self._until(lambda: self._now(delivery).finished_at, "B delivers", second)
        self._say("B is answered 200: delivered, under token 2")
        self._receiver.answer()
        first.thaw()
        self._say("A goes on (SIGCONT) and reports on its request under token 1")
        report = self._until(first.reports, "A reports", first)[0]
        self._judge(delivery, report)

    def _start(self, letter: str) -> "WorkerProcess":
        worker = self._played.worker()

        def name() -> str | None:
            beats = self._store.workers.all()
            return next((beat.name for beat in beats if beat.pid == worker.pid), None)

        self._names[self._until(name, f"worker {letter} starts", worker)] = f"worker {letter}"
        self._say(f"worker {letter} is up, process {worker.pid}")
        return worker

    def _publish(self) -> str:
        """Register the receiver and publish one event; its delivery's id."""
        from relay_web.domain.delivery import delivery_id
        from relay_web.domain.event import Publish
        from relay_web.domain.vault import Vault
        from relay_web.engine.intake import Intake
        from relay_web.engine.registration import Draft, register

        settings = self._played.settings
        wish = Draft(url=self._receiver.url, name="the receiver")
        vault, policy = Vault(settings.secrets_keys), settings.egress_policy()
        endpoint, _ = register(self._store, vault, policy, _TEAM, wish)
        accepted = Intake(self._store).accept(_TEAM, Publish(type="drill.run", data=b'{"n":1}'))
        self._say(f"event {accepted.id} is published")
        return delivery_id(accepted.event, endpoint.id)

    def _judge(self, delivery: str, report: dict[str, Any]) -> None:
        """Raise unless every fact is as it must be."""
        detail = self._store.timeline.delivery(_TEAM, delivery)
        now, seen = detail.delivery, self._receiver.requests
        attempts = [(attempt.token, attempt.counted) for attempt in detail.attempts]
        ids = {headers["webhook-id"] for headers in seen}
        if (report["token"], report["fate"]) == (1, "fenced"):
            self._say("late result fenced: it changed nothing, and stays as evidence")
        self._tell(detail)
        facts = {
            "A's late report was fenced": (report["token"], report["fate"]) == (1, "fenced"),
            "the outcome is B's": now.state == "delivered" and now.lease_token == 2,
            "A's lease is on record as lost": [(one.token, one.why) for one in now.lost]
            == [(1, "expired")],
            "both attempts are kept, and the late one does not count": attempts
            == [(1, False), (2, True)],
            "the receiver saw two requests with one webhook-id": (len(seen), len(ids)) == (2, 1),
        }
        for fact, holds in facts.items():
            click.echo(f"  {'yes' if holds else 'NO ':3}  {fact}")
        if not all(facts.values()):
            raise _Failed("not everything is as it must be; see the lines above.")
        click.echo("PASS  a duplicate request, as promised; no wrong state.")

    def _tell(self, detail: "DeliveryDetail") -> None:
        click.echo(f"\nThe journal of {detail.delivery.id}, as its page shows it:")
        for entry in detail.journal:
            token = f"token {entry.token}" if entry.token is not None else ""
            at = entry.at.strftime("%H:%M:%S.%f")[:-3]
            click.echo(f"  {at}  {token:8}  {self._plain(entry.title)}")
            if entry.detail and entry.detail != token:
                indent = " " * 26
                click.echo(
                    textwrap.fill(
                        self._plain(entry.detail), 100,
                        initial_indent=indent, subsequent_indent=indent,
                    )
                )  # fmt: skip
        click.echo("")

    def _plain(self, text: str) -> str:
        for name, plain in self._names.items():
            text = text.replace(name, plain)
        return text

    def _now(self, delivery: str) -> "Delivery":
        return self._store.deliveries.get(_TEAM, delivery)

    def _say(self, text: str) -> None:
        click.echo(f"{time.monotonic() - self._began:6.1f} s  {text}")

    def _until(self, look: Callable[[], T | None], about: str, worker: "WorkerProcess") -> T:
        """What `look` returns once it is true. Raises when it is not soon, or the worker ended."""
        give_up = time.monotonic() + _SOON
        while not (found := look()):
            if not worker.is_running():
                raise _Failed(f"A worker ended before {about} ({worker.last_words()}).")
            if time.monotonic() > give_up:
                raise _Failed(f"It took more than {_SOON:g} s until {about}; try again when idle.")
            time.sleep(_LOOK_EVERY)
        return found
