"""Sending one event again, to everybody who did not get it."""

from dataclasses import dataclass

from relay_web.domain.bulk import UNDELIVERED, left_out
from relay_web.errors import Conflict, NotFound
from relay_web.store import Store


@dataclass(frozen=True, slots=True)
class Resent:
    """`matched` were looked at, `ids` are sent again."""

    matched: int
    ids: tuple[str, ...]


def replay(store: Store, team: str, event_id: str, *, action_id: str, by: str) -> Resent:
    """Every failed or cancelled delivery of one event; raises `NotFound`.

    The same `action_id` once more has no further effect.
    """
    event = store.events.get(team, event_id)
    rows = [
        row
        for row in store.timeline.of_event(team, event["_id"])
        if row.word in UNDELIVERED
        and not left_out(row.delivery, row.endpoint, kept="body" in event, delivered_too=False)
    ]
    done = []
    for row in rows:
        try:
            store.deliveries.retry(
                team, row.delivery.id, action_id=action_id, by=by, trigger="bulk", restart=True
            )
        except (Conflict, NotFound):  # it moved on meanwhile: no longer what was asked for
            continue
        done.append(row.delivery.id)
    for endpoint in {row.delivery.endpoint for row in rows}:
        store.endpoint_pace.warm(endpoint)
    return Resent(len(rows), tuple(done))
