"""A team's name and end, and its log of who did what."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from flask import Response, flash, g, request

from relay_web.domain.people import check_team_name
from relay_web.domain.roles import Deed
from relay_web.errors import Conflict, Invalid
from relay_web.store.audit import Entry
from relay_web.web.csv_file import Cell, csv_file, walk
from relay_web.web.forms import typed
from relay_web.web.pages import allow, audited
from relay_web.web.pages.people import bp
from relay_web.web.parts import parts
from relay_web.web.render import address, page, see_other

_PER_PAGE: Final = 50
#: Rows read together for a file.
_PER_FILE_PAGE: Final = 500
_HEADER: Final = ("at", "who", "action", "target", "address", "request", "details")


@bp.get("/general")
def general() -> Response:
    return page("team_general", errors={}, value=g.team.name)


@bp.post("/general")
def rename() -> Response:
    """A new name; addresses with the old one still lead here."""
    allow(Deed.ADMINISTER)
    try:
        name = check_team_name(request.form.get("name", ""), field="name")
        team = parts().store.accounts.teams.rename(g.team.id, name)
    except (Invalid, Conflict) as refused:
        errors = {"name": refused.message}
        return page("team_general", status=refused.status, errors=errors, value=typed("name"))
    audited("team.renamed", g.team.id, before=g.team.name, now=name)
    g.team = team
    flash("Saved.", "ok")
    return see_other(address("settings.general"))


@bp.post("/delete")
def delete_team() -> Response:
    """End the team: nobody gets in, its keys are worth nothing, what waits is cancelled."""
    allow(Deed.OWN)
    if request.form.get("confirm", "").strip() != g.team.name:
        errors = {"confirm": f"Write the team's name, {g.team.name}, to delete it."}
        return page("team_general", status=422, errors=errors, value=g.team.name)
    store = parts().store
    for endpoint in store.endpoints.for_team_active(g.team.id):
        store.endpoints.mark_deleted(g.team.id, endpoint.id)
    store.accounts.keys.revoke_all(g.team.id)
    audited("team.deleted", g.team.id)
    store.accounts.teams.mark_deleted(g.team.id)
    flash(f"The team {g.team.name} was deleted.", "ok")
    return see_other("/")


@bp.get("/audit")
def audit() -> Response:
    allow(Deed.ADMINISTER)
    filters = _filters()
    found = parts().store.audit.list(
        g.team.id, **filters, after=request.args.get("after") or None, limit=_PER_PAGE
    )
    return page("audit", entries=found.items, following=found.next, filters=filters)


@bp.get("/audit.csv")
def audit_csv() -> Response:
    """The log as a file, newest first."""
    allow(Deed.ADMINISTER)
    read = partial(parts().store.audit.list, g.team.id, **_filters(), limit=_PER_FILE_PAGE)
    rows = walk(lambda after: read(after=after))
    return csv_file(f"audit-{g.team.slug}", _HEADER, map(_row, rows))


def _filters() -> dict[str, str | None]:
    return {name: request.args.get(name) or None for name in ("action", "actor", "target")}


def _row(entry: Entry) -> Sequence[Cell]:
    details = " ".join(f"{name}={value}" for name, value in sorted(entry.details.items()))
    return (
        entry.at, entry.who, entry.action, entry.target, entry.address, entry.request_id, details,
    )  # fmt: skip
