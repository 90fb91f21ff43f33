"""The list of deliveries: filters in the URL, keyset pages, cells that stay current."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from flask import Response, g, request

from relay_web.domain.causes import Cause
from relay_web.domain.delivery import Word
from relay_web.errors import BadRequest
from relay_web.store.filtering import Filters
from relay_web.store.timeline import DeliveryRow
from relay_web.web import filters
from relay_web.web.pages import team_area
from relay_web.web.pages.finding import address_of
from relay_web.web.parts import parts
from relay_web.web.render import (
    address,
    fragment,
    now,
    page_or_part,
    see_other,
    with_query,
    zone,
)  # fmt: skip

bp = team_area("deliveries", "/deliveries")

PAGE: Final = 50
#: Counting stops here (ui §2.0): "10,000+".
COUNTED: Final = 10_000
#: New rows are counted no further than this.
NEW_COUNTED: Final = 99
#: Seconds between two polls of a list.
PACE: Final = 5


@bp.get("")
def index() -> Response:
    """Newest first. `q` is the search of the page header: it leads to what it names."""
    if text := request.args.get("q", "").strip():
        return see_other(address_of(text))
    asked = filters.read(request.args, now=now(), zone=zone())
    after, before = request.args.get("after"), request.args.get("before")
    try:
        rows = parts().store.timeline.deliveries(
            g.team.id, asked.filters, after=after, before=before, limit=PAGE
        )
    except BadRequest:
        return see_other(with_query(address("deliveries.index"), list(asked.query)))
    endpoints = parts().store.endpoints.list(g.team.id, limit=100).items
    here = with_query(address("deliveries.index"), list(asked.query))
    newest = after is None and rows.previous is None
    answer = page_or_part(
        "deliveries",
        {"results": ("deliveries_results", "deliveries_live", "deliveries_views")},
        asked=asked,
        chips=asked.chips({endpoint.id: endpoint.name for endpoint in endpoints}),
        rows=rows.items,
        older=_beside(asked, "after", rows.next),
        newer=_beside(asked, "before", rows.previous),
        total=parts().store.timeline.count(g.team.id, asked.filters, cap=COUNTED + 1),
        counted=COUNTED,
        endpoints=endpoints,
        words=list(Word),
        causes=list(Cause),
        periods={key: words for key, (words, _) in filters.PERIODS.items()},
        codes=filters.CODES,
        marks=filters.MARKS,
        views=filters.VIEWS,
        here=here,
        **live_context(rows.items, asked, newest_page=newest),
    )
    # Choosing a filter is a step back to undo; a search that is still being typed is not.
    kept = "HX-Replace-Url" if request.headers.get("HX-Trigger") == "find-type" else "HX-Push-Url"
    answer.headers[kept] = request.full_path if after or before else here
    return answer


def _beside(asked: filters.Asked, side: str, cursor: str | None) -> str:
    """The address of the page next to this one; empty where there is none."""
    if cursor is None:
        return ""
    return with_query(address("deliveries.index"), [*asked.query, (side, cursor)])


@bp.get("/live")
def live() -> Response:
    """The cells of the rows on the page, where any of them moved on; how many new ones wait."""
    timeline = parts().store.timeline
    asked = filters.read(request.args, now=now(), zone=zone())
    ids = [key for key in request.args.get("ids", "").split(",") if key.startswith("dlv_")][:PAGE]
    rows = sorted(timeline.rows(g.team.id, ids), key=lambda row: row.delivery.id, reverse=True)
    newest = request.args.get("newest")
    fresh = _fresh(newest, asked.filters) if newest is not None else 0
    if _mark(rows, fresh) == request.args.get("mark"):
        return Response(status=204)
    context = live_context(rows, asked, newest_page=newest is not None, newest=newest, fresh=fresh)
    return fragment("deliveries_live", "deliveries_cells", rows=rows, asked=asked, **context)


def live_context(
    rows: Sequence[DeliveryRow],
    asked: filters.Asked,
    *,
    newest_page: bool,
    newest: str | None = None,
    fresh: int = 0,
) -> dict[str, Any]:
    """What the poller of a list carries: its rows, their state, and the newest one seen."""
    top = newest if newest is not None else rows[0].delivery.id if rows else "dlv_"
    query = [
        *asked.query,
        ("ids", ",".join(row.delivery.id for row in rows)),
        ("mark", _mark(rows, fresh)),
        ("newest", top if newest_page else ""),
    ]
    return {
        "live_url": with_query(address("deliveries.live"), query),
        "pace": PACE,
        "fresh": fresh,
        "fresh_label": f"{fresh}{'+' if fresh >= NEW_COUNTED else ''} new",
        "first_page_url": with_query(address("deliveries.index"), list(asked.query)),
    }


def _fresh(newest: str, wanted: Filters) -> int:
    """Matching deliveries newer than the page's first row."""
    timeline = parts().store.timeline
    return timeline.count(g.team.id, wanted, newer_than=newest[:60], cap=NEW_COUNTED)


def _mark(rows: Sequence[DeliveryRow], fresh: int) -> str:
    """Changes when a cell of these rows would; `held` comes and goes without a new revision."""
    told = ",".join(f"{row.delivery.id}:{row.delivery.rev}:{row.word}" for row in rows)
    return hashlib.sha256(f"{told}/{fresh}".encode()).hexdigest()[:12]
