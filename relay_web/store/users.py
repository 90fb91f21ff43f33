"""People and their browser sign-ins."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from pymongo import DESCENDING
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.clock import new_id, utcnow
from relay_web.errors import Conflict
from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: A sign-in ends after this long (reliability W2).
SESSION_DAYS: Final = 14


@dataclass(frozen=True, slots=True)
class User:
    """A person. `epoch` goes up when every sign-in must end: password change, reset, removal."""

    id: str
    email: str
    password_hash: str = field(repr=False)
    epoch: int
    created_at: datetime
    preferences: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Session:
    """One browser that is signed in. `confirmed_at`: when the password was last typed there."""

    id: str
    user: str
    created_at: datetime
    seen_at: datetime
    confirmed_at: datetime
    address: str
    agent: str


class Users:
    """The `users` collection; one address is one user."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["users"]

    @database_errors()
    def add(self, email: str, password_hash: str) -> User:
        """A new user; raises `Conflict` where the address is taken."""
        doc: Doc = {
            "_id": new_id("usr"),
            "email": email,
            "password_hash": password_hash,
            "epoch": 0,
            "created_at": utcnow(),
            "preferences": {},
        }
        try:
            self._docs.insert_one(doc)
        except DuplicateKeyError:
            raise Conflict(
                "This address already has an account; sign in, or reset the password.",
                field="email",
                code="email_taken",
            ) from None
        return _user(doc)

    @database_errors()
    def any(self) -> bool:
        """Whether anyone has an account yet."""
        return self._docs.find_one({}, {"_id": 1}) is not None

    @database_errors()
    def by_email(self, email: str) -> User | None:
        """`email` as `check_email` gives it."""
        doc = self._docs.find_one({"email": email})
        return _user(doc) if doc else None

    @database_errors()
    def get(self, user_id: str) -> User | None:
        doc = self._docs.find_one({"_id": user_id})
        return _user(doc) if doc else None

    @database_errors()
    def by_ids(self, ids: list[str]) -> dict[str, User]:
        return {doc["_id"]: _user(doc) for doc in self._docs.find({"_id": {"$in": ids}})}

    @database_errors()
    def set_password(self, user_id: str, password_hash: str) -> None:
        """Replace the password and end every sign-in."""
        self._docs.update_one(
            {"_id": user_id}, {"$set": {"password_hash": password_hash}, "$inc": {"epoch": 1}}
        )

    @database_errors()
    def sign_out_everywhere(self, user_id: str) -> None:
        """End every sign-in, also one that is being opened right now."""
        self._docs.update_one({"_id": user_id}, {"$inc": {"epoch": 1}})

    @database_errors()
    def prefer(self, user_id: str, preferences: Mapping[str, str]) -> None:
        """Set some preferences, such as `zone`; others stay. Names come from our own forms."""
        changes = {f"preferences.{name}": value for name, value in preferences.items()}
        self._docs.update_one({"_id": user_id}, {"$set": changes})


class Sessions:
    """The `sessions` collection; cookies hold a random token, the database its hash."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["sessions"]

    @database_errors()
    def open(self, user: User, *, address: str, agent: str) -> str:
        """Sign in; returns the token for the cookie."""
        token, now = secrets.token_urlsafe(32), utcnow()
        self._docs.insert_one(
            {
                "_id": new_id("ses"),
                "digest": _digest(token),
                "user": user.id,
                "epoch": user.epoch,
                "created_at": now,
                "seen_at": now,
                "confirmed_at": now,
                "address": address,
                "agent": agent[:300],
                "expire_at": now + timedelta(days=SESSION_DAYS),
            }
        )
        return token

    @database_errors()
    def find(self, token: str) -> tuple[Session, User] | None:
        """The sign-in behind a cookie and its user; None once it has ended in any way."""
        rows = self._docs.aggregate(
            [
                {"$match": {"digest": _digest(token), "$expr": {"$gt": ["$expire_at", "$$NOW"]}}},
                {"$lookup": {
                    "from": "users", "localField": "user", "foreignField": "_id", "as": "owner",
                }},
                {"$match": {"$expr": {"$eq": ["$epoch", {"$first": "$owner.epoch"}]}}},
            ]
        )  # fmt: skip
        doc = next(iter(rows), None)
        return (_session(doc), _user(doc["owner"][0])) if doc else None

    @database_errors()
    def touch(self, session_id: str) -> None:
        """Note that it was used; call it at most once a minute."""
        self._docs.update_one({"_id": session_id}, [{"$set": {"seen_at": "$$NOW"}}])

    @database_errors()
    def confirm(self, session_id: str) -> None:
        """The password was typed again just now (reliability W15)."""
        self._docs.update_one({"_id": session_id}, [{"$set": {"confirmed_at": "$$NOW"}}])

    @database_errors()
    def of_user(self, user: User) -> list[Session]:
        """Where the user is signed in, last used first."""
        found = self._docs.find(
            {"user": user.id, "epoch": user.epoch, "$expr": {"$gt": ["$expire_at", "$$NOW"]}}
        )
        return [_session(doc) for doc in found.sort("seen_at", DESCENDING)]

    @database_errors()
    def end(self, user_id: str, session_id: str) -> None:
        """Sign one browser out; somebody else's session id ends nothing."""
        self._docs.delete_one({"_id": session_id, "user": user_id})

    @database_errors()
    def end_others(self, user_id: str, keep: str) -> None:
        """Sign out every browser of the user but `keep`."""
        self._docs.delete_many({"user": user_id, "_id": {"$ne": keep}})


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _user(doc: Doc) -> User:
    return User(
        doc["_id"], doc["email"], doc["password_hash"], doc["epoch"], doc["created_at"],
        doc.get("preferences", {}),
    )  # fmt: skip


def _session(doc: Doc) -> Session:
    return Session(
        doc["_id"], doc["user"], doc["created_at"], doc["seen_at"], doc["confirmed_at"],
        doc["address"], doc["agent"],
    )  # fmt: skip
