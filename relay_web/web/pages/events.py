"""Events: what was accepted, where it went, and why it did not go elsewhere."""

from dataclasses import dataclass
from typing import Any, Final

from flask import Response, g, request

from relay_web.domain.endpoint import Endpoint
from relay_web.domain.event_type import check_type
from relay_web.errors import BadRequest, Gone, Invalid
from relay_web.store.timeline import DeliveryRow
from relay_web.web.pages import team_area
from relay_web.web.parts import parts
from relay_web.web.render import address, page, page_or_part, see_other, with_query

bp = team_area("events", "/events")

PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class FanOut:
    """One endpoint and its delivery of the event, or the reason why there is none."""

    endpoint: Endpoint
    row: DeliveryRow | None
    why_not: str


@bp.get("")
def index() -> Response:
    """Newest first, each with its fan-out in words."""
    wanted = request.args.get("type", "").strip()
    ignored = ""
    try:
        wanted = check_type(wanted) if wanted else ""
    except Invalid as wrong:
        wanted, ignored = "", wrong.message
    try:
        after = request.args.get("after")
        found = parts().store.events.list(g.team.id, type=wanted or None, after=after, limit=PAGE)
    except BadRequest:
        return see_other(address("events.index"))
    states = parts().store.overview.states_of_events(g.team.id, [doc["_id"] for doc in found.items])
    older = with_query(address("events.index"), {"type": wanted, "after": found.next or ""})
    return page(
        "events",
        events=found.items,
        states=states,
        wanted=wanted,
        ignored=ignored,
        next=older if found.next else "",
        first_page=after is None,
    )


@bp.get("/<event>")
def show(event: str) -> Response:
    """One event with its payload, and every endpoint of the team with what became of it."""
    doc = parts().store.events.get(g.team.id, event)
    raw = request.args.get("payload") == "raw"
    return page_or_part(
        "event",
        {"payload": ("payload",)},
        event=doc,
        public_id=doc.get("public_id", doc["_id"]),
        payload=bytes(doc["body"]),
        payload_event=doc["_id"],
        payload_raw=raw,
        fan_out=_fan_out(doc),
    )


@bp.get("/<event>/payload")
def payload(event: str) -> Response:
    """The exact bytes, as a download that no browser will interpret."""
    doc = parts().store.events.get(g.team.id, event)
    if not doc.get("body"):
        raise Gone("The payload was removed by the retention rule.")
    answer = Response(bytes(doc["body"]), mimetype="application/octet-stream")
    answer.headers["Content-Disposition"] = f'attachment; filename="{doc["_id"]}.json"'
    return answer


def _fan_out(doc: dict[str, Any]) -> list[FanOut]:
    rows = {
        row.delivery.endpoint: row for row in parts().store.timeline.of_event(g.team.id, doc["_id"])
    }
    every = parts().store.endpoints.for_team_active(g.team.id)
    gone = [row.endpoint for row in rows.values() if row.endpoint and row.endpoint.deleted_at]
    found = [FanOut(one, rows.get(one.id), _why_not(one, doc)) for one in (*every, *gone)]
    return sorted(found, key=lambda line: (line.row is None, line.endpoint.name.casefold()))


def _why_not(endpoint: Endpoint, doc: dict[str, Any]) -> str:
    """The reason that this event has no delivery there. Targets were fixed when it was accepted."""
    if doc.get("trigger") == "test" and endpoint.id not in doc["targets"]:
        return "A test event goes to one endpoint only."
    if endpoint.created_at > doc["created_at"]:
        return "Registered after this event."
    if endpoint.wants(doc["type"]):
        return "Its subscription was widened after this event."
    return f"Not subscribed to {doc['type']}."
