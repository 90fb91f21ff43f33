"""Bulk jobs: what is to be sent again, how far that has come, and who is at it.

A job's filter and its as-of time never change. One worker at a time works on it, under a lease
with a random id; the id is in the filter of each of its writes, so one that stalled writes nothing.
"""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from pymongo import ReturnDocument
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.clock import new_id
from relay_web.domain.bulk import JobState, Kind, LeftOut
from relay_web.domain.causes import CodeClass
from relay_web.domain.delivery import Word
from relay_web.errors import NotFound
from relay_web.store import moves
from relay_web.store.faults import database_errors
from relay_web.store.filtering import Filters

Doc = dict[str, Any]

#: Seconds that a job is kept after its end.
KEPT: Final = 90 * 86400.0
_FREE: Final[Doc] = {"$expr": {"$lte": ["$lease_until", "$$NOW"]}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody wants sent again. `pace`: deliveries a second for each endpoint."""

    team: str
    kind: Kind
    filters: Filters
    #: Nothing that failed later is swept in.
    as_of: datetime
    pace: int | None = None

    @property
    def trigger(self) -> str:
        return "bulk" if self.kind is Kind.RETRY else "recover"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkJob:
    """One job. `matched` is a lower bound while `at_least`; `position` is the last id looked at."""

    id: str
    wish: Wish
    by: str
    state: JobState
    matched: int
    at_least: bool
    skipped: Mapping[LeftOut, int]
    position: str
    rev: int
    created_at: datetime
    ended_at: datetime | None = None
    ended_by: str | None = None
    #: The right to work on it, for the worker that took it.
    lease: str = field(default="", repr=False)

    @classmethod
    def from_doc(cls, doc: Doc) -> "BulkJob":
        return cls(
            id=doc["_id"],
            wish=Wish(
                team=doc["team"],
                kind=Kind(doc["kind"]),
                filters=_filters(doc["filters"]),
                as_of=doc["as_of"],
                pace=doc["pace"],
            ),
            by=doc["by"],
            state=JobState(doc["state"]),
            matched=doc["matched"],
            at_least=doc["at_least"],
            skipped={LeftOut(name): count for name, count in doc["skipped"].items()},
            position=doc["position"],
            rev=doc["rev"],
            created_at=doc["created_at"],
            ended_at=doc.get("ended_at"),
            ended_by=doc.get("ended_by"),
            lease=doc.get("lease", ""),
        )


class BulkJobs:
    """The `bulk_jobs` collection."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.bulk_jobs

    @database_errors()
    def start(
        self,
        wish: Wish,
        *,
        action_id: str,
        by: str,
        matched: int,
        at_least: bool,
        skipped: Mapping[LeftOut, int],
        now: datetime,
    ) -> BulkJob:
        """A running job; with an `action_id` used before in this team, the job that it started.

        `skipped` holds what is left out before anything is looked at; it counts as matched.
        """
        job: Doc = {
            "_id": new_id("job"),
            "team": wish.team,
            "action_id": action_id,
            "kind": wish.kind.value,
            "filters": _stored(wish.filters),
            "as_of": wish.as_of,
            "pace": wish.pace,
            "by": by,
            "state": JobState.RUNNING.value,
            "matched": matched,
            "at_least": at_least,
            "skipped": dict(skipped),
            "position": "",
            "rev": 0,
            "created_at": now,
            "lease_until": now,
        }
        try:
            self._docs.insert_one(job)
        except DuplicateKeyError:
            made = self.made_by(wish.team, action_id)
            if made is None:
                raise
            return made
        return BulkJob.from_doc(job)

    @database_errors()
    def made_by(self, team: str, action_id: str) -> BulkJob | None:
        """The job that this one-time id started already."""
        doc = self._docs.find_one({"team": team, "action_id": action_id})
        return BulkJob.from_doc(doc) if doc else None

    @database_errors()
    def get(self, team: str, job: str) -> BulkJob:
        """One job of this team; raises `NotFound`."""
        doc = self._docs.find_one({"_id": job, "team": team})
        if doc is None:
            raise NotFound
        return BulkJob.from_doc(doc)

    @database_errors()
    def running(self, team: str) -> list[str]:
        """Ids of the team's jobs that are under way."""
        found = self._docs.find({"state": "running", "team": team}, {"_id": True}).limit(100)
        return [doc["_id"] for doc in found]

    @database_errors()
    def stop(self, team: str, job: str, *, by: str) -> bool:
        """End it now; false where it had ended already. Its worker's next write is refused."""
        change = _ended(JobState.STOPPED) | {"ended_by": {"$literal": by}}
        query = {"_id": job, "team": team, "state": "running"}
        return self._docs.update_one(query, [{"$set": change}]).matched_count == 1

    @database_errors()
    def take(self, seconds: float) -> BulkJob | None:
        """A running job that nobody works on, for so long; None if there is none."""
        change = {"lease": secrets.token_hex(12), "lease_until": moves.later(seconds)}
        doc = self._docs.find_one_and_update(
            {"state": "running", **_FREE},
            [{"$set": change}],
            return_document=ReturnDocument.AFTER,
        )
        return BulkJob.from_doc(doc) if doc else None

    def keep(self, job: BulkJob, seconds: float) -> bool:
        """Hold it for so long from now; false where it was stopped or is no longer ours."""
        return self._write(job, {"lease_until": moves.later(seconds)})

    def advance(self, job: BulkJob, position: str, skipped: Mapping[LeftOut, int]) -> bool:
        """Everything up to `position` is done; the rest as for `keep`."""
        counts: Doc = {
            f"skipped.{reason}": {"$add": [{"$ifNull": [f"$skipped.{reason}", 0]}, count]}
            for reason, count in skipped.items()
        }
        return self._write(job, counts | {"position": position, "rev": {"$add": ["$rev", 1]}})

    def finish(self, job: BulkJob, *, queued: int) -> bool:
        """It came to its end with so many queued. What is missing by then moved on meanwhile."""
        sums = {"$map": {"input": {"$objectToArray": "$skipped"}, "in": "$$this.v"}}
        looked = {"$add": [queued, {"$sum": sums}]}
        missing = {"$max": [0, {"$subtract": ["$matched", looked]}]}
        moved_on = {"$add": [{"$ifNull": [f"$skipped.{LeftOut.CHANGED}", 0]}, missing]}
        change = {f"skipped.{LeftOut.CHANGED}": moved_on, "matched": {"$max": ["$matched", looked]}}
        return self._write(job, change | _ended(JobState.DONE) | {"at_least": False})

    def release(self, job: BulkJob) -> None:
        """Let another worker have it at once, if it is still ours."""
        self._write(job, {"lease_until": moves.NOW})

    @database_errors()
    def _write(self, job: BulkJob, change: Doc) -> bool:
        mine = {"_id": job.id, "state": "running", "lease": job.lease}
        return self._docs.update_one(mine, [{"$set": change}]).matched_count == 1


def _ended(state: JobState) -> Doc:
    return {
        "state": state.value,
        "ended_at": moves.NOW,
        "expire_at": moves.later(KEPT),
        "rev": {"$add": ["$rev", 1]},
    }


def _stored(filters: Filters) -> Doc:
    doc = asdict(filters) | {"words": sorted(filters.words), "ids": list(filters.ids)}
    return {key: value for key, value in doc.items() if value}


def _filters(doc: Doc) -> Filters:
    words = frozenset(map(Word, doc.get("words", ())))
    code = CodeClass(doc["code"]) if "code" in doc else None
    return Filters(**doc | {"words": words, "ids": tuple(doc.get("ids", ())), "code": code})
