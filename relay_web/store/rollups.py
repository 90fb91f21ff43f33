"""Hourly sums for charts and for the zombie meter: small, kept longer than deliveries.

A worker adds its counts every few seconds; a crash loses those seconds from the charts, and
nothing else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from pymongo import UpdateOne
from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Upper bounds in ms of the answer-time buckets; the last bucket has none.
BUCKETS: Final = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
#: Days a rollup is kept.
KEPT_DAYS: Final = 400


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of an endpoint (`key` is its id) or of a worker (`key` is its name)."""

    key: str
    hour: datetime
    counts: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        return self.counts.get(name, 0)


class Rollups:
    """The `rollups` collection: `_id` is kind, key and hour."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.rollups

    @database_errors()
    def add(self, kind: str, sums: Iterable[tuple[str, str, datetime, Mapping[str, int]]]) -> None:
        """Add counts to hours: (key, team or "", hour, {name: count}); names hold no dot."""
        writes = [
            UpdateOne(
                {"_id": f"{kind}:{key}:{hour:%Y%m%d%H}"},
                {
                    "$inc": {f"counts.{name}": count for name, count in counts.items()},
                    "$setOnInsert": {"kind": kind, "key": key, "team": team, "hour": hour},
                },
                upsert=True,
            )
            for key, team, hour, counts in sums
            if counts
        ]
        if writes:
            self._docs.bulk_write(writes, ordered=False)

    @database_errors()
    def endpoints(self, team: str, *, since: datetime, endpoint: str | None = None) -> list[Hour]:
        """Hours of this team's endpoints from `since` on, or of one of them, oldest first."""
        query: Doc = {"team": team, "hour": {"$gte": since}, "kind": "endpoint"}
        if endpoint is not None:
            query["key"] = endpoint
        return self._found(query)

    @database_errors()
    def workers(self, *, since: datetime) -> list[Hour]:
        """Hours of every worker from `since` on, oldest first."""
        return self._found({"team": "", "hour": {"$gte": since}, "kind": "worker"})

    def _found(self, query: Doc) -> list[Hour]:
        found = self._docs.find(query).sort("hour", 1)
        return [Hour(doc["key"], doc["hour"], doc["counts"]) for doc in found]


def bucket(ms: float) -> str:
    """The name of the answer-time bucket that `ms` falls into."""
    for bound in BUCKETS:
        if ms <= bound:
            return f"ms_{bound}"
    return "ms_more"


def quantile(counts: Mapping[str, int], share: float) -> float | None:
    """An upper bound in ms of the `share` quantile (0 to 1), or None without answers.

    From buckets, so it is a bound, not a measurement; above the last bucket it is infinite.
    """
    total = sum(count for name, count in counts.items() if name.startswith("ms_"))
    if not total:
        return None
    seen = 0
    for bound in BUCKETS:
        seen += counts.get(f"ms_{bound}", 0)
        if seen >= share * total:
            return float(bound)
    return float("inf")
