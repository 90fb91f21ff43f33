"""Every collection, validator and index, in one table. A query that needs an index finds it here.

Ids are time-ordered, so `_id` is also the creation order: lists page on it and need no second key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pymongo import ASCENDING, IndexModel
from pymongo.database import Database
from pymongo.errors import CollectionInvalid

from relay_web.store.rollups import KEPT_DAYS

Doc = dict[str, Any]

_LIVE: Final = ["pending", "leased"]
_TERMINAL: Final = ["delivered", "failed", "cancelled"]

#: A live delivery is always in a lane with a date, a terminal one never: `due_at <= $$NOW` also
#: matches a missing or null date (measured, reliability M6), so the shape has to forbid it.
_DELIVERY_SHAPE: Final[Doc] = {
    "$jsonSchema": {
        "required": ["team", "event", "endpoint", "state", "lease_token", "tries", "rev"],
        "properties": {
            "lease_token": {"bsonType": ["int", "long"], "minimum": 0},
            "tries": {"bsonType": ["int", "long"], "minimum": 0},
            "lost": {"maxItems": 400},
        },
        "oneOf": [
            {
                "required": ["lane", "due_at"],
                "properties": {
                    "state": {"enum": ["pending"]},
                    "lane": {"bsonType": "string"},
                    "due_at": {"bsonType": "date"},
                },
                "not": {"required": ["lease"]},
            },
            {
                "required": ["lane", "due_at", "lease"],
                "properties": {
                    "state": {"enum": ["leased"]},
                    "lane": {"bsonType": "string"},
                    "due_at": {"bsonType": "date"},
                    "lease": {"required": ["id", "worker", "granted_at"]},
                },
            },
            {
                "properties": {"state": {"enum": _TERMINAL}},
                "not": {
                    "anyOf": [
                        {"required": ["lane"]},
                        {"required": ["due_at"]},
                        {"required": ["lease"]},
                    ]
                },
            },
        ],
    }
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What one collection must look like."""

    indexes: Sequence[IndexModel] = ()
    validator: Mapping[str, Any] = field(default_factory=dict)


def _index(*keys: str, name: str = "", **options: Any) -> IndexModel:
    pairs = [(key, ASCENDING) for key in keys]
    return IndexModel(pairs, name=name or "_".join(keys), **options)


def _present(key: str) -> Doc:
    return {"partialFilterExpression": {key: {"$exists": True}}}


def _beyond(key: str, least: str) -> Doc:
    return {"partialFilterExpression": {key: {"$gt": least}}}


SHAPES: Final[Mapping[str, Shape]] = {
    "deliveries": Shape(
        indexes=(
            # The queue. Sparse: a terminal delivery has neither key and leaves the index.
            _index("lane", "due_at", sparse=True),
            # At most one delivery in flight in an ordered lane: the claim sets `slot`.
            _index("slot", unique=True, sparse=True),
            _index("team", "_id"),
            _index("team", "state", "_id"),
            _index("team", "endpoint", "_id"),
            _index("team", "type", "_id"),
            # A delivery that arrives at its first attempt never gets into these three.
            _index("team", "last.cause", "_id", **_beyond("last.cause", "")),
            _index("team", "_id", name="team_lost", **_present("lost.0")),
            _index("team", "_id", name="team_acted", **_present("actions.0")),
            _index("expire_at", expireAfterSeconds=0, sparse=True),
            # What a bulk job sent again; the others have no such field.
            _index("jobs", "_id", **_present("jobs")),
        ),
        validator=_DELIVERY_SHAPE,
    ),
    "events": Shape(
        indexes=(
            _index("team", "_id"),
            _index("team", "type", "_id"),
            # Events that nobody subscribed to.
            _index("team", "_id", name="team_unmatched", partialFilterExpression={"targets": []}),
            _index("team", "idempotency_key", unique=True, **_present("idempotency_key")),
            _index("team", "public_id", unique=True, **_present("public_id")),
            _index("fanout", partialFilterExpression={"fanout": "pending"}),
            # What retention has to look at, and nothing when there is nothing.
            _index("keep_until"),
        ),
    ),
    # One delivery's attempts are the ids that begin with its own: `_id` is index enough.
    "attempts": Shape(),
    "rollups": Shape(
        indexes=(
            _index("team", "kind", "hour"),
            _index("hour", expireAfterSeconds=KEPT_DAYS * 86400),
        ),
    ),
    "workers": Shape(indexes=(_index("beat_at", expireAfterSeconds=7 * 86400),)),
    "endpoints": Shape(
        indexes=(
            _index("team", "_id"),
            _index("failing_since", sparse=True),
            # A form that is sent twice registers once.
            _index("team", "action_id", unique=True, **_present("action_id")),
        ),
    ),
    "bulk_jobs": Shape(
        indexes=(
            _index("state", "team", partialFilterExpression={"state": "running"}),
            # A confirmation that is sent twice starts one job.
            _index("team", "action_id", unique=True),
            _index("expire_at", expireAfterSeconds=0, sparse=True),
        ),
    ),
    "event_types": Shape(indexes=(_index("team", "name"),)),
    "users": Shape(indexes=(_index("email", unique=True),)),
    "sessions": Shape(
        indexes=(
            _index("digest", unique=True),
            _index("user"),
            _index("expire_at", expireAfterSeconds=0),
        ),
    ),
    "teams": Shape(
        indexes=(_index("slugs", unique=True), _index("owners"), _index("deleted_at", sparse=True))
    ),
    "memberships": Shape(indexes=(_index("user"), _index("team"))),
    "api_keys": Shape(indexes=(_index("digest", unique=True), _index("team", "_id"))),
    "invites": Shape(
        indexes=(
            _index("digest", unique=True),
            # One open invitation for an address in a team.
            _index("team", "email", unique=True, **_present("open")),
        ),
    ),
    "resets": Shape(indexes=(_index("digest", unique=True), _index("user"))),
    "signups": Shape(
        indexes=(
            _index("digest", unique=True),
            _index("email"),
            _index("expires_at", expireAfterSeconds=0),
        ),
    ),
    "throttle": Shape(indexes=(_index("expire_at", expireAfterSeconds=0),)),
    "audit": Shape(indexes=(_index("team", "_id"), _index("team", "target", "_id"))),
}


def ensure_schema(db: Database[Doc]) -> None:
    """Bring `db` to SHAPES; running it again, or from two processes at once, changes nothing."""
    for name, shape in SHAPES.items():
        try:
            db.create_collection(name, validator=dict(shape.validator))
        except CollectionInvalid:
            db.command("collMod", name, validator=dict(shape.validator))
        if shape.indexes:
            db[name].create_indexes(list(shape.indexes))
