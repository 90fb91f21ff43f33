"""What a deliveries list is narrowed by, and the query it comes to.

Alternatives stand at the top of a query, each with every other condition in it: only then does each
of them get bounds of its own in an index, and the rows come out of the indexes in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any, Final

from pymongo.database import Database

from relay_web.clock import base62
from relay_web.domain.causes import CodeClass, causes_of
from relay_web.domain.delivery import Word, delivery_stem
from relay_web.domain.endpoint import Endpoint

Doc = dict[str, Any]

#: Types that one prefix may stand for.
_TYPES_FOUND: Final = 50
_NOTHING: Final[Doc] = {"type": {"$in": []}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a list may be narrowed by. `words` are screen words; times bound the creation.

    `failed_since` bounds the last outcome; `job` is a bulk job that sent them again; `ids` are the
    ones ticked by hand; `id_prefix` and `type_prefix` are what somebody has typed so far, the
    latter perhaps a whole webhook-id or idempotency key. `lost`: a lease ran out or was taken
    over, so a late result may have been fenced off; `resent`: somebody, or a job, acted on it.
    """

    words: frozenset[Word] = frozenset()
    endpoint: str | None = None
    type: str | None = None
    cause: str | None = None
    event: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    failed_since: datetime | None = None
    job: str | None = None
    ids: tuple[str, ...] = ()
    type_prefix: str | None = None
    id_prefix: str | None = None
    code: CodeClass | None = None
    lost: bool = False
    resent: bool = False


def query_of(
    db: Database[Doc], team: str, filters: Filters, endpoints: Mapping[str, Endpoint]
) -> Doc:
    """The team's deliveries that `filters` match; `endpoints` are all of the team's.

    What was typed is looked up in `db`: it may stand for types, or for the key of an event.
    """
    query = {"team": team} | _exact(filters)
    narrower = [{"_id": {"$in": list(filters.ids)}}] if filters.ids else []
    if filters.code is not None:
        narrower.append(_answered(filters.code))
    ways = product(_wordings(filters.words, endpoints), _typed(db, team, filters))
    found = [narrowed(query, word, text, *narrower) for word, text in ways]
    return found[0] if len(found) == 1 else {"$or": found}


def narrowed(query: Doc, *conditions: Doc) -> Doc:
    """`query` with `conditions` in each of its alternatives; empty ones are left out."""
    if "$or" in query:
        return {"$or": [narrowed(way, *conditions) for way in query["$or"]]}
    every = [*query.get("$and", ()), *filter(None, conditions)]
    return query | ({"$and": every} if every else {})


def _exact(filters: Filters) -> Doc:
    """The conditions that are one field each."""
    query: Doc = {
        key: value
        for key in ("endpoint", "type", "event")
        if (value := getattr(filters, key)) is not None
    }
    if filters.cause is not None:
        query["last.cause"] = filters.cause
    if filters.failed_since is not None:
        query["last.at"] = {"$gte": filters.failed_since}
    if filters.job is not None:
        query["jobs"] = filters.job
    if filters.lost:
        query["lost.0"] = {"$exists": True}
    if filters.resent:
        query["actions.0"] = {"$exists": True}
    bounds = {"$gte": filters.since, "$lt": filters.until}
    # Ids begin with their event's acceptance, so a time range is a range of ids.
    span = {op: f"dlv_{base62(_millis(at), 8)}" for op, at in bounds.items() if at is not None}
    return query | ({"_id": span} if span else {})


def _answered(code: CodeClass) -> Doc:
    """Causes stand for classes of codes, and have an index; codes have none."""
    if code is CodeClass.SUCCESS:
        return {"state": "delivered"}
    return {"last.cause": {"$in": sorted(causes_of(code))}}


def _typed(db: Database[Doc], team: str, filters: Filters) -> list[Doc]:
    """The alternatives that what was typed stands for; one empty condition where nothing was."""
    if filters.id_prefix is not None:
        return [{"_id": _beginning(filters.id_prefix)}]
    if filters.type_prefix is None:
        return [{}]
    types = _types(db, team, filters.type_prefix)
    ways: list[Doc] = [{"type": {"$in": types}}] if types else []
    for key in ("public_id", "idempotency_key"):
        event = db.events.find_one({"team": team, key: filters.type_prefix}, {"_id": True})
        if event is not None:
            ways.append({"_id": _beginning(delivery_stem(event["_id"]))})
    return ways or [_NOTHING]


def _types(db: Database[Doc], team: str, prefix: str) -> list[str]:
    """The types in use that begin so, one look into the index for each."""
    found: list[str] = []
    bound = {"$gte": prefix}
    while len(found) < _TYPES_FOUND:
        wanted = {"team": team, "type": bound | {"$lt": f"{prefix}~"}}
        doc = db.deliveries.find_one(wanted, {"type": True, "_id": False}, sort=[("type", 1)])
        if doc is None:
            break
        found.append(doc["type"])
        bound = {"$gt": doc["type"]}
    return found


def _beginning(prefix: str) -> Doc:
    return {"$gte": prefix, "$lt": f"{prefix}~"}


def _wordings(words: frozenset[Word], endpoints: Mapping[str, Endpoint]) -> list[Doc]:
    """`screen_word`, the other way round: the stored shapes that read as one of `words`.

    One empty condition where any word will do.
    """
    if not words or words == frozenset(Word):
        return [{}]
    holding = [key for key, endpoint in endpoints.items() if endpoint.state.holds]
    shapes: list[Doc] = []
    for word in sorted(words):
        if word is Word.HELD:
            shapes.append({"state": "pending", "endpoint": {"$in": holding}})
        elif word in (Word.QUEUED, Word.RETRYING):
            tried = {"$gt": 0} if word is Word.RETRYING else 0
            shapes.append({"state": "pending", "endpoint": {"$nin": holding}, "tries": tried})
        else:
            shapes.append({"state": "leased" if word is Word.SENDING else word.value})
    return shapes


def _millis(at: datetime) -> int:
    return max(0, int(at.timestamp() * 1000))
