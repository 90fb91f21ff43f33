"""Event types that a team describes, optionally with a JSON Schema that publishes must fit."""

from relay_web.domain.json_schema import DataRule
from relay_web.domain.roles import Deed
from relay_web.web.answers import EventTypeOut, PageOut
from relay_web.web.api.answering import event_type_out
from relay_web.web.api.operations import Call, operation
from relay_web.web.schemas import EventTypeIn, PageQuery


@operation("GET", "/event-types", deed=Deed.SEE, query=PageQuery, answer=PageOut[EventTypeOut])
def list_event_types(call: Call) -> PageOut[EventTypeOut]:
    """List the described event types by name."""
    query: PageQuery = call.query
    page = call.parts.store.event_types.list(call.team, after=query.after, limit=query.limit)
    items = [event_type_out(kind) for kind in page.items]
    return PageOut[EventTypeOut](items=items, next=page.next)


@operation(
    "POST", "/event-types", deed=Deed.EDIT, body=EventTypeIn, answer=EventTypeOut, status=201
)
def create_event_type(call: Call) -> EventTypeOut:
    """Describe an event type; with a schema, publishes of the type are checked against it."""
    wish: EventTypeIn = call.body
    if wish.schema_ is not None:
        DataRule(wish.schema_)
    kind = call.parts.store.event_types.add(call.team, wish.name, wish.description, wish.schema_)
    call.audit("event_type.created", wish.name)
    return event_type_out(kind)


@operation("DELETE", "/event-types/<name>", deed=Deed.EDIT, answer=None, status=204)
def delete_event_type(call: Call, name: str) -> None:
    """Forget a described type; publishes of it are no longer checked."""
    call.parts.store.event_types.remove(call.team, name)
    call.audit("event_type.deleted", name)
