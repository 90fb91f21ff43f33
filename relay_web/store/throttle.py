"""Slows down guessing: counters in the database, so that every web process sees the same ones."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from pymongo import ReturnDocument
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.store.faults import database_errors

Doc = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """`free` tries, then a wait of `first` seconds that doubles with each further try to `longest`.

    A counter starts again `memory` seconds after its first try, or, if `sliding`, after its last.
    """

    name: str
    free: int
    first: int
    longest: int
    memory: int
    sliding: bool


#: Reliability W3. A wait ends by itself: nobody can lock an account for good.
PER_ACCOUNT: Final = Rule("account", 5, first=30, longest=900, memory=86_400, sliding=True)
PER_ADDRESS: Final = Rule("address", 30, first=300, longest=300, memory=300, sliding=False)
BAD_KEYS: Final = Rule("keys", 60, first=60, longest=300, memory=300, sliding=False)
MAILS: Final = Rule("mails", 5, first=60, longest=3600, memory=86_400, sliding=True)


class Throttle:
    """The `throttle` collection; a TTL index removes what is forgotten."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["throttle"]

    @database_errors()
    def hit(self, rule: Rule, subject: str) -> int:
        """Count one try *before* it is made; returns 0, or the seconds to wait instead of trying.

        One update decides, so a hundred guesses at once are a hundred counted tries.
        """
        for _ in range(2):
            try:
                doc = self._docs.find_one_and_update(
                    {"_id": _key(rule, subject)},
                    _counting(rule),
                    upsert=True,
                    return_document=ReturnDocument.AFTER,
                )
                assert doc is not None  # it upserts
                return int(-(-doc["wait_ms"] // 1000))
            except DuplicateKeyError:  # two first tries at once: the second finds the document
                continue
        return 1

    @database_errors()
    def clear(self, rule: Rule, subject: str) -> None:
        """The right password was given: forget this subject's tries."""
        self._docs.delete_one({"_id": _key(rule, subject)})


def _counting(rule: Rule) -> list[Doc]:
    over = {"$subtract": ["$count", rule.free]}
    wait = {"$min": [rule.longest * 1000, {"$multiply": [rule.first * 1000, {"$pow": [2, over]}]}]}
    forget: Doc = {"$add": ["$$NOW", rule.memory * 1000]}
    if not rule.sliding:
        forget = {"$cond": ["$fresh", forget, "$expire_at"]}
    return [
        {"$set": {"fresh": {"$lte": [{"$ifNull": ["$expire_at", "$$NOW"]}, "$$NOW"]}}},
        {"$set": {"blocked": {"$and": [{"$not": "$fresh"}, {"$gt": ["$until", "$$NOW"]}]}}},
        {"$set": {
            "count": {"$cond": [
                "$fresh", 1, {"$add": ["$count", {"$cond": ["$blocked", 0, 1]}]},
            ]},
            "wait_ms": {"$cond": ["$blocked", {"$subtract": ["$until", "$$NOW"]}, 0]},
        }},
        {"$set": {
            "until": {"$switch": {
                "branches": [
                    {"case": "$blocked", "then": "$until"},
                    {"case": {"$gte": ["$count", rule.free]}, "then": {"$add": ["$$NOW", wait]}},
                ],
                "default": "$$NOW",
            }},
            "expire_at": forget,
        }},
        {"$unset": ["fresh", "blocked"]},
    ]  # fmt: skip


def _key(rule: Rule, subject: str) -> str:
    """The subject is hashed: addresses of strangers are not collected."""
    return f"{rule.name}:{hashlib.sha256(subject.encode()).hexdigest()[:32]}"
