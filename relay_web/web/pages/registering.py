"""The form for a new endpoint, its checks while one types, and the endpoint's settings."""

from collections.abc import Mapping
from typing import Any, Final

from flask import Response, flash, g, request, session

from relay_web.domain.event_type import check_pattern, matches
from relay_web.engine.probe import Hint, hint
from relay_web.engine.registration import Draft, edit, register
from relay_web.errors import Conflict, Invalid
from relay_web.web.pages import allow, audited
from relay_web.web.pages.endpoints import SHOW_ONCE, bp
from relay_web.web.parts import parts
from relay_web.web.render import address, fragment, page, see_other, wants_part
from relay_web.web.schedule import stops

#: Events that a pattern is tried on (ui §2.5).
TRIED_ON: Final = 1000


@bp.get("/new")
def new() -> Response:
    allow("edit")
    return page("endpoint_new", **_form({}))


@bp.post("")
def create() -> Response:
    """Register; on success the endpoint's page opens at "Prove it works" with the secret."""
    allow("edit")
    store = parts().store
    try:
        draft = Draft(**_read(request.form))
        made = register(
            store,
            parts().vault,
            parts().policy,
            g.team.id,
            draft,
            action_id=request.form.get("action_id") or None,
        )
    except (Invalid, Conflict) as refused:
        return _refused("endpoint_new", "endpoint_form", refused, _form(request.form))
    audited("endpoint.created", made.endpoint.id, url=made.endpoint.url)
    session[SHOW_ONCE] = made.endpoint.id
    return see_other(address("endpoints.show", endpoint_id=made.endpoint.id) + "#prove")


@bp.post("/check-url")
def check_url() -> Response:
    """A hint below the URL field: it never blocks, and is repeated by the server on submit."""
    allow("edit")
    url = request.form.get("url", "").strip()
    if not url:
        return fragment("url_hint", found=None)
    found = hint(url, parts().policy)
    if found.level == "ok" and (same := parts().store.endpoints.same_url(g.team.id, url)):
        others = "another endpoint" if same == 1 else f"{same} other endpoints"
        found = Hint("warn", f"{found.sentence} Note: {others} of this team already use this URL.")
    return fragment("url_hint", found=found)


@bp.get("/match")
def match() -> Response:
    """How many of the newest events the patterns would have matched."""
    try:
        patterns = [check_pattern(text) for text in _patterns(request.args)]
        error = ""
    except Invalid as wrong:
        patterns, error = [], wrong.message
    seen = parts().store.events.list(g.team.id, limit=TRIED_ON).items
    count = sum(any(matches(pattern, doc["type"]) for pattern in patterns) for doc in seen)
    return fragment("match", patterns=patterns, count=count, seen=len(seen), error=error)


@bp.get("/<endpoint_id>/edit")
def edit_page(endpoint_id: str) -> Response:
    allow("edit")
    found = parts().store.endpoints.get(g.team.id, endpoint_id)
    values = {
        "url": found.url,
        "name": found.name,
        "which": "some" if found.event_types else "all",
        "event_types": "\n".join(found.event_types),
        "description": found.description,
        "rate_per_second": found.rate_per_second or "",
        "max_in_flight": found.max_in_flight or "",
        "ordered": "1" if found.ordered else "",
        "ed25519": "1" if found.key_pair else "",
        "rev": found.rev,
    }
    return page("endpoint_edit", endpoint=found, **_form(values))


@bp.post("/<endpoint_id>/edit")
def save(endpoint_id: str) -> Response:
    """Store the changed settings, unless someone else changed them in the meantime."""
    allow("edit")
    found = parts().store.endpoints.get(g.team.id, endpoint_id)
    try:
        changes = _read(request.form)
        changes.pop("headers")
        changes["name"] = changes["name"] or found.name
        rev = request.form.get("rev", type=int)
        edit(parts().store, parts().vault, parts().policy, g.team.id, endpoint_id, changes, rev=rev)
    except (Invalid, Conflict) as refused:
        form = _form(request.form) | {"endpoint": found}
        return _refused("endpoint_edit", "endpoint_form", refused, form)
    audited("endpoint.edited", endpoint_id, fields=" ".join(sorted(changes)))
    flash("Saved.", "ok")
    return see_other(address("endpoints.show", endpoint_id=endpoint_id))


def _refused(name: str, part: str, refused: Invalid | Conflict, form: dict[str, Any]) -> Response:
    """The form again with what was typed, the sentence at its field, and the focus there."""
    context = form | {"errors": {refused.field or "": refused.message}}
    if wants_part():
        return fragment(part, status=refused.status, **context)
    return page(name, status=refused.status, **context)


def _form(values: Mapping[str, Any]) -> dict[str, Any]:
    events = parts().store.events.list(g.team.id, limit=200).items
    return {
        "values": values,
        "errors": {},
        "delays": parts().settings.retry_schedule,
        "stops": stops(parts().settings.retry_schedule),
        "types_seen": sorted({doc["type"] for doc in events})[:20],
        "allow_http": parts().settings.allow_http,
    }


def _read(form: Mapping[str, str]) -> dict[str, Any]:
    """The form's fields as `Draft` takes them; raises `Invalid` for what is no number or header."""
    return {
        "url": form.get("url", "").strip(),
        "name": form.get("name", "").strip() or None,
        "event_types": _patterns(form) if form.get("which") == "some" else None,
        "headers": _headers(form.get("headers", "")),
        "rate_per_second": _number(form, "rate_per_second"),
        "max_in_flight": _number(form, "max_in_flight"),
        "ordered": form.get("ordered") == "1",
        "ed25519": form.get("ed25519") == "1",
        "description": form.get("description", "").strip() or None,
    }


def _patterns(form: Mapping[str, str]) -> list[str]:
    return form.get("event_types", "").replace(",", " ").split()


def _number(form: Mapping[str, str], key: str) -> int | None:
    text = form.get(key, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Invalid("Write a whole number, or leave it empty for no limit.", field=key)
    return int(text)


def _headers(text: str) -> dict[str, str] | None:
    """`Name: value` lines."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise Invalid("Write one header a line, as Name: value.", field="headers")
        found[name.strip()] = value.strip()
    return found or None
