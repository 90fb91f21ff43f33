"""What a team's overview and events pages need; every read is bounded whatever the volume."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from pymongo import DESCENDING
from pymongo.database import Database

from relay_web.clock import base62
from relay_web.domain.delivery import LIVE, State
from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Failed deliveries that are grouped into problems, newest first.
LOOKED_AT: Final = 2000
#: Figures stop counting here.
COUNTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Problem:
    """Deliveries to one endpoint that fail for one cause. `waiting`: of them, still retried.

    `reason` is what the newest of them was told, such as the day a certificate ran out.
    """

    endpoint: str
    cause: str
    status: int | None
    count: int
    waiting: int
    first: datetime
    last: datetime
    #: Names the newest one's last attempt; its `reason` once it was read.
    attempt: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts, each capped at `COUNTED`; delivered and failed since a moment, the others now."""

    delivered: int
    failed: int
    waiting: int
    oldest_waiting: datetime | None


class Overview:
    """Read side of the first page."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.deliveries
        self._attempts = db.attempts

    @database_errors()
    def figures(self, team: str, *, since: datetime) -> Figures:
        """Ids begin with the time of acceptance, so "since" is a range of ids."""
        start = {"$gte": f"dlv_{base62(int(since.timestamp() * 1000), 8)}"}

        def count(state: State, **more: Any) -> int:
            return self._docs.count_documents({"team": team, "state": state, **more}, limit=COUNTED)

        oldest = self._docs.find_one(
            {"team": team, "state": State.PENDING}, {"created_at": True}, sort=[("_id", 1)]
        )
        return Figures(
            count(State.DELIVERED, _id=start),
            count(State.FAILED, _id=start),
            count(State.PENDING) + count(State.LEASED),
            oldest["created_at"] if oldest else None,
        )

    @database_errors()
    def problems(self, team: str, *, since: datetime, endpoint: str | None = None) -> list[Problem]:
        """Failures grouped by endpoint and cause, the largest first; of one endpoint, or of all."""
        only = {"endpoint": endpoint} if endpoint is not None else {}
        start = f"dlv_{base62(int(since.timestamp() * 1000), 8)}"
        found: list[Doc] = []
        for state, more in ((State.FAILED, {}), (State.PENDING, {"tries": {"$gt": 0}})):
            wanted = {"team": team, "state": state, "_id": {"$gte": start}, **only, **more}
            found += self._docs.aggregate(
                [
                    {"$match": wanted},
                    {"$sort": {"_id": DESCENDING}},
                    {"$limit": LOOKED_AT},
                    {"$group": {
                        "_id": {"endpoint": "$endpoint", "cause": "$last.cause"},
                        "status": {"$first": "$last.status"},
                        "count": {"$sum": 1},
                        "first": {"$min": "$last.at"},
                        "last": {"$max": "$last.at"},
                        "state": {"$first": "$state"},
                        "newest": {"$first": "$_id"},
                        "token": {"$first": "$lease_token"},
                    }},
                ]
            )  # fmt: skip
        return self._told(sorted(_joined(found), key=lambda problem: -problem.count))

    def _told(self, problems: Sequence[Problem]) -> list[Problem]:
        ids = [problem.attempt for problem in problems]
        found = self._attempts.find({"_id": {"$in": ids}}, {"reason": True})
        reasons = {doc["_id"]: doc.get("reason", "") for doc in found}
        return [replace(one, reason=reasons.get(one.attempt, "")) for one in problems]

    @database_errors()
    def states_of_events(self, team: str, events: Sequence[str]) -> dict[str, dict[str, int]]:
        """For each event, how many deliveries are in which state."""
        stems = [f"dlv_{event.partition('_')[2]}" for event in events]
        found: dict[str, dict[str, int]] = {event: {} for event in events}
        if not stems:
            return found
        ranges = [{"_id": {"$gte": stem, "$lt": f"{stem}~"}} for stem in stems]
        fields = {"event": True, "state": True, "tries": True}
        for doc in self._docs.find({"team": team, "$or": ranges}, fields):
            counts = found[doc["event"]]
            counts[_shown(doc)] = counts.get(_shown(doc), 0) + 1
        return found


def _shown(doc: Doc) -> str:
    state = State(doc["state"])
    if state not in LIVE:
        return state.value
    return "retrying" if doc["tries"] else "under way"


def _joined(groups: Sequence[Doc]) -> list[Problem]:
    """Given up and still retried are one problem when endpoint and cause are the same."""
    found: dict[tuple[str, str], Problem] = {}
    for group in groups:
        endpoint, cause = group["_id"]["endpoint"], group["_id"].get("cause")
        if not cause or group["first"] is None:
            continue
        waiting = group["count"] if group["state"] == State.PENDING else 0
        new = Problem(
            endpoint=endpoint,
            cause=cause,
            status=group["status"],
            count=group["count"],
            waiting=waiting,
            first=group["first"],
            last=group["last"],
            attempt=f"{group['newest']}:{group['token']}",
        )
        old = found.get((endpoint, cause))
        if old is not None:
            new = replace(
                new,
                count=old.count + new.count,
                waiting=old.waiting + new.waiting,
                first=min(old.first, new.first),
                last=max(old.last, new.last),
            )
        found[endpoint, cause] = new
    return list(found.values())
