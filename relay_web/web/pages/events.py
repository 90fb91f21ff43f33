"""Events: what was accepted, where it went, and why it did not go elsewhere."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flask import Response, g, request
from htmx_flask import request as htmx_request

from relay_web.domain.bulk import UNDELIVERED
from relay_web.domain.delivery import TERMINAL
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.event_type import check_type
from relay_web.errors import BadRequest, Gone, Invalid
from relay_web.store.event_lists import EventFilters, Outcome
from relay_web.store.timeline import DeliveryRow
from relay_web.web.filters import PERIODS
from relay_web.web.pages import team_area
from relay_web.web.parts import parts
from relay_web.web.render import address, now, page, page_or_part, see_other, wants_part, with_query

bp = team_area("events", "/events")

PAGE: Final = 50
#: Seconds between two polls of one event.
PACE: Final = 2
#: Endpoints that got nothing are listed at once up to here, and when asked for beyond.
SHOWN_MISSED: Final = 20
OUTCOMES: Final[Mapping[str, str]] = {
    "delivered": "all delivered",
    "undelivered": "some undelivered",
    "unmatched": "none matched",
}


@dataclass(frozen=True, slots=True)
class FanOut:
    """One endpoint and its delivery of the event, or the reason why there is none."""

    endpoint: Endpoint
    row: DeliveryRow | None
    why_not: str


@bp.get("")
def index() -> Response:
    """Newest first, each with its fan-out in words."""
    asked, ignored = asked_of(request.args)
    query = [
        (key, text)
        for key in ("type", "outcome", "period")
        if (text := request.args.get(key, "").strip()) and key not in ignored
    ]
    after = request.args.get("after")
    try:
        found = parts().store.event_lists.page(g.team.id, asked, after=after, limit=PAGE)
    except BadRequest:
        return see_other(with_query(address("events.index"), query))
    states = parts().store.overview.states_of_events(g.team.id, [doc["_id"] for doc in found.items])
    return page(
        "events",
        events=found.items,
        states=states,
        asked=asked,
        query=query,
        ignored=ignored,
        outcomes=OUTCOMES,
        periods={key: words for key, (words, _) in PERIODS.items()},
        next=with_query(address("events.index"), [*query, ("after", found.next or "")])
        if found.next
        else "",
        first_page=after is None,
    )


def asked_of(args: Mapping[str, str]) -> tuple[EventFilters, dict[str, str]]:
    """The filters in a URL, and by name what was left out of them and why."""
    found: dict[str, Any] = {}
    ignored: dict[str, str] = {}
    checks: Mapping[str, Callable[[str], Any]] = {
        "type": check_type,
        "outcome": Outcome,
        "period": lambda key: now() - PERIODS[key][1],
    }
    for name, check in checks.items():
        if text := args.get(name, "").strip():
            try:
                found["since" if name == "period" else name] = check(text)
            except (Invalid, KeyError, ValueError):
                ignored[name] = text[:40]
    return EventFilters(**found), ignored


@bp.get("/<event>")
def show(event: str) -> Response:
    """One event with its payload, and every endpoint of the team with what became of it."""
    doc = parts().store.events.get(g.team.id, event)
    lines = _fan_out(doc)
    went = [line for line in lines if line.row]
    polled = wants_part() and htmx_request.htmx.target == "live"
    mark = _mark(went)
    if polled and mark == request.args.get("mark"):
        return Response(status=204)
    over = all(line.row.delivery.state in TERMINAL for line in went if line.row)
    answer = page_or_part(
        "event",
        {"payload": ("payload",), "live": ("event_live", "event_fan_out"), "missed": ("missed",)},
        event=doc,
        public_id=doc.get("public_id", doc["_id"]),
        payload=bytes(doc.get("body", b"")),
        payload_event=doc["_id"],
        payload_raw=request.args.get("payload") == "raw",
        went=went,
        missed=[line for line in lines if not line.row],
        folded=len(lines) - len(went) > SHOWN_MISSED and "missed" not in request.args,
        failed=sum(line.row.word in UNDELIVERED for line in went if line.row),
        mark=mark,
        over=over,
        pace=PACE,
    )
    if polled and over:
        answer.status_code = 286
    return answer


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


def _mark(lines: Sequence[FanOut]) -> str:
    """Changes when a row of the fan-out would."""
    told = ",".join(f"{line.row.delivery.rev}:{line.row.word}" for line in lines if line.row)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def _why_not(endpoint: Endpoint, doc: dict[str, Any]) -> str:
    """The reason that this event has no delivery there. Targets were fixed when it was accepted."""
    if doc.get("trigger") == "test" and endpoint.id not in doc["targets"]:
        return "A test event goes to one endpoint only."
    if endpoint.id in doc["targets"]:
        return "Its delivery was removed by the retention rule, or is being made."
    if endpoint.created_at > doc["created_at"]:
        return "Registered after this event."
    if endpoint.wants(doc["type"]):
        return "Its subscription was widened after this event."
    return f"Not subscribed to {doc['type']}."
