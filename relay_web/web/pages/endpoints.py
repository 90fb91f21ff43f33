"""Endpoints: the list, one endpoint, and what a person does with it."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Response, flash, g, request, session

from relay_web.domain.delivery import TERMINAL, State, delivery_id
from relay_web.domain.endpoint import Endpoint, EndpointState
from relay_web.domain.event_type import check_type
from relay_web.domain.explanations import Explanation
from relay_web.domain.target import readable_host
from relay_web.domain.unsealing import unseal
from relay_web.engine.trial import TEST_TYPE, send_test
from relay_web.errors import Conflict, Invalid
from relay_web.store.endpoint_health import Health
from relay_web.store.filtering import Filters
from relay_web.store.overview import Problem
from relay_web.web import chart, deeds, sparks
from relay_web.web.holding import pace_told
from relay_web.web.pages import actor, allow, audited, team_area
from relay_web.web.parts import parts
from relay_web.web.render import address, fragment, now, page, page_or_part, see_other, wants_part
from relay_web.web.telling import explained

bp = team_area("endpoints", "/endpoints")

#: Under this key the session names the one endpoint whose secret is still to be shown once.
SHOW_ONCE: Final = "show_secret_of"
RECENT_SHOWN: Final = 10
#: The list narrowed: name in the URL, and which endpoints that leaves.
SHOWN: Final[Mapping[str, Callable[[Endpoint, Health], bool]]] = {
    "failing": lambda one, health: not one.state.holds and health.failing_since is not None,
    "paused": lambda one, _: one.state is EndpointState.PAUSED,
    "suspended": lambda one, _: one.state in (EndpointState.SUSPENDED, EndpointState.DISABLED),
}
PACE: Final = 5


@bp.get("")
def index() -> Response:
    """Every endpoint of the team, by name, with how it has been doing."""
    shown = matching(request.args)
    hours = parts().store.rollups.endpoints(g.team.id, since=chart.first_hour(now()))
    return page_or_part(
        "endpoints",
        {"results": ("endpoints_results",), "live": ("endpoints_live", "endpoints_results")},
        shown=shown,
        sparks=sparks.sparks(hours, now()),
        wanted=request.args.get("q", "").strip()[:200],
        show=request.args.get("show", "") if request.args.get("show") in SHOWN else "",
        choices=SHOWN,
        any=bool(shown) or bool(parts().store.endpoints.for_team_active(g.team.id)),
        query=[(key, request.args.get(key, "")) for key in ("q", "show")],
        pace=PACE,
    )


def matching(args: Mapping[str, str]) -> list[tuple[Endpoint, Health]]:
    """Endpoints by name with their health: those that `q` names and that are as `show` says."""
    wanted = args.get("q", "").strip()[:200].casefold()
    every = parts().store.endpoints.for_team_active(g.team.id)
    named = [
        endpoint
        for endpoint in sorted(every, key=lambda endpoint: endpoint.name.casefold())
        if wanted in endpoint.name.casefold() or wanted in endpoint.url.casefold()
    ]
    health = parts().store.health.of(g.team.id, [endpoint.id for endpoint in named])
    found = [(one, health[one.id]) for one in named]
    keep = SHOWN.get(args.get("show", ""))
    return found if keep is None else [pair for pair in found if keep(*pair)]


@bp.get("/<endpoint_id>")
def show(endpoint_id: str) -> Response:
    """One endpoint. Right after it was made, its secret is on the page, once."""
    found = parts().store.endpoints.get(g.team.id, endpoint_id)
    secret = ""
    if session.get(SHOW_ONCE) == found.id and not wants_part():
        session.pop(SHOW_ONCE)
        secret = parts().vault.open(found.id, found.secrets[0].sealed)
    pieces = {
        "live": (
            "endpoint_live",
            "endpoint_state",
            "endpoint_problems",
            "endpoint_numbers",
            "endpoint_recent",
        ),
        "numbers": ("endpoint_numbers", "endpoint_live"),
    }
    return page_or_part("endpoint", pieces, secret=secret, **_context(found))


@bp.post("/<endpoint_id>/pause")
def pause(endpoint_id: str) -> Response:
    allow("operate")
    changed = parts().store.endpoints.pause(g.team.id, endpoint_id, actor())
    audited("endpoint.paused", endpoint_id)
    return _after(changed, f"{changed.name} is paused. Its events are held, not lost.", "hold")


@bp.post("/<endpoint_id>/resume")
def resume(endpoint_id: str) -> Response:
    allow("operate")
    changed = parts().store.endpoints.resume(g.team.id, endpoint_id, actor())
    at_once = request.form.get("pace") == "whole"
    if at_once:
        parts().store.endpoint_pace.ramp(endpoint_id, changed.ramp_step, None)
        changed = parts().store.endpoints.get(g.team.id, endpoint_id)
    audited("endpoint.resumed", endpoint_id, pace="whole" if at_once else "ramp")
    slowly = "" if at_once else ", slowly at first"
    said = f"{changed.name} resumed. What was held goes out{slowly}, oldest first."
    return _after(changed, said, "ok")


@bp.post("/<endpoint_id>/delete")
def delete(endpoint_id: str) -> Response:
    """Ask for the name first: the history stays readable, the endpoint does not come back."""
    allow("secrets")
    found = parts().store.endpoints.get(g.team.id, endpoint_id)
    if request.form.get("name", "").strip() != found.name:
        error = "Type the endpoint's name exactly to delete it."
        return page("endpoint", status=422, delete_error=error, secret="", **_context(found))
    parts().store.endpoints.mark_deleted(g.team.id, endpoint_id)
    audited("endpoint.deleted", endpoint_id)
    flash(f"{found.name} was deleted. What still waited for it is cancelled.", "idle")
    return see_other(address("endpoints.index"))


@bp.post("/<endpoint_id>/test")
def test(endpoint_id: str) -> Response:
    """Send one test event to this endpoint alone; the row that appears follows it to its end."""
    allow("operate")
    try:
        event_type = check_type(request.form.get("type", "").strip() or TEST_TYPE)
        accepted = send_test(
            parts().store,
            parts().intake,
            g.team.id,
            endpoint_id,
            event_type=event_type,
            action_id=request.form.get("action_id", "")[:64] or None,
        )
    except (Conflict, Invalid) as refused:
        if wants_part():
            return fragment("test_refused", status=refused.status, refused=refused.message)
        flash(refused.message, "wait")
        return see_other(address("endpoints.show", endpoint_id=endpoint_id))
    audited("endpoint.tested", endpoint_id, event=accepted.id)
    delivery = delivery_id(accepted.event, endpoint_id)
    if wants_part():
        return _test_row(delivery)
    flash("The test event was sent. This is its delivery.", "send")
    return see_other(address("deliveries.show", delivery=delivery))


@bp.get("/<endpoint_id>/test/<delivery>")
def test_result(endpoint_id: str, delivery: str) -> Response:
    """The row of a test event; it stops asking once its first attempt is over."""
    if not wants_part():
        return see_other(address("deliveries.show", delivery=delivery))
    return _test_row(delivery)


def _test_row(delivery: str) -> Response:
    detail = parts().store.timeline.delivery(g.team.id, delivery)
    it = detail.delivery
    ended = it.state in TERMINAL or (it.state is State.PENDING and it.tries > 0)
    last = detail.attempts[-1] if detail.attempts else None
    return fragment(
        "test_row", status=286 if ended else 200, detail=detail, attempt=last, ended=ended
    )


def _after(endpoint: Endpoint, said: str, tone: str) -> Response:
    if wants_part():
        names = ("endpoint_state", "endpoint_recent", "say")
        return fragment(*names, target="ep-head", heard=said, said=said, **_context(endpoint))
    flash(said, tone)
    return see_other(address("endpoints.show", endpoint_id=endpoint.id))


def _context(endpoint: Endpoint) -> dict[str, Any]:
    store = parts().store
    rows = store.timeline.deliveries(
        g.team.id, Filters(endpoint=endpoint.id), limit=RECENT_SHOWN
    ).items
    schedule = endpoint.retry_schedule
    span = chart.span_named(request.args.get("range"))
    since = chart.first_hour(now(), span)
    return {
        "endpoint": endpoint,
        "read_as": _read_as(endpoint.url),
        "health": store.health.of(g.team.id, [endpoint.id])[endpoint.id],
        "rows": rows,
        "problems": _problems(endpoint),
        "chart": chart.draw(
            store.rollups.endpoints(g.team.id, since=since, endpoint=endpoint.id), now(), span
        ),
        "spans": chart.SPANS,
        "history": deeds.recent({endpoint.id: endpoint.name}, target=endpoint.id, most=10),
        "pace": PACE,
        "pace_told": pace_told(
            endpoint, now=now(), readable=unseal(parts().vault, endpoint) is not None
        ),
        "held": store.health.waiting(g.team.id, endpoint.id) if endpoint.state.holds else None,
        "live_secrets": endpoint.live_secrets(now()),
        "delays": parts().settings.retry_schedule if schedule is None else schedule,
        "test_type": _fitting_type(endpoint),
        "paused": endpoint.state is not EndpointState.ACTIVE,
    }


def _read_as(url: str) -> str:
    """The host as people write it, where that is not how it is stored (reliability B48)."""
    host = urlsplit(url).hostname or ""
    return "" if readable_host(host) == host else readable_host(host)


def _problems(endpoint: Endpoint) -> list[tuple[Problem, Endpoint, Explanation]]:
    since = now() - timedelta(hours=24)
    found = parts().store.overview.problems(g.team.id, since=since, endpoint=endpoint.id)
    return [(problem, endpoint, explained(problem, endpoint)) for problem in found]


def _fitting_type(endpoint: Endpoint) -> str:
    """A type that the receiver expects: its first subscription, patterns filled in."""
    first = endpoint.event_types[0] if endpoint.event_types else TEST_TYPE
    return first.replace("*", "test")
