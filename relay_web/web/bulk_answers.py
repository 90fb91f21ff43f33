"""What the API answers about bulk jobs and their previews."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from relay_web.domain.bulk import JobState, Kind, LeftOut
from relay_web.engine.bulk_preview import Preview
from relay_web.store.bulk_jobs import BulkJob
from relay_web.store.bulk_targets import Touched


class ShareOut(BaseModel):
    """One endpoint's part: so many deliveries, queued at so many a second."""

    endpoint_id: str
    name: str
    count: int
    pace: int


class PreviewOut(BaseModel):
    """What would be sent again as of `as_of`. `matched` is `queue` plus all of `left_out`; with
    `at_least` there are more than were counted. `seconds` is the time that queueing takes."""

    kind: Kind
    as_of: datetime
    matched: int
    at_least: bool
    queue: int
    left_out: dict[LeftOut, int]
    endpoints: list[ShareOut]
    causes: dict[str, int]
    oldest: datetime | None
    newest: datetime | None
    seconds: float


class JobOut(BaseModel):
    """A bulk job. `queued` were sent again: `delivered`, `failed` (again), `waiting` for an answer
    or `cancelled` since; `skipped` says how many were not, by reason."""

    id: str
    kind: Kind
    state: JobState
    by: str
    as_of: datetime
    pace: int | None
    matched: int
    at_least: bool
    queued: int
    skipped: dict[LeftOut, int]
    delivered: int
    failed: int
    waiting: int
    cancelled: int
    created_at: datetime
    ended_at: datetime | None
    ended_by: str | None


class BulkOut(BaseModel):
    """The job that was started, or what it would do where only that was asked for."""

    outcome: Literal["started", "previewed"]
    job: JobOut | None
    preview: PreviewOut | None


def preview_out(seen: Preview) -> PreviewOut:
    return PreviewOut(
        kind=seen.wish.kind,
        as_of=seen.wish.as_of,
        matched=seen.matched,
        at_least=seen.at_least,
        queue=seen.queue,
        left_out=dict(seen.left_out),
        endpoints=[
            ShareOut(endpoint_id=share.id, name=share.name, count=share.count, pace=share.pace)
            for share in seen.endpoints
        ],
        causes={cause or "none": count for cause, count in seen.causes},
        oldest=seen.oldest,
        newest=seen.newest,
        seconds=seen.seconds,
    )


def job_out(job: BulkJob, touched: Touched) -> JobOut:
    return JobOut(
        id=job.id,
        kind=job.wish.kind,
        state=job.state,
        by=job.by,
        as_of=job.wish.as_of,
        pace=job.wish.pace,
        matched=job.matched,
        at_least=job.at_least,
        queued=touched.queued,
        skipped=dict(job.skipped),
        delivered=touched.delivered,
        failed=touched.failed,
        waiting=touched.waiting,
        cancelled=touched.cancelled,
        created_at=job.created_at,
        ended_at=job.ended_at,
        ended_by=job.ended_by,
    )
