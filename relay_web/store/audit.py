"""Who did what, insert-only. No value that is secret ever comes here."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pymongo import DESCENDING
from pymongo.database import Database

from relay_web.clock import new_id, utcnow
from relay_web.store.faults import database_errors
from relay_web.store.paging import Page, cursor, position

Doc = dict[str, Any]

_LISTING: Final = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One action. `actor` is a user or key id, `who` how people know it; `target` an id."""

    team: str | None
    action: str
    actor: str
    who: str
    target: str | None = None
    address: str = ""
    request_id: str = ""
    details: dict[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: new_id("aud"))
    at: datetime = field(default_factory=utcnow)


class Audit:
    """The `audit` collection. There is no update and no delete here, and none may be added."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["audit"]

    @database_errors()
    def record(self, entry: Entry) -> None:
        """Keep one entry; raises `Unavailable` where the database did not confirm it."""
        self._docs.insert_one(
            {
                "_id": entry.id,
                "at": entry.at,
                "team": entry.team,
                "action": entry.action,
                "actor": entry.actor,
                "who": entry.who,
                "target": entry.target,
                "address": entry.address,
                "request_id": entry.request_id,
                "details": entry.details,
            }
        )

    @database_errors()
    def list(
        self,
        team: str,
        *,
        action: str | None = None,
        actor: str | None = None,
        target: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Entry]:
        """Newest first; raises `BadRequest` for a cursor of another list."""
        query: Doc = {"team": team}
        wanted = {"action": action, "actor": actor, "target": target}
        query |= {key: value for key, value in wanted.items() if value is not None}
        if after is not None:
            query["_id"] = {"$lt": position(_LISTING, team, after)}
        docs = list(self._docs.find(query).sort("_id", DESCENDING).limit(limit + 1))
        items = [_entry(doc) for doc in docs[:limit]]
        more = len(docs) > limit
        return Page(items, cursor(_LISTING, team, items[-1].id) if more else None)


def _entry(doc: Doc) -> Entry:
    return Entry(
        id=doc["_id"],
        at=doc["at"],
        team=doc["team"],
        action=doc["action"],
        actor=doc["actor"],
        who=doc["who"],
        target=doc["target"],
        address=doc["address"],
        request_id=doc["request_id"],
        details=doc["details"],
    )
