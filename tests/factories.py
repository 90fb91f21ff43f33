"""Legal records, made as Relay makes them: accepted, fanned out, claimed by the store itself."""

from typing import Any

from relay_web.clock import new_id, utcnow
from relay_web.domain.delivery import Claim, Delivery
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.event import Accepted, Publish
from relay_web.engine.intake import Intake
from relay_web.store import Store
from tests.guard import BY_HAND

TEAM = "team_0000000000000000000A"
OTHER_TEAM = "team_0000000000000000000B"


def make_endpoint(store: Store, team: str = TEAM, **changes: Any) -> Endpoint:
    """A stored endpoint; it has no secret unless one is given."""
    now = utcnow()
    fields: dict[str, Any] = {
        "id": new_id("ep"),
        "team": team,
        "url": "https://hooks.example.com/in",
        "name": "Billing",
        "created_at": now,
        "state_since": now,
    }
    return store.endpoints.add(Endpoint(**fields | changes))


def publish(store: Store, team: str = TEAM, **changes: Any) -> Accepted:
    """Accept one event and fan it out."""
    fields: dict[str, Any] = {"type": "invoice.paid", "data": b'{"n":1}'}
    return Intake(store).accept(team, Publish(**fields | changes))


def make_delivery(store: Store, endpoint: Endpoint | None = None, **changes: Any) -> Delivery:
    """A pending delivery, due now."""
    endpoint = endpoint or make_endpoint(store)
    accepted = publish(store, endpoint.team, only_endpoint=endpoint.id, **changes)
    (row,) = store.timeline.of_event(endpoint.team, accepted.event)
    return row.delivery


def claim(
    store: Store, delivery: Delivery, *, worker: str = "worker.1", lease: float = 30.0
) -> Claim:
    """Claim this delivery; it must be due."""
    (got,) = store.deliveries.claim([delivery.id], worker=worker, lease=lease)
    return got


def lapse(store: Store, delivery: Delivery | Claim) -> None:
    """Let the lease run out, as time would: its end moves into the past."""
    key = delivery.id if isinstance(delivery, Delivery) else delivery.delivery
    past = {"$dateSubtract": {"startDate": "$$NOW", "unit": "second", "amount": 1}}
    done = store.db.deliveries.update_one(
        {"_id": key, "state": "leased"}, [{"$set": {"due_at": past}}], comment=BY_HAND
    )
    assert done.matched_count == 1


def again(store: Store, delivery: Delivery) -> Delivery:
    """The same delivery as it is stored now."""
    return store.deliveries.get(delivery.team, delivery.id)
