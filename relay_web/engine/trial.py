"""A test event: to one endpoint, whatever it subscribes to, by the same way as any other."""

import json
from typing import Final

from relay_web.domain.event import Accepted, Publish
from relay_web.engine.intake import Intake
from relay_web.errors import Conflict
from relay_web.store import Store

TEST_TYPE: Final = "relay.test"


def send_test(
    store: Store,
    intake: Intake,
    team: str,
    endpoint_id: str,
    *,
    event_type: str = TEST_TYPE,
    action_id: str | None = None,
) -> Accepted:
    """Publish a test event; the same `action_id` again sends nothing more.

    Raises `NotFound`, or `Conflict` for an endpoint that holds (reliability B63).
    """
    endpoint = store.endpoints.get(team, endpoint_id)
    if endpoint.state.holds:
        raise Conflict(
            f"{endpoint.name} is {endpoint.state.value}; resume it first.", code="endpoint_held"
        )
    data = {"message": "This is a test event from Relay.", "endpoint": endpoint.name}
    return intake.accept(
        team,
        Publish(
            type=event_type,
            data=json.dumps(data).encode(),
            idempotency_key=action_id and f"test:{endpoint_id}:{action_id}",
            trigger="test",
            only_endpoint=endpoint_id,
        ),
    )
