"""Is the engine alive, and who holds what? Leases are read themselves; beats only colour."""

from typing import Final

from flask import Response, g

from relay_web.domain.delivery import Word
from relay_web.store.timeline import Filters
from relay_web.web.pages import team_area
from relay_web.web.parts import parts
from relay_web.web.render import now, page_or_part

bp = team_area("workers", "/workers")

PACE: Final = 2
#: A worker that stopped this long ago is history.
SHOWN_FOR: Final = 3600
LEASES_SHOWN: Final = 50


@bp.get("")
def index() -> Response:
    """Every worker that beat lately, and this team's live leases."""
    store = parts().store
    at = store.now()
    g.now = at
    beats = [
        beat for beat in store.workers.all() if (at - beat.beat_at).total_seconds() < SHOWN_FOR
    ]
    alive = [
        beat for beat in beats if beat.health(at) in ("starting", "beating", "late", "draining")
    ]
    leased = Filters(words=frozenset({Word.SENDING}))
    return page_or_part(
        "workers",
        {"live": ("workers_live", "workers_now")},
        beats=sorted(beats, key=lambda beat: beat.name),
        alive=alive,
        in_flight=sum(beat.in_flight for beat in alive),
        versions={beat.version for beat in alive},
        leases=store.timeline.deliveries(g.team.id, leased, limit=LEASES_SHOWN).items,
        oldest=store.overview.figures(g.team.id, since=now()).oldest_waiting,
        pace=PACE,
    )
