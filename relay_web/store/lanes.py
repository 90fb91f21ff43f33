"""What is due, seen from the queue: an endpoint's lane is its live deliveries by due time."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from pymongo import ASCENDING
from pymongo.database import Database

from relay_web.domain.delivery import Delivery
from relay_web.store.faults import database_errors

Doc = dict[str, Any]
QUEUE = "lane_due_at"


class Head(NamedTuple):
    """The delivery whose turn it is, and when."""

    delivery: str
    due_at: datetime


class Lanes:
    """Reads of the queue index. Nothing here decides who holds what: the claim does."""

    def __init__(self, db: Database[Doc]) -> None:
        self._deliveries = db.deliveries

    def heads(self) -> dict[str, datetime]:
        """Earliest due time of every lane that has live deliveries.

        Sorting by the queue index and taking the first of each group is a distinct scan: it
        steps from lane to lane and never reads a backlog (design §5, measured there).
        """
        steps: list[Doc] = [
            {"$sort": {"lane": ASCENDING, "due_at": ASCENDING}},
            {"$group": {"_id": "$lane", "due_at": {"$first": "$due_at"}}},
        ]
        with database_errors():
            rows = self._deliveries.aggregate(steps, hint=QUEUE)
            return {row["_id"]: row["due_at"] for row in rows if row["_id"] is not None}

    def due(self, lane: str, *, now: datetime, limit: int) -> list[str]:
        """Ids due in one lane at `now`, oldest due first: candidates, not claims."""
        with database_errors():
            rows = self._deliveries.find(
                {"lane": lane, "due_at": {"$lte": now}},
                {"_id": True},
                sort=[("due_at", ASCENDING)],
                limit=limit,
                hint=QUEUE,
            )
            return [row["_id"] for row in rows]

    def next_in_order(self, lane: str) -> Head | None:
        """The one delivery of an ordered lane that is to be sent next, or None.

        Whoever holds the lane's slot goes on holding it between its tries; without a holder it is
        the oldest. While it is being sent it is due when its lease ends.
        """
        with database_errors():
            head = self._deliveries.find_one({"slot": lane}) or self._deliveries.find_one(
                {"lane": lane}, sort=[("due_at", ASCENDING)], hint=QUEUE
            )
        return Head(head["_id"], head["due_at"]) if head else None

    def live(self, lane: str, *, limit: int) -> list[Delivery]:
        """Up to `limit` live deliveries of one lane, whatever their due time."""
        with database_errors():
            rows = self._deliveries.find({"lane": lane}, limit=limit, hint=QUEUE)
            return [Delivery.from_doc(row) for row in rows]

    def in_flight(self, lanes: Iterable[str]) -> dict[str, int]:
        """Leased deliveries per lane (leases that ran out included), for concurrency limits."""
        steps: list[Doc] = [
            {"$match": {"lane": {"$in": list(lanes)}, "state": "leased"}},
            {"$group": {"_id": "$lane", "count": {"$sum": 1}}},
        ]
        with database_errors():
            return {row["_id"]: row["count"] for row in self._deliveries.aggregate(steps)}
