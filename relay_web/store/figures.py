"""Counts for monitors: small reads over indexes, across all teams, naming none of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Counting stops here: a monitor must not cost more as the backlog grows.
_CAP: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Depth:
    """The queue at one moment. `oldest_due` in seconds, 0 when nothing waits past its time."""

    live: Mapping[str, int]
    oldest_due: float
    unfanned: int


class Figures:
    """Reads for `/metrics`."""

    def __init__(self, db: Database[Doc]) -> None:
        self._db = db

    @database_errors()
    def depth(self) -> Depth:
        """Live deliveries by state, the wait of the oldest due one, events not fanned out."""
        deliveries = self._db.deliveries
        # `lane` is there exactly while a delivery lives, and its index is sparse.
        live = {
            state: deliveries.count_documents(
                {"lane": {"$gt": ""}, "state": state}, limit=_CAP, hint="lane_due_at"
            )
            for state in ("pending", "leased")
        }
        unfanned = self._db.events.count_documents({"fanout": "pending"}, limit=_CAP)
        return Depth(live, self._oldest_due(), unfanned)

    def _oldest_due(self) -> float:
        """Lane by lane, which the index answers by a distinct scan; lanes on hold do not count."""
        heads = self._db.deliveries.aggregate(
            [
                {"$match": {"lane": {"$gt": ""}}},
                {"$sort": {"lane": 1, "due_at": 1}},
                {"$group": {"_id": "$lane", "due_at": {"$first": "$due_at"}}},
                {"$match": {"$expr": {"$lte": ["$due_at", "$$NOW"]}}},
                {"$lookup": {
                    "from": "endpoints", "localField": "_id", "foreignField": "_id", "as": "to",
                }},
                {"$match": {"to.state": "active"}},
                {"$group": {"_id": None, "due_at": {"$min": "$due_at"}}},
                {"$project": {"ms": {"$subtract": ["$$NOW", "$due_at"]}}},
            ]
        )  # fmt: skip
        oldest = next(iter(heads), None)
        return float(oldest["ms"]) / 1000 if oldest else 0.0
