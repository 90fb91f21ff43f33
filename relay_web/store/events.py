"""Accepted events: one insert is the promise; the deliveries follow and can be made again."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from pymongo import ASCENDING, DESCENDING
from pymongo.database import Database
from pymongo.errors import BulkWriteError

from relay_web.domain.delivery import delivery_stem
from relay_web.errors import NotFound
from relay_web.store import moves
from relay_web.store.faults import database_errors
from relay_web.store.paging import Page, cursor, position
from relay_web.store.prefixes import beginning_with

Doc = dict[str, Any]

DAY: Final = 86400.0
#: What retention waits longer than it must. Most deliveries end within the hour, so most events
#: are looked at once, when their deliveries have gone.
SLACK: Final = timedelta(hours=1)
_LISTING: Final = "events"
_DUPLICATE_KEY: Final = 11000


class Events:
    """The `events` collection. An event never changes but for `fanout`, which never goes back.

    And for `keep_until`, its date with retention (`engine/retention.py`).
    """

    def __init__(self, db: Database[Doc], retention: float = 30 * DAY) -> None:
        self._docs = db.events
        self._deliveries = db.deliveries
        #: Seconds an event is kept, at least.
        self._retention = timedelta(seconds=retention)

    @database_errors()
    def add(self, docs: Sequence[Doc]) -> set[str]:
        """Insert events; the ids of those refused because their key or id was taken already.

        An event whose own `_id` is there already was stored by an earlier, unanswered try of this
        same call: that is success.
        """
        kept = self._retention + SLACK
        try:
            self._docs.insert_many(
                [doc | {"keep_until": doc["created_at"] + kept} for doc in docs], ordered=False
            )
        except BulkWriteError as error:
            refused: set[str] = set()
            for failure in error.details["writeErrors"]:
                if failure["code"] != _DUPLICATE_KEY:
                    raise
                if "_id" not in failure.get("keyPattern", {}):
                    refused.add(failure["op"]["_id"])
            return refused
        return set()

    @database_errors()
    def earlier(self, team: str, *, key: str | None, public_id: str | None) -> Doc | None:
        """The event this team published before under this idempotency key, or else this id."""
        for field, value in (("idempotency_key", key), ("public_id", public_id)):
            if value is not None:
                found = self._docs.find_one({"team": team, field: value}, {"body": False})
                if found is not None:
                    return found
        return None

    @database_errors()
    def mark_fanned_out(self, ids: Iterable[str]) -> None:
        """Every target of these events has its delivery."""
        self._docs.update_many(
            {"_id": {"$in": list(ids)}, "fanout": "pending"}, {"$set": {"fanout": "done"}}
        )

    @database_errors()
    def half_done(self, *, before: datetime, limit: int) -> list[Doc]:
        """Events accepted before `before` whose fan-out was never marked done."""
        query = {"fanout": "pending", "created_at": {"$lt": before}}
        return list(self._docs.find(query, {"body": False}, limit=limit))

    @database_errors()
    def bodies(self, ids: Iterable[str]) -> dict[str, bytes]:
        """The exact bytes to send, by event id; ids past retention are left out."""
        found = self._docs.find({"_id": {"$in": list(ids)}}, {"body": True})
        return {doc["_id"]: bytes(doc["body"]) for doc in found}

    @database_errors()
    def has_body(self, event: str) -> bool:
        """Whether its payload is still kept."""
        return self._docs.count_documents({"_id": event}, limit=1) == 1

    @database_errors()
    def kept(self, ids: Iterable[str]) -> set[str]:
        """Those of `ids` whose body is still there to be sent."""
        found = self._docs.find({"_id": {"$in": list(ids)}, "body": {"$exists": True}}, {"_id": 1})
        return {doc["_id"] for doc in found}

    @database_errors()
    def outlived(self, *, now: datetime, limit: int) -> list[str]:
        """Ids of events that retention has to look at, those that are overdue for longest first."""
        query = {"keep_until": {"$lte": now}, "fanout": "done"}
        found = self._docs.find(query, {"_id": True}, sort=[("keep_until", ASCENDING)], limit=limit)
        return [doc["_id"] for doc in found]

    @database_errors()
    def deliveries_of(self, ids: Iterable[str]) -> dict[str, str]:
        """The deliveries there are of these events, in whatever state; id to event."""
        found = self._deliveries.find(beginning_with(map(delivery_stem, ids)), {"event": True})
        return {doc["_id"]: doc["event"] for doc in found}

    @database_errors()
    def keep(self, ids: Iterable[str], seconds: float = DAY) -> set[str]:
        """Keep these for so long at least; those of them that are there, and now will be."""
        wanted = {"_id": {"$in": list(ids)}}
        longer = {"$max": ["$keep_until", moves.later(seconds)]}
        self._docs.update_many(wanted, [{"$set": {"keep_until": longer}}])
        return {doc["_id"] for doc in self._docs.find(wanted, {"_id": True})}

    @database_errors()
    def remove(self, ids: Iterable[str], *, now: datetime) -> int:
        """Remove those that are still overdue at `now`; one that `keep` reached first stays."""
        query = {"_id": {"$in": list(ids)}, "keep_until": {"$lte": now}, "fanout": "done"}
        return self._docs.delete_many(query).deleted_count

    @database_errors()
    def get(self, team: str, event: str) -> Doc:
        """One event by its own id or the one its publisher gave; raises `NotFound`."""
        either = [{"_id": event}, {"public_id": event}]
        doc = self._docs.find_one({"team": team, "$or": either})
        if doc is None:
            raise NotFound
        return doc

    @database_errors()
    def list(
        self,
        team: str,
        *,
        type: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Doc]:
        """Newest first, without bodies; `since` and `until` bound the time of acceptance."""
        query: Doc = {"team": team}
        if type is not None:
            query["type"] = type
        if since is not None or until is not None:
            query["created_at"] = {
                op: at for op, at in (("$gte", since), ("$lt", until)) if at is not None
            }
        if after is not None:
            query["_id"] = {"$lt": position(_LISTING, team, after)}
        docs = list(
            self._docs.find(query, {"body": False}).sort("_id", DESCENDING).limit(limit + 1)
        )
        more = len(docs) > limit
        return Page(docs[:limit], cursor(_LISTING, team, docs[limit - 1]["_id"]) if more else None)
