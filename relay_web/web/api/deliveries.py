"""Deliveries: finding them, reading their timeline, sending again, ending."""

import secrets

from relay_web.domain.roles import Deed
from relay_web.engine.actions import Actions
from relay_web.store.deliveries import Acted
from relay_web.web.answers import ActedOut, DeliveryDetailOut, DeliveryOut, PageOut
from relay_web.web.api.answering import delivery_detail_out, delivery_out
from relay_web.web.api.asking import filters_of
from relay_web.web.api.operations import Call, operation
from relay_web.web.schemas import CancelIn, DeliveriesQuery, RetryIn


@operation("GET", "/deliveries", deed=Deed.SEE, query=DeliveriesQuery, answer=PageOut[DeliveryOut])
def list_deliveries(call: Call) -> PageOut[DeliveryOut]:
    """List deliveries, newest first; `state` is the word that the pages show."""
    query: DeliveriesQuery = call.query
    words = frozenset({query.state}) if query.state else frozenset()
    page = call.parts.store.timeline.deliveries(
        call.team, filters_of(call, query, words), after=query.after, limit=query.limit
    )
    return PageOut[DeliveryOut](items=[delivery_out(row) for row in page.items], next=page.next)


@operation("GET", "/deliveries/<delivery_id>", deed=Deed.SEE, answer=DeliveryDetailOut)
def get_delivery(call: Call, delivery_id: str) -> DeliveryDetailOut:
    """Show one delivery with its attempts and its timeline."""
    return delivery_detail_out(call.parts.store.timeline.delivery(call.team, delivery_id))


@operation(
    "POST", "/deliveries/<delivery_id>/retry", deed=Deed.OPERATE, body=RetryIn,
    body_required=False, answer=ActedOut, status=202, idempotent=True,
)  # fmt: skip
def retry_delivery(call: Call, delivery_id: str) -> ActedOut:
    """Send one delivery again."""
    acted = _actions(call).retry(
        call.team, delivery_id,
        action_id=call.key or secrets.token_hex(12), by=call.caller.name,
        restart=call.body.restart,
    )  # fmt: skip
    call.audit("delivery.retried", delivery_id)
    return _acted(call, acted, _RETRIED)


@operation(
    "POST", "/deliveries/<delivery_id>/cancel", deed=Deed.OPERATE, body=CancelIn,
    body_required=False, answer=ActedOut, idempotent=True,
)  # fmt: skip
def cancel_delivery(call: Call, delivery_id: str) -> ActedOut:
    """End one delivery that has not ended yet."""
    acted = _actions(call).cancel(
        call.team, delivery_id, action_id=call.key or secrets.token_hex(12), by=call.caller.name
    )
    call.audit("delivery.cancelled", delivery_id)
    return _acted(call, acted, _CANCELLED)


def _actions(call: Call) -> Actions:
    return Actions(call.parts.store, call.parts.settings.retention_days)


_RETRIED = {
    "done": "It is sent again now.",
    "asked": "Being attempted now; it is sent again at once if that fails.",
}
_CANCELLED = {
    "done": "Cancelled.",
    "asked": "Cancelled; a request already under way may still arrive.",
}


def _acted(call: Call, acted: Acted, said: dict[str, str]) -> ActedOut:
    detail = call.parts.store.timeline.delivery(call.team, acted.delivery.id)
    outcome = {"done": "done", "asked": "in_flight"}.get(acted.kind, acted.kind)
    message = said.get(acted.kind, "This was done already, by the same request.")
    return ActedOut(outcome=outcome, message=message, delivery=delivery_out(detail))
