"""Is the engine alive, and who holds what? Leases are read themselves; beats only colour."""

from datetime import timedelta
from typing import Final

from flask import Response, g

from relay_web.domain.delivery import Word
from relay_web.store.filtering import Filters
from relay_web.web import chart, sparks
from relay_web.web.pages import team_area
from relay_web.web.parts import parts
from relay_web.web.render import address, fragment, now, page_or_part, see_other, wants_part

bp = team_area("workers", "/workers")

PACE: Final = 2
#: A worker that stopped this long ago is history.
SHOWN_FOR: Final = 3600
LEASES_SHOWN: Final = 50
LOST_SHOWN: Final = 10


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
    leases = store.timeline.deliveries(g.team.id, leased, limit=LEASES_SHOWN).items
    in_flight, names = sum(beat.in_flight for beat in alive), {beat.name for beat in alive}
    holders = [row.delivery.lease.worker for row in leases if row.delivery.lease]
    ours = sum(holder in names for holder in holders)
    return page_or_part(
        "workers",
        {"live": ("workers_live", "workers_now", "workers_zombies")},
        beats=sorted(beats, key=lambda beat: beat.name),
        alive=alive,
        in_flight=in_flight,
        others=max(0, in_flight - ours),
        versions={beat.version for beat in alive},
        leases=leases,
        oldest=store.overview.figures(g.team.id, since=now()).oldest_waiting,
        pace=PACE,
        meters=sparks.meters(store.rollups.workers(since=chart.first_hour(at)), at),
        lost=store.timeline.deliveries(
            g.team.id, Filters(lost=True, since=at - timedelta(hours=24)), limit=LOST_SHOWN
        ).items,
    )


@bp.get("/missing")
def missing() -> Response:
    """The banner that no worker beats asks this: 204 while that is so, then what takes it away."""
    if not wants_part():
        return see_other(address("workers.index"))
    if parts().store.workers.live() == 0:
        return Response(status=204)
    return fragment("no_workers", status=286)
