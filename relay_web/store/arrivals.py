"""A change stream on new work: a hint that wakes an idle worker, never the truth."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymongo.change_stream import CollectionChangeStream
from pymongo.database import Database
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern

from relay_web.errors import Unavailable
from relay_web.store.faults import RETRY_AFTER

Doc = dict[str, Any]

#: Inserts, and updates that made something due: a retry or a resume by hand.
_WORK: list[Doc] = [
    {
        "$match": {
            "$or": [
                {"operationType": "insert"},
                {
                    "operationType": "update",
                    "updateDescription.updatedFields.state": "pending",
                },
                {
                    "operationType": "update",
                    "updateDescription.updatedFields.trigger": "manual",
                },
            ]
        }
    },
    {"$project": {"lane": "$fullDocument.lane"}},
]


class Arrivals:
    """One open change stream on deliveries."""

    def __init__(self, stream: CollectionChangeStream[Doc]) -> None:
        self._stream = stream

    def next(self) -> str | None:
        """The lane that something arrived in, "" where the change does not tell, None for nothing.

        Waits up to about a second. Raises `Unavailable`.
        """
        try:
            change = self._stream.try_next()
        except PyMongoError as error:
            raise Unavailable(retry_after=RETRY_AFTER) from error
        return change.get("lane", "") if change is not None else None


@contextmanager
def arrivals(db: Database[Doc]) -> Iterator[Arrivals]:
    """Watch until the block ends. Raises `Unavailable` where the server has no change streams."""
    try:
        watched = db.get_collection("deliveries", read_concern=ReadConcern("majority"))
        stream = watched.watch(_WORK, max_await_time_ms=1000)
    except PyMongoError as error:
        raise Unavailable(retry_after=RETRY_AFTER) from error
    with stream:
        yield Arrivals(stream)
