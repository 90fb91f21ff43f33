"""The preview of a bulk action and its confirmation, as a dialog and as a page of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from flask import Response, flash, g, request
from htmx_flask import request as htmx_request

from relay_web.domain import limits
from relay_web.domain.bulk import REASONS, Kind
from relay_web.engine.bulk_preview import preview, start
from relay_web.errors import Conflict, Invalid
from relay_web.store.bulk_jobs import Wish
from relay_web.web.pages import actor, audited
from relay_web.web.parts import parts
from relay_web.web.render import address, page_or_part, see_other, with_query
from relay_web.web.schemas import parse_time

#: A preview older than this has to be looked at again before it is confirmed.
STALE: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is chosen beside the filter. `wrong` says what is the matter with the pace, if so."""

    as_of: datetime
    pace: int | None
    typed_pace: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A wish, the address and query that mean it, and where Cancel leads."""

    wish: Wish
    path: str
    query: Sequence[tuple[str, str]]
    back: str
    settings: Settings
    #: More for the template: the tabs and the time of a recovery.
    shown: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return with_query(self.path, list(self.query))


def settings_of() -> Settings:
    """Pace and as-of time from the query or the form; the as-of time is now in a preview."""
    typed = request.values.get("pace", "").strip()[:12]
    pace, wrong = None, ""
    try:
        pace = limits.check_whole(int(typed), limits.RATE, field="pace") if typed else None
    except Invalid as refused:
        wrong = refused.message
    except ValueError:
        wrong = "Send a whole number."
    return Settings(_as_of(), pace, typed, wrong)


def look(asked: Asked) -> Response:
    """The preview: as a dialog, as the part of it that a new pace changes, or as a page."""
    target = htmx_request.htmx.target or ""
    seen = preview(parts().store, asked.wish)
    g.now = asked.wish.as_of
    return page_or_part(
        "bulk_preview",
        {"dialog-host": ("bulk_dialog",), "preview": ("bulk_preview",)},
        asked=asked,
        seen=seen,
        reasons=[(REASONS[why], count) for why, count in seen.left_out.items()],
        noun="event" if asked.wish.kind is Kind.MISSED else "delivery",
        in_dialog=target == "dialog-host" or request.args.get("dialog") == "1",
        fresh=target != "preview",
    )


def confirm(asked: Asked) -> Response:
    """Start the job and go to its page; a form that was sent before leads to the same one."""
    action = request.form.get("action_id", "")
    if not 8 <= len(action) <= 64:
        raise Conflict("This form is incomplete; reload the page and try again.")
    if asked.settings.wrong:
        raise Invalid(asked.settings.wrong, field="pace")
    try:
        job = start(parts().store, asked.wish, action_id=action, by=actor())
    except Invalid as nothing:
        flash(nothing.message, "idle")
        return see_other(asked.url)
    audited("bulk.started", job.id, kind=job.wish.kind.value, matched=str(job.matched))
    return see_other(address("bulk.show", job=job.id))


def _as_of() -> datetime:
    now = parts().store.now()
    shown = request.form.get("as_of")
    if request.method == "GET" or shown is None:
        return now
    at = parse_time(shown, field="as_of")
    if not now - STALE < at <= now:
        raise Conflict("This preview is out of date; reload the page and look again.")
    return at
