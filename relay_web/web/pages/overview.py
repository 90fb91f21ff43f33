"""Is anything wrong, and what do I press? The first page of a team."""

from datetime import timedelta
from typing import Final

from flask import Response, g, request

from relay_web.web import chart, deeds
from relay_web.web.pages import team_area
from relay_web.web.parts import parts
from relay_web.web.render import now, page_or_part
from relay_web.web.telling import explained

bp = team_area("overview", "")

PACE: Final = 15


@bp.get("/")
def index() -> Response:
    """One sentence, the figures, and what is wrong, grouped by endpoint and cause."""
    store, since = parts().store, now() - timedelta(hours=24)
    endpoints = {one.id: one for one in store.endpoints.for_team_active(g.team.id)}
    problems = [
        (problem, endpoints[problem.endpoint], explained(problem, endpoints[problem.endpoint]))
        for problem in store.overview.problems(g.team.id, since=since)
        if problem.endpoint in endpoints
    ]
    figures = store.overview.figures(g.team.id, since=since)
    beats = [beat for beat in store.workers.all() if beat.health(now()) != "stopped"]
    ended = figures.delivered + figures.failed
    span = chart.span_named(request.args.get("range"))
    hours = store.rollups.endpoints(g.team.id, since=chart.first_hour(now(), span))
    return page_or_part(
        "overview",
        {
            "live": ("overview_live", "overview_now", "overview_stats", "overview_more"),
            "stats": ("overview_stats", "overview_live"),
        },
        endpoints=endpoints,
        held=[one for one in endpoints.values() if one.state.holds],
        troubled=len({problem.endpoint for problem, *_ in problems}),
        problems=problems,
        figures=figures,
        rate=figures.delivered / ended if ended else None,
        beats=beats,
        chart=chart.draw(hours, now(), span),
        spans=chart.SPANS,
        history=deeds.recent({one.id: one.name for one in endpoints.values()}),
        pace=PACE,
    )
