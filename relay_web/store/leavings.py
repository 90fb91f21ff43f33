"""What a deleted team leaves behind, for the time when its deliveries have gone."""

from typing import Any, Final

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Deliveries, attempts and events go by retention; the audit log stays, for whoever has to answer.
_ERASED: Final = ("api_keys", "bulk_jobs", "endpoints", "event_types", "invites", "rollups")
#: As long as there is one of these, pages of the operator's may still be asked about it.
_AWAITED: Final = ("deliveries", "events")


class Leavings:
    """Erases across collections, one deleted team at a time."""

    def __init__(self, db: Database[Doc]) -> None:
        self._db = db

    @database_errors()
    def teams(self) -> list[str]:
        """Deleted teams that are not erased yet."""
        found = self._db["teams"].find(
            {"deleted_at": {"$exists": True}, "erased_at": {"$exists": False}}, {"_id": True}
        )
        return [doc["_id"] for doc in found]

    @database_errors()
    def erase(self, team: str) -> bool:
        """Remove what is left of it, once nothing of it is kept by retention any more.

        Its slugs stay taken, so that no stranger inherits old links. Safe to stop and to repeat.
        """
        if any(self._db[name].find_one({"team": team}, {"_id": True}) for name in _AWAITED):
            return False
        for name in _ERASED:
            self._db[name].delete_many({"team": team})
        change = {"$set": {"erased_at": "$$NOW", "name": "", "owners": []}}
        self._db["teams"].update_one({"_id": team}, [change])
        return True
