"""Evidence of what was sent and what came back: inserted once, never changed."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pymongo.database import Database
from pymongo.errors import BulkWriteError

from relay_web.domain.delivery import delivery_stem
from relay_web.store.faults import database_errors
from relay_web.store.prefixes import beginning_with

Doc = dict[str, Any]

_DUPLICATE_KEY: Final = 11000


class Attempts:
    """The `attempts` collection; `_id` is `delivery:token`."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.attempts

    @database_errors()
    def record(self, docs: Sequence[Doc]) -> None:
        """Insert attempts; one that is there already from the same lease is left as it is.

        Two leases can carry one token when a failover rolled a claim back. Both sent, so both are
        evidence: the second is kept under its lease id as well.
        """
        if not docs:
            return
        try:
            self._docs.insert_many(docs, ordered=False)
        except BulkWriteError as error:
            failures = error.details["writeErrors"]
            if any(failure["code"] != _DUPLICATE_KEY for failure in failures):
                raise
            self._keep_twins([failure["op"] for failure in failures])

    def _keep_twins(self, docs: Sequence[Doc]) -> None:
        there = self._docs.find({"_id": {"$in": [doc["_id"] for doc in docs]}}, {"lease_id": 1})
        known = {doc["_id"]: doc["lease_id"] for doc in there}
        twins = [
            doc | {"_id": f"{doc['_id']}:{doc['lease_id']}"}
            for doc in docs
            if known.get(doc["_id"], doc["lease_id"]) != doc["lease_id"]
        ]
        if twins:
            self.record(twins)

    @database_errors()
    def of(self, delivery: str) -> list[Doc]:
        """All attempts of one delivery, in the order of their tokens."""
        docs = self._docs.find({"_id": {"$gte": f"{delivery}:", "$lt": f"{delivery};"}})
        return sorted(docs, key=lambda doc: (doc["token"], doc["started_at"]))

    @database_errors()
    def of_event(self, stem: str, *, past: str | None, limit: int) -> list[Doc]:
        """Attempts whose delivery's id begins with `stem`, by id, behind the id `past`."""
        first = {"$gt": past} if past is not None else {"$gte": stem}
        return list(self._docs.find({"_id": first | {"$lt": f"{stem}~"}}).sort("_id").limit(limit))

    @database_errors()
    def ids_of(self, events: Iterable[str]) -> list[str]:
        """Ids of every attempt of these events."""
        found = self._docs.find(beginning_with(map(delivery_stem, events)), {"_id": True})
        return [doc["_id"] for doc in found]

    @database_errors()
    def remove(self, ids: Sequence[str]) -> None:
        """Remove attempts whose delivery retention has removed."""
        if ids:
            self._docs.delete_many({"_id": {"$in": ids}})
