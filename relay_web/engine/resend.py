"""Sending many again: one event's, whatever a filter matches, an endpoint's since a time.

Every action carries an id of its own, so a click or a request that is repeated is one action.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from relay_web.domain.delivery import MAX_ATTEMPTS, TERMINAL, Word
from relay_web.domain.endpoint import Endpoint
from relay_web.engine.intake import Intake
from relay_web.errors import Conflict, NotFound
from relay_web.store import Store
from relay_web.store.timeline import DeliveryRow, Filters

#: Deliveries that one request sends again; more are continued with its cursor.
AT_ONCE: Final = 500
_PAGE: Final = 100
#: What "send again" means where no state is named: what ended without being delivered.
UNDELIVERED: Final = frozenset({Word.FAILED, Word.CANCELLED})


@dataclass(frozen=True, slots=True)
class Resent:
    """`matched` were looked at, `ids` are sent again; `next` continues a long list."""

    matched: int
    ids: tuple[str, ...]
    next: str | None = None


def replay(store: Store, team: str, event_id: str, *, action_id: str, by: str) -> Resent:
    """Every failed or cancelled delivery of one event; raises `NotFound` or `Gone`."""
    event = store.events.get(team, event_id)
    rows = store.timeline.of_event(team, event["_id"])
    return _again(store, team, rows, UNDELIVERED, action_id=action_id, by=by, trigger="bulk")


def matching(
    store: Store,
    team: str,
    filters: Filters,
    *,
    action_id: str,
    by: str,
    after: str | None = None,
    dry_run: bool = False,
    trigger: str = "bulk",
) -> Resent:
    """Up to `AT_ONCE` deliveries that match, newest first; with `dry_run`, only counted.

    Without a state, those that ended undelivered. Ones whose endpoint is deleted or holds are
    passed over.
    """
    wanted = filters.words or UNDELIVERED
    narrowed = replace(filters, words=wanted)
    matched = 0
    ids: list[str] = []
    while matched < AT_ONCE:
        page = store.timeline.deliveries(team, narrowed, after=after, limit=_PAGE)
        matched += len(page.items)
        if not dry_run:
            done = _again(
                store, team, page.items, wanted, action_id=action_id, by=by, trigger=trigger
            )
            ids += done.ids
        after = page.next
        if after is None:
            break
    return Resent(matched, tuple(ids), after)


def missed(
    store: Store,
    intake: Intake,
    team: str,
    endpoint_id: str,
    *,
    since: datetime,
    until: datetime,
    dry_run: bool = False,
) -> Resent:
    """Events of that time which the endpoint wants and never got: each gets its delivery now.

    Raises `NotFound`, or `Conflict` for an endpoint that holds.
    """
    endpoint = store.endpoints.get(team, endpoint_id)
    if endpoint.state.holds:
        raise Conflict(
            f"Resume the endpoint first: {endpoint.name} is {endpoint.state.value}.",
            code="endpoint_held",
        )
    after: str | None = None
    found: list[dict[str, Any]] = []
    while len(found) < AT_ONCE:
        page = store.events.list(team, since=since, until=until, after=after, limit=_PAGE)
        found += [event for event in page.items if _never_sent(event, endpoint)]
        after = page.next
        if after is None:
            break
    if dry_run:
        return Resent(len(found), ())
    # Before their deliveries exist: retention must not take an event that is about to be used.
    kept = store.events.keep(event["_id"] for event in found)
    again = [event for event in found if event["_id"] in kept]
    intake.finish(event | {"targets": [endpoint_id], "trigger": "recover"} for event in again)
    return Resent(len(found), tuple(event["_id"] for event in again))


def _never_sent(event: dict[str, Any], endpoint: Endpoint) -> bool:
    return endpoint.id not in event["targets"] and endpoint.wants(event["type"])


def _again(
    store: Store,
    team: str,
    rows: Iterable[DeliveryRow],
    words: frozenset[Word],
    *,
    action_id: str,
    by: str,
    trigger: str,
) -> Resent:
    rows = [row for row in rows if row.word in words and _can_take(row)]
    kept = store.events.kept({row.delivery.event for row in rows})
    done = []
    for row in rows:
        delivery = row.delivery
        if delivery.state in TERMINAL and delivery.event not in kept:
            continue
        try:
            store.deliveries.retry(
                team, delivery.id, action_id=action_id, by=by, trigger=trigger, restart=True
            )
        except (Conflict, NotFound):  # it moved on meanwhile: no longer what was asked for
            continue
        done.append(delivery.id)
    for endpoint in {row.delivery.endpoint for row in rows}:
        store.endpoint_pace.warm(endpoint)
    return Resent(len(rows), tuple(done))


def _can_take(row: DeliveryRow) -> bool:
    endpoint = row.endpoint
    gone = endpoint is None or endpoint.deleted_at is not None or endpoint.state.holds
    return not gone and row.delivery.tries < MAX_ATTEMPTS
