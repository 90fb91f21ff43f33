"""How endpoints have been doing lately: from their newest deliveries, bounded at any volume."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pymongo import DESCENDING
from pymongo.database import Database

from relay_web.domain.delivery import LIVE, State
from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Deliveries looked at for each endpoint.
RECENT: Final = 24
#: Waiting deliveries are counted no further than this.
WAITING_COUNTED: Final = 1000
#: For one endpoint alone, further.
HELD_COUNTED: Final = 10_000
_FIELDS: Final = {"state": True, "tries": True, "last": True, "created_at": True}


@dataclass(frozen=True, slots=True)
class Recent:
    """One of an endpoint's newest deliveries. `trouble`: failed for good, or tried in vain."""

    id: str
    state: State
    status: int | None
    cause: str | None
    at: datetime
    trouble: bool


@dataclass(frozen=True, slots=True)
class Health:
    """An endpoint's newest deliveries, oldest first, and how many wait (capped)."""

    recent: tuple[Recent, ...]
    waiting: int

    @property
    def delivered(self) -> int:
        return sum(row.state is State.DELIVERED for row in self.recent)

    @property
    def troubled(self) -> int:
        return sum(row.trouble for row in self.recent)

    @property
    def last_answer(self) -> Recent | None:
        """The newest delivery that was answered, or failed to be."""
        return next((row for row in reversed(self.recent) if row.status or row.cause), None)

    @property
    def failing_since(self) -> datetime | None:
        """When the present run of trouble began; None while the newest result is good."""
        began = None
        for row in reversed(self.recent):
            if row.state is State.DELIVERED:
                break
            if row.trouble:
                began = row.at
        return began


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for one endpoint: how many (capped), and when the longest due was accepted."""

    count: int
    oldest: datetime | None


class EndpointHealth:
    """Read side of the endpoints' pages. One short indexed read for each endpoint asked about."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.deliveries

    @database_errors()
    def of(self, team: str, endpoints: Iterable[str]) -> dict[str, Health]:
        return {endpoint: self._one(team, endpoint) for endpoint in endpoints}

    @database_errors()
    def waiting(self, team: str, endpoint: str) -> Waiting:
        """Two reads of the endpoint's lane."""
        lane = {"lane": endpoint}
        head = self._docs.find_one(
            lane | {"team": team}, {"created_at": True}, sort=[("due_at", 1)]
        )
        count = self._docs.count_documents(lane, limit=HELD_COUNTED + 1) if head else 0
        return Waiting(count, head["created_at"] if head else None)

    def _one(self, team: str, endpoint: str) -> Health:
        newest = (
            self._docs.find({"team": team, "endpoint": endpoint}, _FIELDS)
            .sort("_id", DESCENDING)
            .limit(RECENT)
        )
        rows = [_recent(doc) for doc in newest]
        waiting = self._docs.count_documents({"lane": endpoint}, limit=WAITING_COUNTED)
        return Health(tuple(reversed(rows)), waiting)


def _recent(doc: Doc) -> Recent:
    state, last = State(doc["state"]), doc.get("last") or {}
    tried_in_vain = state in LIVE and doc["tries"] > 0
    return Recent(
        doc["_id"], state, last.get("status"), last.get("cause"), doc["created_at"],
        state is State.FAILED or tried_in_vain,
    )  # fmt: skip
