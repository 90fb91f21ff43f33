"""Sending one event again, to everybody who did not get it, or to one who was not asked to."""

from dataclasses import dataclass

from relay_web.domain.bulk import UNDELIVERED, left_out
from relay_web.domain.delivery import delivery_id
from relay_web.engine.intake import Intake
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


def send_to(store: Store, intake: Intake, team: str, event_id: str, endpoint_id: str) -> str:
    """Send one event to an endpoint that it did not go to; the id of the new delivery.

    Asked twice, there is one delivery: its id follows from the two. Raises `NotFound`, and
    `Conflict` where the endpoint holds or retention has reached the event.
    """
    event = store.events.get(team, event_id)
    endpoint = store.endpoints.get(team, endpoint_id)
    if endpoint.state.holds:
        raise Conflict(f"{endpoint.name} is {endpoint.state.value}; resume it first.")
    # Before the delivery exists: retention must not take an event that is about to be used.
    if not store.events.keep([event["_id"]]):
        raise Conflict("The payload was removed by the retention rule; there is nothing to send.")
    intake.finish([event | {"targets": [endpoint.id], "trigger": "recover"}])
    return delivery_id(event["_id"], endpoint.id)
