"""One-time links: invitations to a team, password resets, sign-ups to be confirmed.

A link holds 32 random bytes, the database their hash. GET shows a ticket, POST uses it up by one
guarded update, so mail scanners spend nothing and twenty clicks at once are one use.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from pymongo import DESCENDING, ReturnDocument
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.clock import new_id, utcnow
from relay_web.domain.roles import Role
from relay_web.errors import Conflict, Gone, NotFound
from relay_web.store.faults import database_errors

Doc = dict[str, Any]

INVITE_LIFE: Final = timedelta(days=7)
RESET_LIFE: Final = timedelta(hours=1)
SIGNUP_LIFE: Final = timedelta(days=1)


class TicketState(StrEnum):
    OPEN = "open"
    USED = "used"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


_CLOSED: Final = {
    TicketState.USED: "This link was used already; sign in, or ask for a new one.",
    TicketState.WITHDRAWN: "This link was withdrawn; ask the person who sent it.",
    TicketState.EXPIRED: "This link has expired; ask for a new one.",
}


@dataclass(frozen=True, slots=True)
class Ticket:
    """An invitation (`team`, `role`, `by`), a password reset (`user`), or a sign-up (the rest)."""

    id: str
    email: str
    team: str | None
    role: Role | None
    by: str | None
    user: str | None
    created_at: datetime
    expires_at: datetime
    state: TicketState
    password_hash: str | None = field(default=None, repr=False)
    team_name: str | None = None


class Tickets:
    """The `invites` collection (or `resets`, `signups`: the same rules, another life)."""

    def __init__(self, db: Database[Doc], name: str, life: timedelta) -> None:
        self._docs = db[name]
        self._life = life

    def invite(self, *, team: str, email: str, role: Role, by: str) -> tuple[Ticket, str]:
        """Raises `Conflict` where the address has an open invitation to the team."""
        try:
            return self._issue({"team": team, "email": email, "role": role.value, "by": by})
        except DuplicateKeyError:
            raise Conflict(
                "An invitation to this address is pending; resend or withdraw it.",
                field="email",
                code="invite_pending",
            ) from None

    def reset(self, *, user: str, email: str) -> tuple[Ticket, str]:
        """A link to choose a new password; earlier ones of the same user end."""
        self._docs.update_many({"user": user, "open": True}, _closing(TicketState.WITHDRAWN))
        return self._issue({"user": user, "email": email})

    def sign_up(self, *, email: str, password_hash: str, team: str) -> tuple[Ticket, str]:
        """A link that makes an account and a team of that name; earlier ones of the address end."""
        self._docs.update_many({"email": email, "open": True}, _closing(TicketState.WITHDRAWN))
        return self._issue({"email": email, "password_hash": password_hash, "team_name": team})

    @database_errors()
    def find(self, token: str) -> Ticket:
        """What the link says, open or not; raises `NotFound` for a made-up token."""
        doc = self._docs.find_one({"digest": _digest(token)})
        if doc is None:
            raise NotFound("This link is not valid; check that it was copied whole.")
        return _ticket(doc)

    @database_errors()
    def use(self, token: str, *, email: str | None = None) -> Ticket:
        """Use it up; raises `Gone` where it is not open, or not meant for `email`."""
        query: Doc = {
            "digest": _digest(token),
            "open": True,
            "$expr": {"$gt": ["$expires_at", "$$NOW"]},
        }
        if email is not None:
            query["email"] = email
        doc = self._docs.find_one_and_update(
            query, _closing(TicketState.USED), return_document=ReturnDocument.BEFORE
        )
        if doc is None:
            ticket = self.find(token)
            raise Gone(_CLOSED.get(ticket.state, "This link was made for another address."))
        return _ticket(doc)

    @database_errors()
    def withdraw(self, team: str, ticket_id: str) -> None:
        """Raises `NotFound`; one that is used or withdrawn already stays as it is."""
        self._docs.update_one(
            {"_id": ticket_id, "team": team, "open": True}, _closing(TicketState.WITHDRAWN)
        )
        if self._docs.find_one({"_id": ticket_id, "team": team}, {"_id": 1}) is None:
            raise NotFound

    @database_errors()
    def of_team(self, team: str) -> list[Ticket]:
        """Open and expired invitations of a team, newest first."""
        found = self._docs.find({"team": team, "open": True}).sort("_id", DESCENDING)
        return [_ticket(doc) for doc in found]

    @database_errors()
    def _issue(self, content: Doc) -> tuple[Ticket, str]:
        token, now = secrets.token_urlsafe(32), utcnow()
        # A pending invitation that ran out must not stand in the way of a new one.
        stale = {key: content[key] for key in ("team", "user", "email") if key in content}
        self._docs.update_many(
            stale | {"open": True, "$expr": {"$lte": ["$expires_at", "$$NOW"]}},
            _closing(TicketState.EXPIRED),
        )
        doc: Doc = content | {
            "_id": new_id("inv"),
            "digest": _digest(token),
            "open": True,
            "created_at": now,
            "expires_at": now + self._life,
        }
        self._docs.insert_one(doc)
        return _ticket(doc), token


def _closing(state: TicketState) -> list[Doc]:
    return [{"$set": {"closed": state.value, "closed_at": "$$NOW"}}, {"$unset": "open"}]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _ticket(doc: Doc) -> Ticket:
    state = TicketState(doc.get("closed", TicketState.OPEN))
    if state is TicketState.OPEN and doc["expires_at"] <= utcnow():
        state = TicketState.EXPIRED
    return Ticket(
        id=doc["_id"],
        email=doc["email"],
        team=doc.get("team"),
        role=Role(doc["role"]) if "role" in doc else None,
        by=doc.get("by"),
        user=doc.get("user"),
        created_at=doc["created_at"],
        expires_at=doc["expires_at"],
        state=state,
        password_hash=doc.get("password_hash"),
        team_name=doc.get("team_name"),
    )
