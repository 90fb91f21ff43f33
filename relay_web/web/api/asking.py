"""From what a request names to the store's filters."""

from relay_web.domain.delivery import Word
from relay_web.store.filtering import Filters
from relay_web.web.api.operations import Call
from relay_web.web.bulk_schemas import BulkIn
from relay_web.web.schemas import DeliveriesQuery
from relay_web.web.times_range import time_range


def filters_of(call: Call, asked: DeliveriesQuery | BulkIn, words: frozenset[Word]) -> Filters:
    """The filters that the query of a list and the body of a bulk retry have in common.

    Raises `NotFound` for an event that is not the team's.
    """
    since, until = time_range(asked.since, asked.until)
    event = None
    if asked.event is not None:
        event = call.parts.store.events.get(call.team, asked.event)["_id"]
    return Filters(
        words=words,
        endpoint=asked.endpoint,
        type=asked.type,
        cause=asked.cause,
        event=event,
        since=since,
        until=until,
        job=asked.job if isinstance(asked, DeliveriesQuery) else None,
    )
