"""Each list of a team as a CSV file, narrowed by the filters of its page."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from flask import Response, g, request

from relay_web.domain.endpoint import Endpoint
from relay_web.store.endpoint_health import Health
from relay_web.store.event_lists import EventFilters
from relay_web.store.paging import MAX_LIMIT, Page
from relay_web.store.timeline import DeliveryRow
from relay_web.web import filters
from relay_web.web.csv_file import Cell, csv_file, walk
from relay_web.web.pages import team_area
from relay_web.web.pages.endpoints import matching
from relay_web.web.pages.events import asked_of
from relay_web.web.parts import parts
from relay_web.web.render import now, zone

bp = team_area("export", "/export")

_DELIVERY: Final = (
    "id", "state", "type", "event_id", "webhook_id", "endpoint_id", "endpoint", "tries",
    "last_status", "last_cause", "lease_token", "created_at", "due_at", "finished_at",
)  # fmt: skip
_EVENT: Final = (
    "id", "type", "received_at", "idempotency_key", "source", "deliveries", "fan_out",
)  # fmt: skip
_ENDPOINT: Final = (
    "id", "name", "url", "state", "since", "reason", "event_types", "rate_per_second",
    "max_in_flight", "ordered", "waiting", "last_status", "last_cause", "registered_at",
)  # fmt: skip
_WORKER: Final = (
    "name", "state", "version", "started_at", "beat_at", "in_flight", "slots", "fenced",
)  # fmt: skip


@bp.get("/deliveries.csv")
def deliveries() -> Response:
    """Newest first, like the page."""
    asked = filters.read(request.args, now=now(), zone=zone()).filters
    read = partial(parts().store.timeline.deliveries, g.team.id, asked, limit=MAX_LIMIT)
    rows = walk(lambda after: read(after=after))
    return csv_file(f"deliveries-{g.team.slug}", _DELIVERY, map(_delivery, rows))


@bp.get("/events.csv")
def events() -> Response:
    """Newest first, each with what became of its deliveries."""
    asked, _ = asked_of(request.args)
    found = walk(partial(_events_with_fan_out, asked))
    return csv_file(f"events-{g.team.slug}", _EVENT, found)


@bp.get("/endpoints.csv")
def endpoints() -> Response:
    """By name, like the page."""
    return csv_file(f"endpoints-{g.team.slug}", _ENDPOINT, _endpoints())


@bp.get("/workers.csv")
def workers() -> Response:
    """Every worker that reported within the last week."""
    at = parts().store.now()
    rows = [
        (
            beat.name, beat.health(at), beat.version, beat.started_at, beat.beat_at,
            beat.in_flight, beat.slots, beat.fenced,
        )
        for beat in parts().store.workers.all()
    ]  # fmt: skip
    return csv_file("workers", _WORKER, rows)


def _delivery(row: DeliveryRow) -> Sequence[Cell]:
    it, last = row.delivery, row.delivery.last
    return (
        it.id, row.word.value, it.type, it.event, it.webhook_id, it.endpoint,
        row.endpoint.name if row.endpoint else "", it.tries,
        last.status if last else None, last.cause if last else None, it.lease_token,
        it.created_at, it.due_at, it.finished_at,
    )  # fmt: skip


def _events_with_fan_out(asked: EventFilters, after: str | None) -> Page[Sequence[Cell]]:
    store = parts().store
    found = store.event_lists.page(g.team.id, asked, after=after, limit=MAX_LIMIT)
    states = store.overview.states_of_events(g.team.id, [doc["_id"] for doc in found.items])
    rows: list[Sequence[Cell]] = [
        (
            doc.get("public_id", doc["_id"]), doc["type"], doc["created_at"],
            doc.get("idempotency_key"), doc.get("source"), len(doc["targets"]),
            ", ".join(f"{count} {word}" for word, count in sorted(states[doc["_id"]].items())),
        )
        for doc in found.items
    ]  # fmt: skip
    return Page(rows, found.next)


def _endpoints() -> Iterator[Sequence[Cell]]:
    for endpoint, health in matching(request.args):
        yield _endpoint(endpoint, health)


def _endpoint(it: Endpoint, health: Health) -> Sequence[Cell]:
    last = health.last_answer
    return (
        it.id, it.name, it.url, it.state.value, it.state_since, it.state_reason,
        ", ".join(it.event_types), it.rate_per_second, it.max_in_flight,
        "yes" if it.ordered else "no", health.waiting, last.status if last else None,
        last.cause if last else None, it.created_at,
    )  # fmt: skip
