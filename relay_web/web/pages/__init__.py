"""The pages of a team, one module an area. Every address begins with the team it is about."""

from typing import Any

from flask import Blueprint, g, redirect, request, url_for
from werkzeug.wrappers import Response

from relay_web.store.audit import Entry
from relay_web.web import auth
from relay_web.web.auth import team_access
from relay_web.web.parts import parts
from relay_web.web.request_ids import request_id


def team_area(name: str, path: str) -> Blueprint:
    """A blueprint below `/t/<team>/<path>` whose views run only for members of that team.

    Views do not take the team: it is `g.team`. An address with a slug that the team had before
    leads to the same page under its present one.
    """
    area = Blueprint(name, __name__, url_prefix=f"/t/<team>{path}")

    @area.url_value_preprocessor
    def _take_team(_: str | None, values: dict[str, Any] | None) -> None:
        g.slug = (values or {}).pop("team", "")

    @area.before_request
    def _let_in() -> Response | None:
        access = team_access(g.slug)
        if access.team.slug == g.slug or request.method != "GET":
            return None
        now = url_for(request.endpoint or "", team=access.team.slug, **(request.view_args or {}))
        return redirect(f"{now}?{request.query_string.decode()}".rstrip("?"), 301)

    @area.context_processor
    def _for_every_page() -> dict[str, Any]:
        return {
            "workers_missing": parts().store.workers.live() == 0,
            # A function: fragments do not show it, so they need not ask.
            "bulk_running": lambda: parts().store.bulk_jobs.running(g.team.id),
        }

    return area


def allow(deed: str) -> None:
    """Raise `Forbidden`, with who may, unless the person may do `deed` in this team."""
    team_access(g.slug, deed)


def actor() -> str:
    """The name under which a person's act is kept."""
    email: str = g.access.person.email
    return email


def audited(action: str, target: str | None = None, **details: str) -> None:
    """Keep who did this. No secret value may be among `details`."""
    person = g.access.person
    parts().store.audit.record(
        Entry(
            team=g.team.id,
            action=action,
            actor=person.id,
            who=person.email,
            target=target,
            address=auth.address(),
            request_id=request_id(),
            details=details,
        )
    )
