"""Bringing an endpoint back: what failed since a time, and what it was never sent."""

from datetime import timedelta
from typing import Any, Final

from flask import Response, g, request

from relay_web.domain.bulk import FAILED, Kind
from relay_web.domain.endpoint import Endpoint
from relay_web.store.bulk_jobs import Wish
from relay_web.store.filtering import Filters
from relay_web.web import filters
from relay_web.web.bulk_form import Asked, confirm, look, settings_of
from relay_web.web.pages import allow
from relay_web.web.pages.bulk import bp
from relay_web.web.parts import parts
from relay_web.web.render import address, with_query, zone

#: Offered where no failure is known.
DEFAULT_SPAN: Final = timedelta(hours=1)
_TABS: Final = {"failed": "Failed since", "missed": "Never sent since"}


@bp.get("/endpoints/<endpoint_id>/recover")
def recover_preview(endpoint_id: str) -> Response:
    """Two tabs; "since" begins with the first failure after the last success."""
    allow("operate")
    return look(_asked(endpoint_id))


@bp.post("/endpoints/<endpoint_id>/recover")
def recover(endpoint_id: str) -> Response:
    """Start what was previewed. The same form once more is the same job."""
    allow("operate")
    return confirm(_asked(endpoint_id))


def _asked(endpoint_id: str) -> Asked:
    endpoint = parts().store.endpoints.get(g.team.id, endpoint_id)
    settings = settings_of()
    kind = Kind.MISSED if request.args.get("kind") == "missed" else Kind.FAILED
    typed = request.args.get("since", "").strip()[:40]
    since = filters.moment(typed, zone())
    wrong = "Use a date and a time." if typed and since is None else ""
    if since is None or since > settings.as_of:
        wrong = wrong or ("Use a time that has passed." if since else "")
        since = parts().store.bulk_targets.failing_since(g.team.id, endpoint)
        since = since or settings.as_of - DEFAULT_SPAN
    # The form has whole minutes; a failure in that minute is not to be left out.
    since = since.replace(second=0, microsecond=0)
    local = since.astimezone(zone()).strftime("%Y-%m-%dT%H:%M")
    narrowed = Filters(endpoint=endpoint.id, failed_since=since, words=FAILED)
    if kind is Kind.MISSED:
        narrowed = Filters(endpoint=endpoint.id, since=since)
    wish = Wish(
        team=g.team.id, kind=kind, filters=narrowed, as_of=settings.as_of, pace=settings.pace
    )  # fmt: skip
    path = address("bulk.recover_preview", endpoint_id=endpoint.id)
    return Asked(
        wish,
        path,
        [("kind", kind.value), ("since", local)],
        back=address("endpoints.show", endpoint_id=endpoint.id),
        settings=settings,
        shown=_shown(endpoint, kind, path, local, wrong),
    )


def _shown(endpoint: Endpoint, kind: Kind, path: str, since: str, wrong: str) -> dict[str, Any]:
    tabs = [
        (label, with_query(path, {"kind": name, "since": since}), name == kind.value)
        for name, label in _TABS.items()
    ]
    return {"endpoint": endpoint, "tabs": tabs, "since": since, "wrong": wrong}
