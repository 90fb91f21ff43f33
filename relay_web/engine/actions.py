"""What a person or a key may do to one delivery: the rules in front of the store's writes."""

from dataclasses import dataclass

from relay_web.domain.delivery import MAX_ATTEMPTS, Delivery, State
from relay_web.domain.endpoint import Endpoint
from relay_web.errors import Conflict, Gone, NotFound
from relay_web.store import Store
from relay_web.store.deliveries import Acted


@dataclass(frozen=True, slots=True)
class Actions:
    """Retry, cancel and take over, for pages and API alike."""

    store: Store
    retention_days: int = 30

    def retry(
        self, team: str, delivery: str, *, action_id: str, by: str,
        trigger: str = "manual", restart: bool = False,
    ) -> Acted:  # fmt: skip
        """Send again. Raises `Conflict` where that cannot be, `Gone` without a payload.

        A cool-down of its endpoint ends with it: a person wants to see an answer now.
        """
        before = self.store.deliveries.get(team, delivery)
        if not any(action.id == action_id for action in before.actions):
            self._check_retry(before)
        acted = self.store.deliveries.retry(
            team, delivery, action_id=action_id, by=by, trigger=trigger, restart=restart
        )
        if acted.kind == "done":
            self.store.endpoint_pace.warm(before.endpoint)
        return acted

    def cancel(self, team: str, delivery: str, *, action_id: str, by: str) -> Acted:
        """End it undelivered. Raises `Conflict` when it has ended already."""
        return self.store.deliveries.cancel(team, delivery, action_id=action_id, by=by)

    def take_over(self, team: str, delivery: str, *, action_id: str, by: str) -> Acted:
        """Fence its holder and make it due at once. Raises `Conflict` when nobody holds it."""
        return self.store.deliveries.take_over(team, delivery, action_id=action_id, by=by)

    def _check_retry(self, delivery: Delivery) -> None:
        endpoint = self._endpoint(delivery)
        if endpoint is None:
            raise Conflict("Its endpoint was deleted; there is nowhere to send it.")
        if endpoint.state.holds:
            raise Conflict(
                f"Resume the endpoint first: {endpoint.name} is {endpoint.state.value}.",
                code="endpoint_held",
            )
        if delivery.lease_token >= MAX_ATTEMPTS and delivery.tries >= MAX_ATTEMPTS:
            raise Conflict(
                f"It has had {MAX_ATTEMPTS} attempts, the most there are; publish again."
            )
        waits_in_line = delivery.state is State.PENDING and not delivery.tries
        if endpoint.ordered and waits_in_line:
            raise Conflict("This endpoint is ordered: it is sent when those before it have ended.")
        if not self.store.events.has_body(delivery.event):
            raise Gone(f"Payload kept {self.retention_days} days; publish again.")

    def _endpoint(self, delivery: Delivery) -> Endpoint | None:
        try:
            return self.store.endpoints.get(delivery.team, delivery.endpoint)
        except NotFound:
            return None
