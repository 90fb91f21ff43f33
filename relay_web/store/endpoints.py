"""Registrations. Every look-up of a person or a key holds the team; the worker loads by id."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from pymongo import DESCENDING, ReturnDocument
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from relay_web.domain.endpoint import Endpoint, EndpointState, SealedSecret
from relay_web.domain.limits import ENDPOINTS_PER_TEAM
from relay_web.errors import Conflict, NotFound
from relay_web.store.faults import database_errors
from relay_web.store.paging import Page, cursor, position

Doc = dict[str, Any]

#: Secrets that may sign at once: the newest and four old ones (reliability G5, G6).
MAX_SECRETS = 5

_LISTING = "endpoints"
_NEXT_REV: Doc = {"$add": ["$rev", 1]}


class Endpoints:
    """The `endpoints` collection. Deleted ones stay for the timeline's sake, marked."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["endpoints"]

    @database_errors()
    def add(self, endpoint: Endpoint, *, action_id: str | None = None) -> Endpoint:
        """Insert; with an `action_id` seen before in this team, the endpoint it made comes back.

        Raises `Conflict` at the team's limit (reliability B57).
        """
        if action_id and (made := self.made_by(endpoint.team, action_id)):
            return made
        if self.count(endpoint.team) >= ENDPOINTS_PER_TEAM:
            raise Conflict(
                f"A team has at most {ENDPOINTS_PER_TEAM} endpoints; delete one first.",
                code="endpoint_limit",
            )
        doc = endpoint.to_doc() | ({"action_id": action_id} if action_id else {})
        try:
            self._docs.insert_one(doc)
        except DuplicateKeyError:  # the same form, sent twice at once
            made = self.made_by(endpoint.team, action_id or "")
            if made is None:
                raise Conflict from None
            return made
        return endpoint

    @database_errors()
    def made_by(self, team: str, action_id: str) -> Endpoint | None:
        """The endpoint that a form with this one-time id already made, deleted or not."""
        doc = self._docs.find_one({"team": team, "action_id": action_id})
        return Endpoint.from_doc(doc) if doc else None

    @database_errors()
    def get(self, team: str, endpoint_id: str) -> Endpoint:
        """One endpoint of this team; raises `NotFound` for a deleted or another team's one."""
        doc = self._docs.find_one(_live(team, endpoint_id))
        if doc is None:
            raise NotFound
        return Endpoint.from_doc(doc)

    @database_errors()
    def count(self, team: str) -> int:
        """Endpoints of the team, deleted ones left out."""
        return self._docs.count_documents({"team": team, "deleted_at": None})

    @database_errors()
    def same_url(self, team: str, url: str) -> int:
        """How many endpoints of the team already send to `url` (reliability B58: a warning)."""
        return self._docs.count_documents({"team": team, "url": url, "deleted_at": None})

    @database_errors()
    def list(self, team: str, *, after: str | None = None, limit: int = 50) -> Page[Endpoint]:
        """Newest first; raises `BadRequest` for a cursor of another list."""
        query: Doc = {"team": team, "deleted_at": None}
        if after is not None:
            query["_id"] = {"$lt": position(_LISTING, team, after)}
        docs = list(self._docs.find(query).sort("_id", DESCENDING).limit(limit + 1))
        items = [Endpoint.from_doc(doc) for doc in docs[:limit]]
        more = len(docs) > limit
        return Page(items, cursor(_LISTING, team, items[-1].id) if more else None)

    @database_errors()
    def for_team_active(self, team: str) -> tuple[Endpoint, ...]:
        """Every endpoint that new events may go to: all but the deleted (holding ones hold)."""
        found = self._docs.find({"team": team, "deleted_at": None}).sort("_id")
        return tuple(Endpoint.from_doc(doc) for doc in found)

    @database_errors()
    def load(self, ids: Iterable[str]) -> dict[str, Endpoint]:
        """By id across teams, deleted ones included; ids that name nothing are left out."""
        found = self._docs.find({"_id": {"$in": list(ids)}})
        return {doc["_id"]: Endpoint.from_doc(doc) for doc in found}

    @database_errors()
    def deleted(self, ids: Iterable[str]) -> set[str]:
        """Those of `ids` that were deleted."""
        gone = {"_id": {"$in": list(ids)}, "deleted_at": {"$ne": None}}
        return {doc["_id"] for doc in self._docs.find(gone, {"_id": True})}

    @database_errors()
    def update(
        self, team: str, endpoint_id: str, rev: int | None, changes: Mapping[str, Any]
    ) -> Endpoint:
        """Set stored fields (`to_doc` names; None removes one) and return the new endpoint.

        With a `rev`, raises `Conflict` where the endpoint moved on since (reliability B59).
        """
        setting = {key: value for key, value in changes.items() if value is not None}
        gone = {key: "" for key, value in changes.items() if value is None}
        change: Doc = {"$inc": {"rev": 1}}
        if setting:
            change["$set"] = setting
        if gone:
            change["$unset"] = gone
        stale = {} if rev is None else {"rev": rev}
        doc = self._docs.find_one_and_update(
            _live(team, endpoint_id) | stale, change, return_document=ReturnDocument.AFTER
        )
        if doc is None:
            self.get(team, endpoint_id)
            raise Conflict("Someone else changed this endpoint; reload and try again.")
        return Endpoint.from_doc(doc)

    def pause(self, team: str, endpoint_id: str, by: str) -> Endpoint:
        """Hold its deliveries. A second pause changes nothing."""
        return self._move(team, endpoint_id, EndpointState.PAUSED, f"Paused by {by}")

    def resume(self, team: str, endpoint_id: str, by: str) -> Endpoint:
        """Send again, whatever held it, slowly at first (`domain.ramp`); an outage starts anew."""
        return self._move(team, endpoint_id, EndpointState.ACTIVE, f"Resumed by {by}")

    def suspend(self, endpoint_id: str, reason: str) -> bool:
        """Relay's own pause after long failure; False when it was not active any more."""
        return self._stop(endpoint_id, EndpointState.SUSPENDED, reason)

    def disable(self, endpoint_id: str, reason: str) -> bool:
        """After 410 Gone; False when it was not active any more."""
        return self._stop(endpoint_id, EndpointState.DISABLED, reason)

    @database_errors()
    def mark_deleted(self, team: str, endpoint_id: str) -> Endpoint:
        """Tombstone: no new event goes there, what waits is cancelled by the sweeper.

        Secrets and header values go at once. Raises `NotFound` the second time.
        """
        doc = self._docs.find_one_and_update(
            _live(team, endpoint_id),
            [
                {"$set": {"deleted_at": "$$NOW", "rev": _NEXT_REV, "secrets": []}},
                {"$unset": ["headers", "key_pair"]},
            ],
            return_document=ReturnDocument.AFTER,
        )
        if doc is None:
            raise NotFound
        return Endpoint.from_doc(doc)

    @database_errors()
    def add_secret(
        self, team: str, endpoint_id: str, secret: SealedSecret, *, overlap: timedelta
    ) -> Endpoint:
        """Put `secret` in front; the ones before it end after `overlap` at the latest.

        Raises `Conflict` where four old ones still sign (reliability B62).
        """
        live: Doc = {
            "$filter": {
                "input": "$secrets",
                "cond": {
                    "$or": [
                        {"$eq": ["$$this.expires_at", None]},
                        {"$gt": ["$$this.expires_at", "$$NOW"]},
                    ]
                },
            }
        }
        room: Doc = {"$expr": {"$lt": [{"$size": live}, MAX_SECRETS]}} if overlap else {}
        doc = self._docs.find_one_and_update(
            _live(team, endpoint_id) | room,
            _in_front(secret, live, overlap),
            return_document=ReturnDocument.AFTER,
        )
        if doc is None:
            self.get(team, endpoint_id)
            raise Conflict(
                "At most 4 old secrets; wait until one ends, or end them all by rotating "
                "with no overlap.",
                code="too_many_secrets",
            )
        return Endpoint.from_doc(doc)

    @database_errors()
    def end_secret(self, team: str, endpoint_id: str, secret_id: str) -> Endpoint:
        """An old secret stops signing at once; the newest one stays."""
        old = {"id": secret_id, "expires_at": {"$ne": None}}
        change = {"$pull": {"secrets": old}, "$inc": {"rev": 1}}
        self._docs.update_one(_live(team, endpoint_id), change)
        return self.get(team, endpoint_id)

    @database_errors()
    def _move(self, team: str, endpoint_id: str, state: EndpointState, reason: str) -> Endpoint:
        doc = self._docs.find_one_and_update(
            _live(team, endpoint_id) | {"state": {"$ne": state.value}},
            [
                {"$set": _state(state, reason) | {"ramp_step": 0, "ramp_since": "$$NOW"}},
                {"$unset": ["failing_since", "warned_at", "cool_until"]},
            ],
            return_document=ReturnDocument.AFTER,
        )
        return Endpoint.from_doc(doc) if doc else self.get(team, endpoint_id)

    @database_errors()
    def _stop(self, endpoint_id: str, state: EndpointState, reason: str) -> bool:
        done = self._docs.update_one(
            {"_id": endpoint_id, "state": EndpointState.ACTIVE.value, "deleted_at": None},
            [{"$set": _state(state, reason)}],
        )
        return done.modified_count == 1


def _live(team: str, endpoint_id: str) -> Doc:
    return {"_id": endpoint_id, "team": team, "deleted_at": None}


def _state(state: EndpointState, reason: str) -> Doc:
    # $literal: a reason that begins with a dollar sign is text, not a field path.
    return {
        "state": state.value,
        "state_since": "$$NOW",
        "state_reason": {"$literal": reason},
        "rev": _NEXT_REV,
    }


def _in_front(secret: SealedSecret, live: Doc, overlap: timedelta) -> list[Doc]:
    ends: Doc = {"$add": ["$$NOW", int(overlap.total_seconds() * 1000)]}
    # $min passes over null, so "never ends" becomes the end of the overlap.
    sooner: Doc = {"expires_at": {"$min": ["$$this.expires_at", ends]}}
    old: Doc = {"$map": {"input": live, "in": {"$mergeObjects": ["$$this", sooner]}}}
    kept: Doc = old if overlap else {"$literal": []}
    newest: Doc = {"$mergeObjects": [{"$literal": secret.to_doc()}, {"created_at": "$$NOW"}]}
    return [{"$set": {"secrets": {"$concatArrays": [[newest], kept]}, "rev": _NEXT_REV}}]
