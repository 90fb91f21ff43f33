"""Many at once: the preview of a bulk retry, its start, and the page of a bulk job."""

import hashlib
from typing import Any, Final

from flask import Response, flash, g, request

from relay_web.domain.bulk import REASONS, JobState, Kind
from relay_web.store.bulk_jobs import BulkJob, Wish
from relay_web.store.bulk_targets import Touched
from relay_web.web import filters
from relay_web.web.bulk_form import Asked, confirm, look, settings_of
from relay_web.web.pages import actor, allow, audited, team_area
from relay_web.web.parts import parts
from relay_web.web.render import (
    address,
    fragment,
    page,
    see_other,
    wants_part,
    with_query,
    zone,
)  # fmt: skip

bp = team_area("bulk", "")

#: Seconds between two polls of a job's page.
PACE: Final = 2
#: Ticked boxes taken; a page of the list has no more.
TICKED: Final = 100


@bp.get("/deliveries/retry")
def preview() -> Response:
    """What a filter, or the ticked boxes, would send again."""
    allow("operate")
    return look(_asked())


@bp.post("/deliveries/retry")
def start() -> Response:
    """Start what was previewed. The same form once more is the same job."""
    allow("operate")
    return confirm(_asked())


@bp.get("/bulk/<job>")
def show(job: str) -> Response:
    """One job, whoever of the team started it."""
    return page("bulk", **_context(parts().store.bulk_jobs.get(g.team.id, job)))


@bp.get("/bulk/<job>/live")
def live(job: str) -> Response:
    """What changed: 204 for nothing, 286 once nothing can change any more."""
    found = parts().store.bulk_jobs.get(g.team.id, job)
    if not wants_part():
        return see_other(address("bulk.show", job=job))
    context = _context(found)
    if context["mark"] == request.args.get("mark"):
        return Response(status=204)
    names = ["bulk_live", "bulk_now", "bulk_badge"]
    if str(context["quarter"]) != request.args.get("quarter"):
        names.append("say")
    status = 200 if context["live_url"] else 286
    return fragment(*names, status=status, target="live", **context)


@bp.post("/bulk/<job>/stop")
def stop(job: str) -> Response:
    """No more is queued from now on; what is queued already stays."""
    allow("operate")
    jobs = parts().store.bulk_jobs
    jobs.get(g.team.id, job)
    stopped = jobs.stop(g.team.id, job, by=actor())
    if stopped:
        audited("bulk.stopped", job)
    said = "Stopped. What is queued already stays." if stopped else "It had ended already."
    if wants_part():
        context = _context(jobs.get(g.team.id, job)) | {"heard": said}
        return fragment("bulk_now", "bulk_live", "bulk_badge", "say", target="job", **context)
    flash(said, "idle")
    return see_other(address("bulk.show", job=job))


def _asked() -> Asked:
    settings = settings_of()
    read = filters.read(request.args, now=settings.as_of, zone=zone())
    ticked = sorted({key for key in request.args.getlist("id") if key.startswith("dlv_")})[:TICKED]
    wish = Wish(
        team=g.team.id,
        kind=Kind.RETRY,
        filters=filters.with_ids(read.filters, ticked),
        as_of=settings.as_of,
        pace=settings.pace,
    )
    query = [*read.query, *(("id", key) for key in ticked)]
    return Asked(
        wish,
        address("bulk.preview"),
        query,
        back=with_query(address("deliveries.index"), list(read.query)),
        settings=settings,
    )


def _context(job: BulkJob) -> dict[str, Any]:
    touched = parts().store.bulk_targets.touched(job.id, job.wish.as_of)
    looked = touched.queued + sum(job.skipped.values())
    whole = max(job.matched, looked)
    quarter = 4 * looked // whole if whole else 4
    final = job.state is not JobState.RUNNING and not touched.waiting
    told = f"{job.rev}/{job.state}/{touched}"
    mark = hashlib.sha256(told.encode()).hexdigest()[:12]
    url = with_query(address("bulk.live", job=job.id), {"mark": mark, "quarter": str(quarter)})
    return {
        "job": job,
        "touched": touched,
        "looked": looked,
        "whole": whole,
        "reasons": [(REASONS[why], count) for why, count in job.skipped.items() if count],
        "heading": _heading(job),
        "mark": mark,
        "quarter": quarter,
        "live_url": "" if final else url,
        "pace": PACE,
        "heard": _heard(job, touched, looked, whole),
    }


def _heading(job: BulkJob) -> str:
    if job.wish.kind is Kind.RETRY:
        return "Bulk retry"
    known = parts().store.bulk_targets.endpoints(g.team.id).get(job.wish.filters.endpoint or "")
    name = known.name if known else "a removed endpoint"
    return f"Recover {name}"


def _heard(job: BulkJob, touched: Touched, looked: int, whole: int) -> str:
    if job.state is JobState.RUNNING:
        return f"{looked:,} of {whole:,} looked at, {touched.queued:,} queued."
    return f"The job is {job.state}: {touched.queued:,} queued, {touched.delivered:,} delivered."
