"""The read side for pages and API: lists, and one delivery with everything that happened to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pymongo import ASCENDING, DESCENDING
from pymongo.database import Database

from relay_web.domain.delivery import Delivery, Word, delivery_stem, screen_word
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.journal import Attempt, JournalEntry, journal
from relay_web.errors import NotFound
from relay_web.store.attempts import Attempts
from relay_web.store.faults import database_errors
from relay_web.store.filtering import Filters, narrowed, query_of
from relay_web.store.paging import Page, cursor, position

Doc = dict[str, Any]

_LISTING: Final = "deliveries"


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """One line of a list. `endpoint` is None only if its document is gone."""

    delivery: Delivery
    word: Word
    endpoint: Endpoint | None


@dataclass(frozen=True, slots=True)
class DeliveryDetail:
    """One delivery with its evidence. `event` has no body; `payload_kept` says if one is there."""

    delivery: Delivery
    word: Word
    endpoint: Endpoint | None
    event: Doc | None
    attempts: Sequence[Attempt]
    journal: Sequence[JournalEntry]
    now: datetime


class Timeline:
    """Every method takes the team first, and every query holds it."""

    def __init__(self, db: Database[Doc]) -> None:
        self._db = db
        self._docs = db.deliveries
        self._attempts = Attempts(db)

    @database_errors()
    def deliveries(
        self,
        team: str,
        filters: Filters,
        *,
        after: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Page[DeliveryRow]:
        """Newest first, behind the cursor `after` or in front of `before`.

        Raises `BadRequest` for a cursor of another list.
        """
        endpoints = self._endpoints(team)
        query = query_of(self._db, team, filters, endpoints)
        if (text := before if after is None else after) is not None:
            past = {"$gt" if after is None else "$lt": position(_LISTING, team, text)}
            query = narrowed(query, {"_id": past})
        order = DESCENDING if before is None or after is not None else ASCENDING
        docs = list(self._docs.find(query).sort("_id", order).limit(limit + 1))
        shown, more = docs[:limit], len(docs) > limit
        if order == ASCENDING:
            shown.reverse()
        older, newer = (more, after is not None) if order == DESCENDING else (True, more)
        return Page(
            [_row(doc, endpoints) for doc in shown],
            cursor(_LISTING, team, shown[-1]["_id"]) if shown and older else None,
            cursor(_LISTING, team, shown[0]["_id"]) if shown and newer else None,
        )

    @database_errors()
    def rows(self, team: str, ids: Sequence[str]) -> list[DeliveryRow]:
        """The given deliveries of this team, for cells that are refreshed in place."""
        endpoints = self._endpoints(team)
        found = self._docs.find({"team": team, "_id": {"$in": list(ids)}})
        return [_row(doc, endpoints) for doc in found]

    @database_errors()
    def count(self, team: str, filters: Filters, *, newer_than: str | None = None, cap: int) -> int:
        """Matching deliveries, counted no further than `cap`."""
        query = query_of(self._db, team, filters, self._endpoints(team))
        if newer_than is not None:
            query = narrowed(query, {"_id": {"$gt": newer_than}})
        return self._docs.count_documents(query, limit=cap)

    @database_errors()
    def rev(self, team: str, delivery: str) -> int:
        """The delivery's revision: one indexed read, for polls. Raises `NotFound`."""
        doc = self._docs.find_one({"_id": delivery, "team": team}, {"rev": True})
        if doc is None:
            raise NotFound
        rev: int = doc["rev"]
        return rev

    @database_errors()
    def delivery(self, team: str, delivery: str) -> DeliveryDetail:
        """Everything about one delivery; raises `NotFound`."""
        doc = self._docs.find_one({"_id": delivery, "team": team})
        if doc is None:
            raise NotFound
        held = Delivery.from_doc(doc)
        stored = self._db.endpoints.find_one({"_id": held.endpoint, "team": team})
        endpoint = Endpoint.from_doc(stored) if stored else None
        event = self._db.events.find_one({"_id": held.event, "team": team}, {"body": False})
        attempts = [Attempt.from_doc(row, held) for row in self._attempts.of(delivery)]
        now: datetime = self._db.command("hello", codec_options=self._db.codec_options)["localTime"]
        name = endpoint.name if endpoint else "a removed endpoint"
        return DeliveryDetail(
            held, _word(held, endpoint), endpoint, event, attempts,
            journal(held, attempts, endpoint=name), now,
        )  # fmt: skip

    @database_errors()
    def of_event(self, team: str, event: str) -> list[DeliveryRow]:
        """Every delivery of one event (its stored id), in the order of their endpoints' ids."""
        stem = delivery_stem(event)
        found = self._docs.find({"team": team, "_id": {"$gte": stem, "$lt": f"{stem}~"}})
        endpoints = self._endpoints(team)
        return [_row(doc, endpoints) for doc in found.sort("_id")]

    @database_errors()
    def event_attempts(
        self, team: str, event: str, *, after: str | None = None, limit: int = 50
    ) -> Page[tuple[Attempt, Delivery]]:
        """Every attempt of one event (its stored id), delivery by delivery."""
        listing = f"attempts:{event}"
        past = position(listing, team, after) if after is not None else None
        docs = self._attempts.of_event(delivery_stem(event), past=past, limit=limit + 1)
        owners = [doc["_id"].partition(":")[0] for doc in docs[:limit]]
        wanted = {"team": team, "_id": {"$in": owners}}
        found = {doc["_id"]: Delivery.from_doc(doc) for doc in self._docs.find(wanted)}
        items = [
            (Attempt.from_doc(doc, found[owner]), found[owner])
            for doc, owner in zip(docs, owners, strict=False)
            if owner in found
        ]
        more = len(docs) > limit
        return Page(items, cursor(listing, team, docs[limit - 1]["_id"]) if more else None)

    def _endpoints(self, team: str) -> dict[str, Endpoint]:
        found = self._db.endpoints.find({"team": team})
        return {doc["_id"]: Endpoint.from_doc(doc) for doc in found}


def _row(doc: Doc, endpoints: Mapping[str, Endpoint]) -> DeliveryRow:
    delivery = Delivery.from_doc(doc)
    endpoint = endpoints.get(delivery.endpoint)
    return DeliveryRow(delivery, _word(delivery, endpoint), endpoint)


def _word(delivery: Delivery, endpoint: Endpoint | None) -> Word:
    held = endpoint is not None and endpoint.state.holds
    return screen_word(delivery.state, tries=delivery.tries, held=held)
