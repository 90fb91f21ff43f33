"""Since when an endpoint has only failed: the first failure after its last success.

Written only at the two ends of an outage, so that a healthy endpoint, and a dead one, cost nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Nothing but failures for this long suspends an endpoint (design §6) ...
SUSPEND_AFTER = timedelta(days=5)
#: ... after a warning at half that time.
WARN_AFTER = SUSPEND_AFTER / 2


@dataclass(frozen=True, slots=True)
class Outage:
    """An endpoint that has only failed since `since`."""

    endpoint: str
    team: str
    name: str
    since: datetime


class Outages:
    """The `failing_since` and `warned_at` of endpoints; no other field is written here."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.endpoints

    @database_errors()
    def begin(self, endpoint: str) -> None:
        """It failed; an outage that has begun already keeps its beginning."""
        self._docs.update_one(
            {"_id": endpoint, "failing_since": {"$exists": False}},
            [{"$set": {"failing_since": "$$NOW"}}],
        )

    @database_errors()
    def end(self, endpoint: str) -> None:
        """It answered 2xx."""
        self._docs.update_one(
            {"_id": endpoint, "failing_since": {"$exists": True}},
            {"$unset": {"failing_since": "", "warned_at": ""}},
        )

    def to_suspend(self, now: datetime) -> list[Outage]:
        """Active endpoints whose outage has lasted for SUSPEND_AFTER."""
        return self._lasting({"failing_since": {"$lte": now - SUSPEND_AFTER}})

    @database_errors()
    def to_warn(self, now: datetime) -> list[Outage]:
        """Active endpoints past WARN_AFTER that nobody was warned of; each is given out once."""
        due = {"failing_since": {"$lte": now - WARN_AFTER}, "warned_at": {"$exists": False}}
        return [
            outage
            for outage in self._lasting(due)
            if self._docs.update_one(
                {"_id": outage.endpoint, "warned_at": {"$exists": False}},
                [{"$set": {"warned_at": "$$NOW"}}],
            ).modified_count
        ]

    @database_errors()
    def _lasting(self, since: Doc) -> list[Outage]:
        found = self._docs.find({"state": "active", "deleted_at": None, **since})
        return [Outage(doc["_id"], doc["team"], doc["name"], doc["failing_since"]) for doc in found]
