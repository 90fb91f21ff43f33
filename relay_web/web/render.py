"""One view, two shapes: the whole page, or the part of it that htmx asked for.

A part is picked from an allow-list by the id of the element it is for (`HX-Target`); for anything
else, and for a browser that restores its history, the answer is the page. Both shapes include the
same files, so they cannot drift.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any
from urllib.parse import urlencode

from flask import Flask, Response, g, make_response, redirect, render_template, request, url_for
from htmx_flask import request as htmx_request

from relay_web.web import payload, telling, times
from relay_web.web.parts import parts
from relay_web.web.words import cause_name, icon_of, tone_of

ZONE_COOKIE = "relay-zone"
THEME_COOKIE = "relay-theme"
SHORTCUTS_COOKIE = "relay-shortcuts"
ORDER_COOKIE = "relay-order"


def wants_part() -> bool:
    """htmx will swap the answer into a page; a history restore wants the whole of it."""
    htmx = htmx_request.htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def page(name: str, *, status: int = 200, **context: Any) -> Response:
    """`templates/pages/<name>.html`, whole."""
    return _vary(make_response(render_template(f"pages/{name}.html", **context), status))


def page_or_part(name: str, pieces: Mapping[str, Sequence[str]], **context: Any) -> Response:
    """The page, or the fragments listed for the element htmx names, which they know as `target`."""
    target = htmx_request.htmx.target or ""
    if wants_part() and target in pieces:
        return fragment(*pieces[target], target=target, **context)
    return page(name, **context)


def fragment(*names: str, status: int = 200, **context: Any) -> Response:
    """Fragments in a row: the first is for the target, the others go where they say (OOB)."""
    html = "\n".join(render_template(f"fragments/{name}.html", **context) for name in names)
    answer = _vary(make_response(html, status))
    answer.headers["X-Relay-Fragment"] = "1"
    return answer


def see_other(url: str) -> Response:
    """To another page after a form: 303, or for htmx the header that makes the browser go there."""
    if not htmx_request.htmx:
        return _vary(make_response(redirect(url, 303)))
    answer = _vary(make_response("", 204))
    answer.headers["HX-Redirect"] = url
    return answer


def _vary(answer: Response) -> Response:
    # Same address, two bodies: without this the back button may show a bare fragment.
    answer.vary.update(("HX-Request", "HX-Target", "HX-History-Restore-Request"))
    return answer


def now() -> datetime:
    """This request's one idea of now, so that a page does not disagree with itself.

    Views that read database time put it here; the others take this process's clock.
    """
    at: datetime = g.setdefault("now", datetime.now(UTC))
    return at


def zone() -> tzinfo:
    """The reader's time zone: as the browser told us in a cookie, else UTC."""
    found: tzinfo = g.setdefault("zone", times.zone_named(request.cookies.get(ZONE_COOKIE)))
    return found


def theme() -> str:
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in ("light", "dark") else ""


def address(endpoint: str, /, **values: Any) -> str:
    """`url_for` in the current team, for views below `/t/<team>/`."""
    return url_for(endpoint, team=g.team.slug, **values)


def with_query(url: str, query: Mapping[str, Any] | list[tuple[str, str]]) -> str:
    """The canonical address of a filtered list: sorted, blanks dropped."""
    pairs = query.items() if isinstance(query, Mapping) else query
    kept = sorted((key, value) for key, value in pairs if value not in (None, ""))
    return f"{url}?{urlencode(kept)}" if kept else url


def register(app: Flask) -> None:
    """Give templates their filters and the few things every page shows."""
    env = app.jinja_env
    env.trim_blocks = env.lstrip_blocks = True
    env.filters.update(
        capitalize_first=lambda text: text[:1].upper() + text[1:],
        status_text=telling.status_text,
        ago=lambda at: times.distance(at, now()),
        clock=lambda at: times.clock(at, zone()),
        millis=lambda at: times.clock_millis(at, zone()),
        day=lambda at: times.day(at, zone()),
        moment=lambda at: times.moment(at, zone()),
        stamp=times.stamp,
        span=times.duration,
        rough=times.rough,
        size=payload.size,
        visible=payload.visible,
        tone=tone_of,
        cause_name=cause_name,
        phase_bars=telling.phase_bars,
        icon_name=icon_of,
    )
    env.globals.update(
        action_id=lambda: secrets.token_hex(12),
        address=address,
        masked=payload.masked,
        newest_first=lambda: request.cookies.get(ORDER_COOKIE) == "newest",
        now=now,
        show=payload.show,
        shortcuts_off=lambda: request.cookies.get(SHORTCUTS_COOKIE) == "off",
        theme=theme,
        with_query=with_query,
        zone_name=lambda: now().astimezone(zone()).tzname() or "UTC",
    )
    app.context_processor(_everywhere)


def _everywhere() -> dict[str, Any]:
    return {
        "team": g.get("team"),
        "may": g.get("may", lambda deed: False),
        "development": parts().settings.development,
    }
