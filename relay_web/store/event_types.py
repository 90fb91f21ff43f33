"""Event types that a team has described, with the JSON Schema of their data where it gave one."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pymongo import ASCENDING
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.clock import utcnow
from relay_web.errors import Conflict, NotFound
from relay_web.store.faults import database_errors
from relay_web.store.paging import Page, cursor, position

Doc = dict[str, Any]

_LISTING: Final = "event_types"


@dataclass(frozen=True, slots=True)
class EventKind:
    """One described type. `schema` None: anything goes."""

    name: str
    description: str
    schema: dict[str, Any] | bool | None
    created_at: datetime


class EventTypes:
    """The `event_types` collection. A schema is kept as text: its keys may begin with a `$`."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["event_types"]

    @database_errors()
    def add(
        self, team: str, name: str, description: str, schema: dict[str, Any] | bool | None
    ) -> EventKind:
        """Describe a type; raises `Conflict` where the team did so already."""
        doc: Doc = {
            "_id": f"{team}:{name}",
            "team": team,
            "name": name,
            "description": description,
            "schema": None if schema is None else json.dumps(schema),
            "created_at": utcnow(),
        }
        try:
            self._docs.insert_one(doc)
        except DuplicateKeyError:
            raise Conflict(f"{name} is described already; delete it first.", field="name") from None
        return _kind(doc)

    @database_errors()
    def list(self, team: str, *, after: str | None = None, limit: int = 50) -> Page[EventKind]:
        """By name; raises `BadRequest` for a cursor of another list."""
        query: Doc = {"team": team}
        if after is not None:
            query["name"] = {"$gt": position(_LISTING, team, after)}
        docs = list(self._docs.find(query).sort("name", ASCENDING).limit(limit + 1))
        items = [_kind(doc) for doc in docs[:limit]]
        more = len(docs) > limit
        return Page(items, cursor(_LISTING, team, items[-1].name) if more else None)

    @database_errors()
    def schemas(self, team: str) -> dict[str, str]:
        """The JSON text of each schema of the team, by type."""
        found = self._docs.find({"team": team, "schema": {"$ne": None}})
        return {doc["name"]: doc["schema"] for doc in found}

    @database_errors()
    def remove(self, team: str, name: str) -> None:
        """Raises `NotFound`."""
        if not self._docs.delete_one({"_id": f"{team}:{name}", "team": team}).deleted_count:
            raise NotFound


def _kind(doc: Doc) -> EventKind:
    schema = None if doc["schema"] is None else json.loads(doc["schema"])
    return EventKind(doc["name"], doc["description"], schema, doc["created_at"])
