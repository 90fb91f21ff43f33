"""API keys. The database holds a hash: the key has enough randomness not to need a slow one."""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pymongo import DESCENDING
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.clock import ALPHABET, new_id, utcnow
from relay_web.domain.roles import Scope
from relay_web.errors import Conflict, NotFound
from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: `rk_`, eight characters that lists show, thirty-two that nobody sees again.
PREFIX_LENGTH: Final = 11
KEY_LENGTH: Final = PREFIX_LENGTH + 32

#: `last_used_at` is written at most this often for a key, so that publishing stays cheap.
_USED_EVERY_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: str
    team: str
    name: str
    prefix: str
    scopes: frozenset[Scope]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class ApiKeys:
    """The `api_keys` collection."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["api_keys"]

    @database_errors()
    def add(
        self,
        team: str,
        *,
        name: str,
        scopes: Iterable[Scope],
        by: str,
        expires_at: datetime | None = None,
        key: str | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key, and its full text, which cannot be read again.

        `key` fixes the text; one that is there already comes back as it is.
        """
        text = key or new_key()
        doc: Doc = {
            "_id": new_id("key"),
            "team": team,
            "name": name,
            "prefix": text[:PREFIX_LENGTH],
            "digest": _digest(text),
            "scopes": sorted(scope.value for scope in scopes),
            "created_by": by,
            "created_at": utcnow(),
            "expires_at": expires_at,
            "revoked_at": None,
            "last_used_at": None,
        }
        try:
            self._docs.insert_one(doc)
        except DuplicateKeyError:
            there = self._docs.find_one({"digest": doc["digest"], "team": team})
            if there is None:  # another team's: nothing but a collision could bring us here
                raise Conflict from None
            doc = there
        return _key(doc), text

    @database_errors()
    def find(self, text: str) -> ApiKey | None:
        """The live key of this text: None for an unknown, revoked or expired one."""
        doc = self._docs.find_one(
            {
                "digest": _digest(text),
                "revoked_at": None,
                "$expr": {
                    "$or": [{"$eq": ["$expires_at", None]}, {"$gt": ["$expires_at", "$$NOW"]}]
                },
            }
        )
        return _key(doc) if doc else None

    @database_errors()
    def used(self, key: ApiKey) -> None:
        """Note the use, unless that was done within the minute."""
        since = {"$subtract": ["$$NOW", _USED_EVERY_MS]}
        self._docs.update_one(
            {"_id": key.id, "$expr": {"$lt": ["$last_used_at", since]}},
            [{"$set": {"last_used_at": "$$NOW"}}],
        )

    @database_errors()
    def of_team(self, team: str) -> list[ApiKey]:
        """Every key the team ever had, newest first."""
        return [_key(doc) for doc in self._docs.find({"team": team}).sort("_id", DESCENDING)]

    @database_errors()
    def revoke(self, team: str, key_id: str) -> None:
        """End a key for good; a second time changes nothing. Raises `NotFound`."""
        done = self._docs.update_one(
            {"_id": key_id, "team": team},
            [{"$set": {"revoked_at": {"$ifNull": ["$revoked_at", "$$NOW"]}}}],
        )
        if not done.matched_count:
            raise NotFound

    @database_errors()
    def revoke_all(self, team: str) -> None:
        """End every key of a team that is being deleted."""
        self._docs.update_many(
            {"team": team, "revoked_at": None}, [{"$set": {"revoked_at": "$$NOW"}}]
        )


def new_key() -> str:
    return key_from(secrets.token_bytes(48))


def key_from(noise: bytes) -> str:
    """A key's text out of at least 40 random or secret bytes."""
    return "rk_" + "".join(ALPHABET[byte % 62] for byte in noise[: KEY_LENGTH - 3])


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _key(doc: Doc) -> ApiKey:
    return ApiKey(
        id=doc["_id"],
        team=doc["team"],
        name=doc["name"],
        prefix=doc["prefix"],
        scopes=frozenset(map(Scope, doc["scopes"])),
        created_by=doc["created_by"],
        created_at=doc["created_at"],
        expires_at=doc["expires_at"],
        revoked_at=doc["revoked_at"],
        last_used_at=doc["last_used_at"],
    )
