"""What a bulk job is about, read in order of age, and what became of what it sent again."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from pymongo import ASCENDING
from pymongo.database import Database

from relay_web.clock import base62
from relay_web.domain.delivery import Delivery, delivery_id
from relay_web.domain.endpoint import Endpoint
from relay_web.store.bulk_jobs import Wish
from relay_web.store.faults import database_errors
from relay_web.store.filtering import narrowed, query_of

Doc = dict[str, Any]

#: Grows with a delivery's history, and no job needs it.
_LEFT_UNREAD: Final = {"lost": False, "actions": False}
#: An id and its document's time may come from two clocks.
_CLOCKS_APART: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Touched:
    """The deliveries that a job sent again, by what they came to since."""

    delivered: int = 0
    failed: int = 0
    #: Not answered yet.
    waiting: int = 0
    cancelled: int = 0

    @property
    def queued(self) -> int:
        return self.delivered + self.failed + self.waiting + self.cancelled


class BulkTargets:
    """Reads for jobs and their previews; every method holds the team."""

    def __init__(self, db: Database[Doc]) -> None:
        self._deliveries = db.deliveries
        self._events = db.events
        self._endpoints = db.endpoints

    @database_errors()
    def endpoints(self, team: str) -> dict[str, Endpoint]:
        """Every endpoint of the team by id, deleted ones included."""
        found = self._endpoints.find({"team": team})
        return {doc["_id"]: Endpoint.from_doc(doc) for doc in found}

    @database_errors()
    def deliveries(
        self, wish: Wish, endpoints: Mapping[str, Endpoint], *, after: str, limit: int
    ) -> list[Delivery]:
        """What matches after the id `after`, oldest first; nothing whose last outcome is newer
        than the wish's as-of time."""
        not_newer = {"$not": {"$gt": wish.as_of}}
        query = narrowed(
            query_of(self._deliveries.database, wish.team, wish.filters, endpoints),
            {"_id": {"$gt": after}, "created_at": {"$lte": wish.as_of}},
            {"finished_at": not_newer},
            {"last.at": not_newer},
        )
        found = self._deliveries.find(query, _LEFT_UNREAD).sort("_id", ASCENDING).limit(limit)
        return [Delivery.from_doc(doc) for doc in found]

    @database_errors()
    def events(self, wish: Wish, endpoint: Endpoint, *, after: str, limit: int) -> list[Doc]:
        """Events after the id `after` that `endpoint` wants and was no target of, oldest first."""
        since = wish.filters.since or wish.as_of
        first = int((since - _CLOCKS_APART).timestamp() * 1000)
        query: Doc = {
            "team": wish.team,
            "_id": {"$gt": max(after, f"msg_{base62(max(0, first), 8)}")},
            "created_at": {"$gte": since, "$lte": wish.as_of},
            "targets": {"$ne": endpoint.id},
            "trigger": {"$ne": "test"},
        }
        if endpoint.event_types:
            query["type"] = {"$in": [_pattern(text) for text in endpoint.event_types]}
        found = self._events.find(query, {"body": False}).sort("_id", ASCENDING).limit(limit)
        return list(found)

    @database_errors()
    def have(self, endpoint: str, events: Sequence[Doc]) -> set[str]:
        """Ids of those events that have a delivery to `endpoint` though they did not name it."""
        wanted = {delivery_id(event["_id"], endpoint): event["_id"] for event in events}
        found = self._deliveries.find({"_id": {"$in": list(wanted)}}, {"_id": True})
        return {wanted[doc["_id"]] for doc in found}

    @database_errors()
    def touched(self, job: str, as_of: datetime) -> Touched:
        """What became of the deliveries that this job sent again."""
        since = {"$gt": [{"$ifNull": ["$last.at", None]}, as_of]}
        live = {"$in": ["$state", ["pending", "leased"]]}
        outcome = {"$cond": [live, {"$cond": [since, "failed", "waiting"]}, "$state"]}
        steps: list[Doc] = [
            {"$match": {"jobs": job}},
            {"$group": {"_id": outcome, "count": {"$sum": 1}}},
        ]
        rows = self._deliveries.aggregate(steps)
        return Touched(**{row["_id"]: row["count"] for row in rows})

    @database_errors()
    def failing_since(self, team: str, endpoint: Endpoint) -> datetime | None:
        """The first failure after the last success, as it can still be told.

        While it fails, as the engine keeps it; after that, the oldest of what is still failed.
        """
        if endpoint.failing_since is not None:
            return endpoint.failing_since
        query = {"team": team, "endpoint": endpoint.id, "state": "failed"}
        doc = self._deliveries.find_one(query, {"last": True}, sort=[("_id", ASCENDING)])
        at: datetime | None = (doc or {}).get("last", {}).get("at")
        return at


def _pattern(text: str) -> str | re.Pattern[str]:
    """`domain.event_type.matches` for a query."""
    return re.compile(f"^{re.escape(text[:-1])}") if text.endswith(".*") else text
