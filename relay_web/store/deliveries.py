"""The only module that changes a delivery; every change is a transition of `domain.delivery`.

A holder's write is filtered on id, state, fencing token and lease id together, so a worker that
lost its lease matches nothing, whatever it believes. No status is read first and acted on after:
the filter of the write is the check.
"""

import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pymongo import UpdateOne
from pymongo.database import Database
from pymongo.errors import BulkWriteError, DuplicateKeyError

from relay_web.domain.delivery import TERMINAL, Claim, Delivery, State
from relay_web.domain.policy import Kind, Verdict
from relay_web.errors import Conflict, NotFound
from relay_web.store import moves
from relay_web.store.claims import CLAIM_FIELDS, claim_of
from relay_web.store.faults import database_errors

Doc = dict[str, Any]

DAY: Final = 86400.0
_DUPLICATE_KEY: Final = 11000


class Fate(StrEnum):
    """What became of a holder's write."""

    KEPT = "kept"  #: it counts
    FENCED = "fenced"  #: another word counts; nothing was changed
    OPEN = "open"  #: not written, and the lease is still ours: write again


@dataclass(frozen=True, slots=True)
class Result:
    """A claim and the verdict on it, ready to be committed."""

    claim: Claim
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Acted:
    """What a person's action came to: `done`, `already` (the same action id), or `asked`."""

    kind: str
    delivery: Delivery


class Deliveries:
    """Writes of the state of record."""

    def __init__(self, db: Database[Doc], retention: float = 30 * DAY) -> None:
        self._docs = db.deliveries
        #: Seconds a terminal delivery is kept.
        self.retention = retention

    def open(self, docs: Sequence[Doc]) -> None:
        """Insert new pending deliveries; those that exist already are left as they are."""
        if not docs:
            return
        with database_errors():
            try:
                self._docs.insert_many(docs, ordered=False)
            except BulkWriteError as error:
                if any(e["code"] != _DUPLICATE_KEY for e in error.details["writeErrors"]):
                    raise

    def claim(
        self, ids: Sequence[str], *, worker: str, lease: float, ordered: bool = False
    ) -> list[Claim]:
        """Take those of `ids` that are due, for `lease` seconds, all under one random lease id.

        Raises `Unavailable` where the outcome is unknown: then nothing is ours and nothing may be
        sent; what was written lapses by itself. An ordered lane is asked for one id at a time.
        """
        lease_id = secrets.token_hex(12)
        # Before the request, and on the clock that runs during suspend: our idea of the lease may
        # only ever be shorter than the database's.
        ends = time.clock_gettime(time.CLOCK_BOOTTIME) + lease
        with database_errors():
            try:
                done = self._docs.update_many(
                    moves.due(ids), moves.claim(lease_id, worker, lease, ordered=ordered)
                )
            except DuplicateKeyError:
                return []  # the ordered lane's one slot is taken
            if not done.modified_count:
                return []
            mine = {"_id": {"$in": list(ids)}, "lease.id": lease_id}
            return [claim_of(doc, ends) for doc in self._docs.find(mine, CLAIM_FIELDS)]

    def commit(self, results: Sequence[Result]) -> list[Fate]:
        """Write a group of verdicts under their tokens; one fate for each, in order.

        Successes of one claim batch share one update. Raises `Unavailable` when the outcome is
        unknown; committing the same results again is safe.
        """
        groups: dict[tuple[int, str, Verdict], list[int]] = defaultdict(list)
        single: list[int] = []
        for at, result in enumerate(results):
            if result.verdict.kind is Kind.DELIVERED:
                key = (result.claim.lease_token, result.claim.lease_id, result.verdict)
                groups[key].append(at)
            else:
                single.append(at)
        short: list[int] = []
        with database_errors():
            for (_, lease_id, verdict), members in groups.items():
                claims = [results[at].claim for at in members]
                change = moves.commit(verdict, lease_id, self.retention)
                done = self._docs.update_many(moves.held_by(claims), change)
                if done.matched_count < len(members):
                    short += members
            if single:
                ops = [self._single(results[at]) for at in single]
                if self._docs.bulk_write(ops, ordered=False).matched_count < len(single):
                    short += single
        return self._fates(results, short)

    def _single(self, result: Result) -> UpdateOne:
        change = moves.commit(result.verdict, result.claim.lease_id, self.retention)
        return UpdateOne(moves.held_by([result.claim]), change)

    def _fates(self, results: Sequence[Result], short: Iterable[int]) -> list[Fate]:
        """Tell "already ours" from "fenced" for results whose group matched fewer than it sent."""
        fates = [Fate.KEPT] * len(results)
        # By place, not by delivery: a worker that was frozen may report on one under two leases.
        unsure = {at: results[at].claim.delivery for at in short}
        if unsure:
            wanted = {"_id": {"$in": [*set(unsure.values())]}}
            with database_errors():
                found = {doc["_id"]: doc for doc in self._docs.find(wanted)}
            for at, delivery in unsure.items():
                fates[at] = _fate(results[at], found.get(delivery))
        return fates

    def retry(
        self, team: str, delivery: str, *, action_id: str, by: str,
        trigger: str = "manual", restart: bool = False,
    ) -> Acted:  # fmt: skip
        """Send again: now if it waits, next if it is being sent, one attempt if it had ended."""

        def change(seen: Delivery) -> moves.Pipeline:
            if seen.state is State.PENDING:
                return moves.retry_now(action_id, by, trigger)
            if seen.state is State.LEASED:
                return moves.ask_while_sending(action_id, by)
            return moves.revive(action_id, by, trigger, restart=restart)

        return self._act(team, delivery, action_id, change)

    def retry_many(self, seen: Sequence[Delivery], *, job: str, by: str, trigger: str) -> set[str]:
        """Send each of these again, unless it moved on since it was read; ids of those that were.

        Under one job a delivery is sent again once, however often this is repeated. Only what
        waits or has ended is taken; it starts its schedule anew.
        """
        writes = []
        for one in seen:
            action = f"{job}:{one.id}"
            if one.state is State.PENDING:
                change = moves.retry_now(action, by, trigger, job=job)
            else:
                change = moves.revive(action, by, trigger, restart=True, job=job)
            writes.append(UpdateOne(moves.seen(one, action), change))
        mine = {"_id": {"$in": [one.id for one in seen]}, "jobs": job}
        with database_errors():
            self._docs.bulk_write(writes, ordered=False)
            return {doc["_id"] for doc in self._docs.find(mine, {"_id": True})}

    def cancel(self, team: str, delivery: str, *, action_id: str, by: str) -> Acted:
        """End it without delivery; `Conflict` when it has already ended."""

        def change(seen: Delivery) -> moves.Pipeline:
            if seen.state in TERMINAL:
                raise Conflict(f"Already {seen.state.value}; there is nothing to cancel.")
            return moves.cancel(action_id, by, self.retention)

        return self._act(team, delivery, action_id, change)

    def take_over(self, team: str, delivery: str, *, action_id: str, by: str) -> Acted:
        """End the current lease by hand: its holder is fenced, the delivery is due at once."""

        def change(seen: Delivery) -> moves.Pipeline:
            if seen.state is not State.LEASED:
                raise Conflict("No worker holds this delivery now; press Retry now instead.")
            return moves.take_over(action_id, by)

        return self._act(team, delivery, action_id, change)

    def drop(self, delivery: Delivery, *, why: str) -> bool:
        """Cancel a live delivery whose endpoint was deleted; false if it moved meanwhile."""
        by = f"Relay ({why})"
        change = moves.cancel(f"drop:{delivery.lease_token}", by, self.retention, why=why)
        with database_errors():
            return self._docs.update_one(moves.seen(delivery, None), change).matched_count == 1

    def get(self, team: str, delivery: str) -> Delivery:
        """The delivery, or `NotFound` if this team has none of that id."""
        with database_errors():
            doc = self._docs.find_one({"_id": delivery, "team": team})
        if doc is None:
            raise NotFound
        return Delivery.from_doc(doc)

    def _act(self, team: str, delivery: str, action_id: str, change: Any) -> Acted:
        """One compare-and-set on what was read; read again where somebody was quicker."""
        for _ in range(5):
            before = self.get(team, delivery)
            if any(action.id == action_id for action in before.actions):
                return Acted("already", before)
            pipeline = change(before)
            with database_errors():
                done = self._docs.update_one(moves.seen(before, action_id), pipeline)
            if done.matched_count:
                kind = "asked" if before.state is State.LEASED else "done"
                return Acted(kind, self.get(team, delivery))
        raise Conflict


def _fate(result: Result, doc: Doc | None) -> Fate:
    """What the stored delivery says about a write of ours that matched nothing.

    A lease that ended without its holder is in `lost`. So a token that has moved on without that
    entry moved on *after* our write was applied.
    """
    claim = result.claim
    if doc is None:
        return Fate.KEPT  # past retention, which only follows a committed end
    ours = (claim.lease_token, claim.lease_id)
    if any((entry["token"], entry["lease_id"]) == ours for entry in doc["lost"]):
        return Fate.FENCED
    if doc["state"] == State.LEASED and doc["lease"]["id"] == claim.lease_id:
        return Fate.OPEN
    written = (doc.get("last") or {}).get("lease_id") == claim.lease_id
    # A release leaves no outcome behind; there is nothing in it that could have been fenced.
    released = result.verdict.kind is Kind.RELEASE and doc["state"] == State.PENDING
    moved_on = doc["lease_token"] > claim.lease_token
    return Fate.KEPT if written or released or moved_on else Fate.FENCED
