"""Is the engine alive, and who holds what? Leases are read themselves; beats only colour."""

from typing import Final

from flask import Response, g

from relay_web.domain.delivery import Word
from relay_web.store.filtering import Filters
from relay_web.web.pages import team_area
from relay_web.web.parts import parts
from relay_web.web.render import address, fragment, now, page_or_part, see_other, wants_part

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


@bp.get("/missing")
def missing() -> Response:
    """The banner that no worker beats asks this: 204 while that is so, then what takes it away."""
    if not wants_part():
        return see_other(address("workers.index"))
    if parts().store.workers.live() == 0:
        return Response(status=204)
    return fragment("no_workers", status=286)
