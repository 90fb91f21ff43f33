"""What the engine writes about the pace of an endpoint: cool-downs and the ramp after a resume."""

from typing import Any

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]


class EndpointPace:
    """The `cool_until` and `ramp_*` of endpoints. Every worker sees a change within two seconds."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db.endpoints

    @database_errors()
    def cool(self, endpoint: str, seconds: float) -> None:
        """Leave it alone for `seconds`."""
        until = {"$add": ["$$NOW", int(seconds * 1000)]}
        self._docs.update_one({"_id": endpoint}, [{"$set": {"cool_until": until}}])

    @database_errors()
    def warm(self, endpoint: str) -> None:
        """End a cool-down."""
        self._docs.update_one(
            {"_id": endpoint, "cool_until": {"$exists": True}}, {"$unset": {"cool_until": ""}}
        )

    @database_errors()
    def ramp(self, endpoint: str, before: int | None, after: int | None) -> None:
        """Move the ramp from step `before` to `after`; None is the whole rate. One worker wins."""
        here: Doc = {"_id": endpoint, "ramp_step": before}
        if after is None:
            self._docs.update_one(here, {"$unset": {"ramp_step": "", "ramp_since": ""}})
        else:
            change = {"ramp_step": after, "ramp_since": "$$NOW"}
            self._docs.update_one(here, [{"$set": change}])
