"""Teams and who belongs to them. A team never loses its last owner.

The team's own document lists its owners. Taking an owner away is one update whose filter asks for
another one in that list, so two owners who leave at the same moment cannot both succeed. The list
may lack an owner after a crash between two writes, never hold one too many.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pymongo import ReturnDocument
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.clock import new_id, utcnow
from relay_web.domain.people import slug_of
from relay_web.domain.roles import Role
from relay_web.errors import Conflict, NotFound
from relay_web.store.faults import database_errors

Doc = dict[str, Any]

_SLUG_TRIES: Final = 50


@dataclass(frozen=True, slots=True)
class Team:
    id: str
    name: str
    slug: str
    created_at: datetime
    #: Why the whole team is stopped; None while it is not.
    suspended: str | None


@dataclass(frozen=True, slots=True)
class Membership:
    """One person in one team."""

    team: str
    user: str
    role: Role
    joined_at: datetime


class Teams:
    """The `teams` and `memberships` collections."""

    def __init__(self, db: Database[Doc]) -> None:
        self._teams = db["teams"]
        self._members = db["memberships"]

    @database_errors()
    def add(self, name: str, owner: str) -> Team:
        """A new team with its first owner; the slug follows the name, numbered where taken."""
        doc: Doc = {
            "_id": new_id("team"),
            "name": name,
            "slugs": [],
            "owners": [owner],
            "created_at": utcnow(),
        }
        for slug in slugs_for(name):
            doc |= {"slug": slug, "slugs": [slug]}
            try:
                self._teams.insert_one(doc)
            except DuplicateKeyError:
                continue
            self._put(doc["_id"], owner, Role.OWNER)
            return _team(doc)
        raise Conflict("Too many teams have this name; choose another.", field="team")

    @database_errors()
    def get(self, team_id: str) -> Team:
        """Raises `NotFound`."""
        return _team_or_404(self._teams.find_one({"_id": team_id, "deleted_at": None}))

    @database_errors()
    def by_slug(self, slug: str) -> Team:
        """By its slug or one it had before (compare `.slug`); raises `NotFound`."""
        return _team_or_404(self._teams.find_one({"slugs": slug, "deleted_at": None}))

    @database_errors()
    def owned_by_name(self, name: str, owner: str) -> Team | None:
        """A team of this exact name that `owner` owns: what makes `relay bootstrap` repeatable."""
        doc = self._teams.find_one({"name": name, "owners": owner, "deleted_at": None})
        return _team(doc) if doc else None

    @database_errors()
    def of_user(self, user: str) -> list[tuple[Team, Role]]:
        """The teams a person may enter, by name."""
        roles = {doc["team"]: Role(doc["role"]) for doc in self._members.find({"user": user})}
        found = self._teams.find({"_id": {"$in": list(roles)}, "deleted_at": None}).sort("name")
        return [(_team(doc), roles[doc["_id"]]) for doc in found]

    @database_errors()
    def membership(self, team_id: str, user: str) -> Membership | None:
        doc = self._members.find_one({"_id": _member_id(team_id, user)})
        return _membership(doc) if doc else None

    @database_errors()
    def members(self, team_id: str) -> list[Membership]:
        """Everyone in the team, longest first."""
        return [_membership(doc) for doc in self._members.find({"team": team_id}).sort("joined_at")]

    @database_errors()
    def join(self, team_id: str, user: str, role: Role) -> None:
        """Add a person; raises `Conflict` for one who is a member already."""
        try:
            self._put(team_id, user, role)
        except DuplicateKeyError:
            raise Conflict("Already a member of this team.", code="already_member") from None
        if role is Role.OWNER:
            self._teams.update_one({"_id": team_id}, {"$addToSet": {"owners": user}})

    @database_errors()
    def set_role(self, team_id: str, user: str, role: Role) -> None:
        """Raises `Conflict` for the last owner (reliability B74), `NotFound` for a stranger."""
        if role is not Role.OWNER:
            self._let_go(team_id, user)
        done = self._members.update_one(
            {"_id": _member_id(team_id, user)}, {"$set": {"role": role.value}}
        )
        if not done.matched_count:
            raise NotFound
        if role is Role.OWNER:
            self._teams.update_one({"_id": team_id}, {"$addToSet": {"owners": user}})

    @database_errors()
    def remove(self, team_id: str, user: str) -> None:
        """Raises `Conflict` for the last owner, `NotFound` for a stranger."""
        self._let_go(team_id, user)
        if not self._members.delete_one({"_id": _member_id(team_id, user)}).deleted_count:
            raise NotFound

    @database_errors()
    def rename(self, team_id: str, name: str) -> Team:
        """A new name and slug; the old slug still leads here. Raises `NotFound`."""
        for slug in slugs_for(name):
            try:
                doc = self._teams.find_one_and_update(
                    {"_id": team_id, "deleted_at": None},
                    {"$set": {"name": name, "slug": slug}, "$addToSet": {"slugs": slug}},
                    return_document=ReturnDocument.AFTER,
                )
            except DuplicateKeyError:
                continue
            return _team_or_404(doc)
        raise Conflict("Too many teams have this name; choose another.", field="team")

    @database_errors()
    def mark_deleted(self, team_id: str) -> None:
        """Nobody gets in any more; slugs stay taken, so no stranger inherits old links."""
        self._teams.update_one({"_id": team_id}, [{"$set": {"deleted_at": "$$NOW"}}])
        self._members.delete_many({"team": team_id})

    def _put(self, team_id: str, user: str, role: Role) -> None:
        self._members.insert_one(
            {
                "_id": _member_id(team_id, user),
                "team": team_id,
                "user": user,
                "role": role.value,
                "joined_at": utcnow(),
            }
        )

    def _let_go(self, team_id: str, user: str) -> None:
        """Strike `user` from the owners, if another one stays."""
        done = self._teams.update_one(
            {"_id": team_id, "owners": {"$elemMatch": {"$ne": user}}}, {"$pull": {"owners": user}}
        )
        if not done.matched_count:
            raise Conflict(
                "A team keeps at least one owner; make someone else an owner first.",
                code="last_owner",
            )


def slugs_for(name: str) -> Iterable[str]:
    """`acme`, then `acme-2`, `acme-3`, …"""
    base = slug_of(name)
    yield base
    yield from (f"{base}-{number}" for number in range(2, _SLUG_TRIES))


def _member_id(team_id: str, user: str) -> str:
    return f"{team_id}:{user}"


def _team(doc: Doc) -> Team:
    return Team(doc["_id"], doc["name"], doc["slug"], doc["created_at"], doc.get("suspended"))


def _team_or_404(doc: Doc | None) -> Team:
    if doc is None:
        raise NotFound
    return _team(doc)


def _membership(doc: Doc) -> Membership:
    return Membership(doc["team"], doc["user"], Role(doc["role"]), doc["joined_at"])
