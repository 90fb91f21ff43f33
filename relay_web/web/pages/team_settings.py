"""A team's name and end, and its log of who did what."""

import csv
import io
from collections.abc import Iterator
from typing import Final

from flask import Response, flash, g, request

from relay_web.domain.event import iso_millis
from relay_web.domain.people import check_team_name
from relay_web.domain.roles import Deed
from relay_web.errors import Conflict, Invalid
from relay_web.store.audit import Entry
from relay_web.web.forms import typed
from relay_web.web.pages import allow, audited
from relay_web.web.pages.people import bp
from relay_web.web.parts import parts
from relay_web.web.render import address, page, see_other

_PER_PAGE: Final = 50
#: Rows of one CSV file; a longer log is taken in pieces by its filters.
_MOST_ROWS: Final = 10_000
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


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
    text = "".join(_lines(g.team.id, _filters()))
    answer = Response(text, mimetype="text/csv")
    answer.headers["Content-Disposition"] = f"attachment; filename=audit-{g.team.slug}.csv"
    return answer


def _filters() -> dict[str, str | None]:
    return {name: request.args.get(name) or None for name in ("action", "actor", "target")}


def _lines(team: str, filters: dict[str, str | None]) -> Iterator[str]:
    yield _line("at", "who", "action", "target", "address", "request", "details")
    after, rows = None, 0
    while rows < _MOST_ROWS:
        found = parts().store.audit.list(team, **filters, after=after, limit=500)
        for entry in found.items:
            yield _row(entry)
        rows += len(found.items)
        after = found.next
        if after is None:
            return


def _row(entry: Entry) -> str:
    details = " ".join(f"{name}={value}" for name, value in sorted(entry.details.items()))
    return _line(
        iso_millis(entry.at), entry.who, entry.action, entry.target or "",
        entry.address, entry.request_id, details,
    )  # fmt: skip


def _line(*cells: str) -> str:
    """One CSV line; a cell that a spreadsheet would run as a formula is made text."""
    out = io.StringIO()
    csv.writer(out).writerow(f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells)
    return out.getvalue()
