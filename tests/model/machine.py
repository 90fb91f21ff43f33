"""One delivery, three workers, a person and the database: every state, and every step it allows.

Deliveries share nothing that a fence guards, so one of them is enough. Rows and token bumps are
those of TRANSITIONS: a row added there is explored here. The database is modelled by what a
failover can do to it: `local` is what its primary holds, `safe` what a majority holds, and a
rollback puts the first back to the second. Who asks for majority hears nothing before it agrees.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from relay_web.domain.delivery import LIVE, TERMINAL, State
from relay_web.domain.transitions import TRANSITIONS, Actor, Transition

WORKERS: Final = 3
TOKENS: Final = 4
ROLLBACKS: Final = 1
#: Writes a failover can take back at once.
LAG: Final = 1
#: What a holder may say, without having sent and after it.
WORDS: Final = {
    "holding": ("release", "drop held"),
    "sending": ("deliver", "retry later", "give up", "release"),
}


class Record(NamedTuple):
    """The stored delivery; `lost`, `said` are sets of lease ids as bits."""

    state: State | None = None
    token: int = 0
    lease: int = 0
    due: bool = False
    asked: bool = False
    lost: int = 0
    #: Leases whose holder's word was taken: what is true, whatever anybody believes.
    said: int = 0
    #: The lease of the last outcome that counted.
    last: int = 0


class Worker(NamedTuple):
    """`phase`: idle, asking (claim not confirmed), holding (unsent), sending, told (not confirmed),
    telling (again, for want of a reply). What is said is chosen only when it is written: until
    then it is nobody else's business.
    """

    phase: str = "idle"
    lease: int = 0
    token: int = 0
    word: str = ""


class World(NamedTuple):
    local: Record
    safe: Record
    workers: tuple[Worker, ...]
    #: What somebody saw a while ago and is about to act on: state and token.
    looked: tuple[State, int] | None
    rollbacks: int
    #: Leases under which a request was begun.
    sent: int
    #: Writes that no majority has agreed to yet.
    lag: int


class Step(NamedTuple):
    """`row` is the transition this step makes; `by` the worker that makes it."""

    label: str
    after: World
    row: Transition | None = None
    by: Worker | None = None
    #: What a worker concluded about its own word: kept or fenced.
    fate: str = ""


START: Final = World(Record(), Record(), (Worker(),) * WORKERS, None, 0, 0, 0)


@dataclass(frozen=True)
class Rules:
    """The guards of Relay. A mutant overrides one of them."""

    #: Whether a claim is confirmed by a majority before anything is sent under it.
    claims_by_majority = True
    #: Whether what people act on may be out of date. With their guard, which is equality, acting
    #: on an old view changes nothing: there is nothing to explore.
    acts_on_memory = False

    def holds(self, record: Record, worker: Worker, row: Transition) -> bool:
        """Whether a holder's write matches."""
        return (
            record.state is row.source
            and record.token == worker.token
            and record.lease == worker.lease
        )

    def may_act(self, record: Record, looked: tuple[State, int], row: Transition) -> bool:
        """Whether a person's write matches: exactly what they looked at."""
        return (record.state, record.token) == looked and record.state is row.source


def steps(world: World, rules: Rules) -> Iterator[Step]:
    """Everything that can happen next."""
    yield from _time_and_majority(world)
    for step in _writes(world, rules):
        if step.after.local is world.local:
            yield step
        elif world.lag < LAG:
            yield step._replace(after=step.after._replace(lag=world.lag + 1))


def _writes(world: World, rules: Rules) -> Iterator[Step]:
    yield from _web(world)
    yield from _people(world, rules)
    seen = set()
    for at, worker in enumerate(world.workers):
        if worker not in seen:  # workers in the same position are interchangeable
            seen.add(worker)
            yield from _worker(world, at, worker, rules)


def _bit(lease: int) -> int:
    return 1 << lease


def moved(record: Record, row: Transition, worker: Worker | None = None) -> Record:
    """`record` after `row`: what every row does follows from its ends, its actor and its bump."""
    ended = row.source is State.LEASED and row.target is not State.LEASED
    holder = row.actor is Actor.HOLDER
    change = record._replace(state=row.target, token=record.token + row.bumps)
    if row.source is State.LEASED and row.bumps:
        change = change._replace(lost=record.lost | _bit(record.lease))
    if holder and worker is not None:
        change = change._replace(said=record.said | _bit(worker.lease))
        if row.name != "release":
            change = change._replace(last=worker.lease)
    if row.actor is Actor.WORKER and worker is not None:
        return change._replace(lease=worker.lease, due=False)
    if row.target is State.LEASED:
        return change._replace(asked=True)
    if ended or row.target in TERMINAL:
        change = change._replace(lease=0)
    asked = record.asked and row.target not in TERMINAL and row.name != "retry later"
    soon = row.target is State.PENDING and (row.name != "retry later" or record.asked)
    return change._replace(due=soon, asked=asked)


def _with(world: World, at: int, worker: Worker, **changes: object) -> World:
    workers = list(world.workers)
    workers[at] = worker
    return world._replace(workers=tuple(sorted(workers)), **changes)


def _time_and_majority(world: World) -> Iterator[Step]:
    """Time passes; a majority agrees; a failover loses what it had not agreed to."""
    local, safe = world.local, world.safe
    if local.state in LIVE and not local.due:
        later = {"local": local._replace(due=True), "safe": safe._replace(due=safe.state in LIVE)}
        yield Step("time passes", world._replace(**later))
    if not world.lag:
        return
    confirmed = {"asking": "holding", "told": "idle"}
    yield Step("a majority agrees", _heard(world._replace(safe=local, lag=0), confirmed))
    if world.rollbacks < ROLLBACKS:
        lost = world._replace(local=safe, lag=0, rollbacks=world.rollbacks + 1)
        yield Step("failover", _heard(lost, {"asking": "idle", "told": "telling"}))


def _heard(world: World, phases: dict[str, str]) -> World:
    def next_phase(worker: Worker) -> Worker:
        phase = phases.get(worker.phase, worker.phase)
        return Worker() if phase == "idle" else worker._replace(phase=phase)

    return world._replace(workers=tuple(sorted(map(next_phase, world.workers))))


def _web(world: World) -> Iterator[Step]:
    """Fan-out, by the web process or, after a crash of it, by upkeep: again and again."""
    if world.local.state is None:
        row = TRANSITIONS["open"]
        yield Step(row.name, world._replace(local=moved(world.local, row)), row)


def _people(world: World, rules: Rules) -> Iterator[Step]:
    """A person acts on what they see, or saw. Upkeep does as people do."""
    local = world.local
    if local.state is None:
        return
    now = (local.state, local.token)
    if rules.acts_on_memory and world.looked is None:
        yield Step("look", world._replace(looked=now))
    looked = world.looked or now
    acted = world._replace(looked=None)
    for row in TRANSITIONS.values():
        acts = row.actor in (Actor.PERSON, Actor.SWEEPER) and row.source is looked[0]
        if acts and rules.may_act(local, looked, row) and local.token < TOKENS:
            yield Step(row.name, acted._replace(local=moved(local, row)), row)


def _worker(world: World, at: int, worker: Worker, rules: Rules) -> Iterator[Step]:
    if worker.phase == "idle":
        yield from _claim(world, at, rules)
        return
    yield Step("crash", _with(world, at, Worker()))
    if worker.phase == "holding":
        begun = world.sent | _bit(worker.lease)
        sending = worker._replace(phase="sending")
        yield Step("send", _with(world, at, sending, sent=begun), by=sending)
    elif worker.phase == "told":
        yield Step("reply lost", _with(world, at, worker._replace(phase="telling")))
    for word in [worker.word] if worker.phase == "telling" else WORDS.get(worker.phase, ()):
        yield from _write(world, at, worker._replace(word=word), rules)


def _claim(world: World, at: int, rules: Rules) -> Iterator[Step]:
    local = world.local
    if local.token == TOKENS or not local.due:
        return
    lease = 1 + max(local.lease, world.safe.lease, *(one.lease for one in world.workers))
    for row in TRANSITIONS.values():
        if row.actor is Actor.WORKER and row.source is local.state:
            phase = "asking" if rules.claims_by_majority else "holding"
            claimer = Worker(phase, lease, local.token + row.bumps)
            after = _with(world, at, claimer, local=moved(local, row, claimer))
            yield Step(row.name, after, row, claimer)


def _write(world: World, at: int, worker: Worker, rules: Rules) -> Iterator[Step]:
    local = world.local
    word = worker.word
    if word == "give up" and local.asked:
        word = "retry later"  # somebody asked for another attempt meanwhile
    row = TRANSITIONS[word]
    if rules.holds(local, worker, row):
        told = _with(world, at, worker._replace(phase="told"), local=moved(local, row, worker))
        yield Step(row.name, told, row, worker)
    elif not world.lag:  # a write that matches nothing is confirmed like any other
        fate = "kept" if _was_kept(local, worker) else "fenced"
        yield Step(f"reads back: {fate}", _with(world, at, Worker()), None, worker, fate)


def _was_kept(record: Record, worker: Worker) -> bool:
    """The read-back of `store.deliveries`: what is in `lost` was fenced, what moved on was not."""
    if record.lost & _bit(worker.lease):
        return False
    written = record.last == worker.lease
    released = worker.word == "release" and record.state is State.PENDING
    return written or released or record.token > worker.token


def forgotten(world: World) -> World:
    """The same world without what can make no difference any more.

    Leases that nobody holds or can name again go, the others are renumbered. A worker whose lease
    has passed can only be refused, whether it has sent yet or not.
    """
    local, safe = world.local, world.safe
    named = {local.lease, safe.lease, *(one.lease for one in world.workers)} - {0}
    number = {lease: at for at, lease in enumerate(sorted(named), 1)}

    def bits(old: int) -> int:
        return sum(_bit(new) for lease, new in number.items() if old >> lease & 1)

    def record(old: Record) -> Record:
        return old._replace(
            lease=number.get(old.lease, 0), last=number.get(old.last, 0),
            lost=bits(old.lost), said=bits(old.said),
        )  # fmt: skip

    def worker(old: Worker) -> Worker:
        passed = old.lease not in (local.lease, safe.lease) and not local.said >> old.lease & 1
        if passed and old.phase in ("holding", "telling"):
            old = old._replace(phase="sending", word="")
        return old._replace(lease=number.get(old.lease, 0))

    return World(
        record(local), record(safe), tuple(sorted(map(worker, world.workers))), world.looked,
        world.rollbacks, bits(world.sent), world.lag,
    )  # fmt: skip
