"""One run of the bench: the system, how thorough to be, and the set-ups that figures share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from bench.seed import TEAM, Seeder, endpoints
from bench.system import Process, Receiver, System, wait_for
from relay_web.domain.vault import Vault
from relay_web.store import Store


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of steady work. Costs are microseconds of CPU for one delivery."""

    rate: float
    worker: float
    mongod: float
    receiver: float
    held: int


@dataclass(frozen=True, slots=True)
class Field:
    """A database with signed endpoints at a receiver, and the means to fill their lanes."""

    system: System
    store: Store
    receiver: Receiver
    seeder: Seeder
    lanes: Sequence[str]

    def window(self, workers: Sequence[Process], count: int) -> Window:
        """Seed `count` deliveries, measure from the last insert until 90 % are sent, and drain."""
        cost = {"mongod": [self.system.mongod], "receiver": [self.receiver.process]}
        cost["worker"] = list(workers)
        first = self.receiver.count()
        self.seeder.deliveries(self.lanes, count)
        before = {name: sum(one.cpu() for one in family) for name, family in cost.items()}
        sent, began = self.receiver.count(), perf_counter()
        held = self.store.db.deliveries.count_documents({"state": "leased"})
        wait_for(lambda: self.receiver.count() >= first + count * 0.9, "delivering")
        done, took = self.receiver.count() - sent, perf_counter() - began
        used = {
            name: (sum(one.cpu() for one in family) - before[name]) / done * 1e6
            for name, family in cost.items()
        }
        self.drain()
        return Window(done / took, used["worker"], used["mongod"], used["receiver"], held)

    def drain(self) -> None:
        """Wait until nothing is pending or leased."""
        live = {"lane": {"$exists": True}}
        wait_for(
            lambda: self.store.db.deliveries.find_one(live, hint="lane_due_at") is None, "draining"
        )


@dataclass(frozen=True, slots=True)
class Run:
    """`quick` measures less often and less long: good for a look, not for a claim."""

    system: System
    quick: bool = False

    @property
    def vault(self) -> Vault:
        return Vault([self.system.secrets_key])

    def times(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    @contextmanager
    def field(
        self, name: str, lanes: int, *, path: str = "ok", size: int = 1024, **changes: Any
    ) -> Iterator[Field]:
        """A fresh database with `lanes` endpoints; bodies have about `size` bytes."""
        with self.system.receiver() as receiver, self.system.store(name) as store:
            made = endpoints(store, self.vault, receiver.base, lanes, path=path, **changes)
            seeder = Seeder(store, changes.get("team", TEAM), size)
            yield Field(self.system, store, receiver, seeder, [one.id for one in made])
