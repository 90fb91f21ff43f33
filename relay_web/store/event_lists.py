"""Events by what became of them. Only deliveries know that, so their indexes are what is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pymongo import DESCENDING
from pymongo.database import Database

from relay_web.clock import base62
from relay_web.domain.delivery import State, delivery_stem
from relay_web.store.faults import database_errors
from relay_web.store.paging import Page, cursor, position

Doc = dict[str, Any]

_LISTING: Final = "events"
#: Events looked at for one page of delivered ones; a page may be shorter than asked for.
_LOOKED_AT: Final = 1000
_UNDELIVERED: Final = tuple(sorted(set(State) - {State.DELIVERED}))


class Outcome(StrEnum):
    DELIVERED = "delivered"  #: there are deliveries, and every one arrived
    UNDELIVERED = "undelivered"  #: at least one has not arrived, or not yet
    UNMATCHED = "unmatched"  #: no endpoint subscribed


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilters:
    """What the list of events may be narrowed by; `since` bounds the time of acceptance."""

    type: str | None = None
    outcome: Outcome | None = None
    since: datetime | None = None


class EventLists:
    """Read side of the list of events; every method holds the team."""

    def __init__(self, db: Database[Doc]) -> None:
        self._events = db.events
        self._deliveries = db.deliveries

    @database_errors()
    def page(
        self, team: str, filters: EventFilters, *, after: str | None = None, limit: int = 50
    ) -> Page[Doc]:
        """Newest first, without bodies; raises `BadRequest` for a cursor of another list."""
        past = position(_LISTING, team, after) if after is not None else "msg_~"
        match filters.outcome:
            case Outcome.UNDELIVERED:
                found, more = self._undelivered(team, filters, past, limit)
            case Outcome.DELIVERED:
                found, more = self._delivered(team, filters, past, limit)
            case _:
                found = self._plain(team, filters, past, limit + 1)
                found, more = found[:limit], found[limit - 1]["_id"] if found[limit:] else None
        return Page(found, cursor(_LISTING, team, more) if more else None)

    def _plain(self, team: str, filters: EventFilters, past: str, limit: int) -> list[Doc]:
        query: Doc = {"team": team, "_id": _span(filters, past)}
        if filters.type is not None:
            query["type"] = filters.type
        if filters.outcome is Outcome.UNMATCHED:
            query["targets"] = []
        found = self._events.find(query, {"body": False}).sort("_id", DESCENDING).limit(limit)
        return list(found)

    def _undelivered(
        self, team: str, filters: EventFilters, past: str, limit: int
    ) -> tuple[list[Doc], str | None]:
        """By way of the deliveries that have not arrived: they are in the order of their events."""
        common: Doc = {"team": team, "_id": _span(filters, past, delivery_stem)}
        if filters.type is not None:
            common["type"] = filters.type
        ways = [common | {"state": state} for state in _UNDELIVERED]
        found = self._deliveries.find({"$or": ways}, {"event": True}).sort("_id", DESCENDING)
        ids: dict[str, None] = {}
        for doc in found:
            ids.setdefault(doc["event"])
            if len(ids) > limit:
                break
        wanted = list(ids)[:limit]
        docs = {doc["_id"]: doc for doc in self._by_id(team, wanted)}
        return [docs[key] for key in wanted if key in docs], wanted[-1] if len(
            ids
        ) > limit else None

    def _delivered(
        self, team: str, filters: EventFilters, past: str, limit: int
    ) -> tuple[list[Doc], str | None]:
        """Of the next events, those with deliveries of which none is missing."""
        looked = self._plain(team, filters, past, _LOOKED_AT)
        if not looked:
            return [], None
        newest, oldest = (delivery_stem(looked[end]["_id"]) for end in (0, -1))
        common: Doc = {"team": team, "_id": {"$gte": oldest, "$lt": f"{newest}~"}}
        ways = [common | {"state": state} for state in _UNDELIVERED]
        missing = {doc["event"] for doc in self._deliveries.find({"$or": ways}, {"event": True})}
        found = [doc for doc in looked if doc["targets"] and doc["_id"] not in missing]
        if len(found) > limit:
            return found[:limit], found[limit - 1]["_id"]
        return found, looked[-1]["_id"] if len(looked) == _LOOKED_AT else None

    def _by_id(self, team: str, ids: list[str]) -> list[Doc]:
        return list(self._events.find({"team": team, "_id": {"$in": ids}}, {"body": False}))


def _span(filters: EventFilters, past: str, as_id: Any = str) -> Mapping[str, str]:
    """Ids begin with the time of acceptance, so a time range is a range of ids."""
    span = {"$lt": as_id(past)}
    if filters.since is not None:
        span["$gte"] = as_id(f"msg_{base62(max(0, int(filters.since.timestamp() * 1000)), 8)}")
    return span
