"""Worker heartbeats: what each process says of itself. They colour a page; they decide nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Seconds between two beats (design §6).
BEAT_EVERY: Final = 5.0
#: Beats that may be missed before a worker is called late, and then lost.
LATE_AFTER: Final = 2
LOST_AFTER: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """One worker as it last reported. `state` is starting, beating, draining or stopped."""

    name: str
    state: str
    version: str
    host: str
    pid: int
    started_at: datetime
    beat_at: datetime
    slots: int
    in_flight: int
    stall_ms: float
    clock_offset_ms: float
    fenced: int

    def health(self, now: datetime) -> str:
        """beating, late, lost, draining or stopped, as seen at database time `now`."""
        if self.state == "stopped":
            return self.state
        missed = (now - self.beat_at) / timedelta(seconds=BEAT_EVERY)
        if missed > LOST_AFTER:
            return "lost"
        return "late" if missed > LATE_AFTER else self.state


class Workers:
    """The `workers` collection, one document a process."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.workers

    @database_errors()
    def beat(self, name: str, **facts: Any) -> None:
        """Upsert this worker's document at database time; `facts` are Beat's other fields."""
        plain = {key: {"$literal": value} for key, value in facts.items()}
        change = {"$set": plain | {"beat_at": "$$NOW"}}
        first = {"$set": {"started_at": {"$ifNull": ["$started_at", "$$NOW"]}}}
        self._docs.update_one({"_id": name}, [first, change], upsert=True)

    @database_errors()
    def all(self) -> list[Beat]:
        """Every worker seen within the last week, the newest beat first."""
        return [_beat(doc) for doc in self._docs.find().sort("beat_at", -1)]

    @database_errors()
    def live(self) -> int:
        """Workers that beat within the last three beats, by the database's clock."""
        recent = {"$dateSubtract": {"startDate": "$$NOW", "unit": "second", "amount": 15}}
        query = {"state": {"$in": ["starting", "beating"]}, "$expr": {"$gt": ["$beat_at", recent]}}
        return self._docs.count_documents(query)


def _beat(doc: Doc) -> Beat:
    return Beat(
        name=doc["_id"],
        **{key: doc[key] for key in Beat.__dataclass_fields__ if key != "name"},
    )
