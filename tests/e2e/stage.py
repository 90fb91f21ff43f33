"""A team with endpoints on a scripted receiver, and the processes that one test runs."""

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from relay_web.domain.delivery import Delivery
from relay_web.domain.egress import EgressPolicy
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.event import Accepted, Publish
from relay_web.domain.journal import JournalEntry
from relay_web.domain.roles import Scope
from relay_web.domain.vault import Vault
from relay_web.engine.intake import Intake
from relay_web.engine.registration import Draft, Registered, register
from relay_web.store import Store
from tests.e2e.processes import Process
from tests.e2e.waiting import SOON, eventually
from tests.e2e.web import Web
from tests.receiver import Receiver, Request

KEY = "a key that only end-to-end tests use"
#: Seconds. The lease is the shortest that start-up allows with these: deadline + 2 × database
#: timeout + 5. A database timeout below a second would fail on a machine that is merely busy.
DEADLINE, DB_TIMEOUT = 1.0, 1.0
LEASE = DEADLINE + 2 * DB_TIMEOUT + 5
#: Settings of a worker that is to be caught in the act, with the lease that goes with them: what
#: it has begun is still under way when the test has seen it and reached for it.
PATIENT_LEASE = LEASE + 3
PATIENT = {"RELAY_SEND_DEADLINE": f"{DEADLINE + 3:g}s", "RELAY_LEASE": f"{PATIENT_LEASE:g}s"}


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process, and the name under which it holds leases."""

    process: Process
    name: str


class Stage:
    """What one test needs. Everything started through it ends with it."""

    def __init__(self, store: Store, uri: str, receiver: Receiver, folder: Path) -> None:
        self.store, self.receiver = store, receiver
        self.team = store.accounts.teams.add("Acme", "usr_owner").id
        self.vault = Vault([KEY])
        self.policy = EgressPolicy(allow_http=True, allow=EgressPolicy.parse_allow("127.0.0.0/8"))
        self._intake = Intake(store)
        self._folder = folder
        self._numbers = count(1)
        self.processes: list[Process] = []
        self.settings = {
            "MONGODB_URI": uri,
            "SECRET_KEY": KEY,
            "RELAY_SECRETS_KEY": KEY,
            "RELAY_ALLOW_HTTP": "1",
            "RELAY_EGRESS_ALLOW": "127.0.0.0/8",
            "RELAY_SEND_DEADLINE": f"{DEADLINE:g}s",
            "RELAY_DB_TIMEOUT": f"{DB_TIMEOUT:g}s",
            "RELAY_LEASE": f"{LEASE:g}s",
            "RELAY_RETRY_SCHEDULE": "200ms,200ms,200ms,200ms",
            "RELAY_TRUSTED_PROXIES": "1",
            "HOST": "127.0.0.1",
            "WEB_CONCURRENCY": "1",
        }

    def start(self, kind: str, **settings: str) -> Process:
        """A process by its name in the Procfile, with `settings` on top of the stage's own."""
        log = self._folder / f"{kind}.{next(self._numbers)}.log"
        process = Process(kind, {**self.settings, **settings}, log)
        self.processes.append(process)
        return process

    def worker(self, **settings: str) -> Worker:
        """A worker that has said its first beat."""
        process = self.start("worker", **settings)
        return Worker(process, eventually(lambda: self._name(process), "the worker beats"))

    def web(self, port: int | None = None, **settings: str) -> Web:
        """A web process that is ready to serve, on this port or a free one."""
        port = port or _free_port()
        process = self.start("web", PORT=str(port), **settings)
        web = Web(process, port, self._api_key())
        eventually(lambda: self._is_ready(web), "the web process is ready")
        return web

    def endpoint(self, path: str, **draft: Any) -> Endpoint:
        """A registered endpoint on the receiver."""
        return self.register(path, **draft).endpoint

    def register(self, path: str, **draft: Any) -> Registered:
        """The same, with its secret in clear."""
        wish = Draft(url=self.receiver.url(path), **draft)
        return register(self.store, self.vault, self.policy, self.team, wish)

    def publish(self, *, to: Endpoint | None = None, n: int = 0) -> Accepted:
        """Accept one event, for one endpoint or for all that listen."""
        return self._intake.accept(self.team, _wish(to, n))

    def publish_many(self, number: int, *, to: Endpoint | None = None) -> list[str]:
        """Accept so many events, numbered in their data; their ids in order."""
        answers = self._intake.accept_many(self.team, [_wish(to, n) for n in range(number)])
        accepted = [answer for answer in answers if isinstance(answer, Accepted)]
        assert len(accepted) == number, answers
        return [one.id for one in accepted]

    def deliveries(self, **query: Any) -> list[Delivery]:
        """The deliveries of the team that match, oldest first."""
        found = self.store.db.deliveries.find({"team": self.team, **query}).sort("_id")
        return [Delivery.from_doc(doc) for doc in found]

    def states(self) -> dict[str, int]:
        """How many deliveries are in which state."""
        steps = [{"$group": {"_id": "$state", "count": {"$sum": 1}}}]
        return {row["_id"]: row["count"] for row in self.store.db.deliveries.aggregate(steps)}

    def settled(self, *, within: float = SOON, **states: int) -> None:
        """Wait until exactly so many deliveries are in each state, and none in any other."""
        eventually(
            lambda: self.states() == states,
            f"all deliveries are {states}",
            within=within,
            seen=self.states,
        )

    def sent(self, delivery: Delivery) -> list[Request]:
        """The requests of one delivery, as they arrived."""
        every = self.receiver.requests()
        return [one for one in every if one.headers["relay-delivery"] == delivery.id]

    def journal(self, delivery: Delivery) -> Sequence[JournalEntry]:
        return self.store.timeline.delivery(delivery.team, delivery.id).journal

    def close(self) -> None:
        """End every process, and fail for what they should not have said."""
        for process in self.processes:
            process.end()
        said = {process.log.name: process.complaints() for process in self.processes}
        assert not any(said.values()), said

    def _name(self, process: Process) -> str | None:
        assert process.is_running, process.output()
        beats = (beat for beat in self.store.workers.all() if beat.state == "beating")
        return next((beat.name for beat in beats if beat.pid == process.pid), None)

    def _is_ready(self, web: Web) -> bool:
        assert web.process.is_running, web.process.output()
        return web.is_ready()

    def _api_key(self) -> str:
        _, key = self.store.accounts.keys.add(self.team, name="e2e", scopes=tuple(Scope), by="test")
        return key


def _wish(to: Endpoint | None, number: int) -> Publish:
    data = json.dumps({"n": number}).encode()
    return Publish(type="invoice.paid", data=data, only_endpoint=to.id if to else None)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
