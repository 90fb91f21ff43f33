"""The search of the page header: an id leads to its page, a type to its deliveries."""

from flask import flash, g

from relay_web.domain.event_type import check_type
from relay_web.errors import Invalid, NotFound
from relay_web.web.parts import parts
from relay_web.web.render import address, with_query

_LONGEST = 300


def address_of(text: str) -> str:
    """Where a search leads. What names nothing ends at the list, with a sentence that says so."""
    wanted = text[:_LONGEST]
    try:
        if wanted.startswith("dlv_"):
            parts().store.timeline.rev(g.team.id, wanted)
            return address("deliveries.show", delivery=wanted)
        if wanted.startswith("ep_"):
            parts().store.endpoints.get(g.team.id, wanted)
            return address("endpoints.show", endpoint_id=wanted)
        event = parts().store.events.get(g.team.id, wanted)
        return address("events.show", event=event["_id"])
    except NotFound:
        pass
    try:
        return with_query(address("deliveries.index"), {"type": check_type(wanted)})
    except Invalid:
        flash(f"Nothing here is called “{wanted}”. Search for an id or an event type.", "wait")
        return address("deliveries.index")
