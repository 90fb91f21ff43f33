"""Many at once: retry by filter, recover an endpoint, and the jobs that do it."""

import secrets

from relay_web.domain.bulk import FAILED, UNDELIVERED, Kind
from relay_web.domain.roles import Deed
from relay_web.engine.bulk_preview import preview, start
from relay_web.errors import Invalid
from relay_web.store.bulk_jobs import BulkJob, Wish
from relay_web.store.filtering import Filters
from relay_web.web.api.asking import filters_of
from relay_web.web.api.operations import Call, operation
from relay_web.web.bulk_answers import BulkOut, JobOut, job_out, preview_out
from relay_web.web.bulk_schemas import BulkIn, RecoverIn
from relay_web.web.schemas import parse_time


@operation(
    "POST", "/deliveries/retry", deed=Deed.OPERATE, body=BulkIn, answer=BulkOut, status=202,
    dry_status=200, idempotent=True,
)  # fmt: skip
def retry_deliveries(call: Call) -> BulkOut:
    """Send every delivery that matches again; without a state, the failed and cancelled ones."""
    asked: BulkIn = call.body
    words = frozenset(asked.state or UNDELIVERED)
    wish = Wish(
        team=call.team,
        kind=Kind.RETRY,
        filters=filters_of(call, asked, words),
        as_of=call.parts.store.now(),
        pace=asked.pace,
    )
    return _answer(call, wish, dry_run=asked.dry_run)


@operation(
    "POST", "/endpoints/<endpoint_id>/recover", deed=Deed.OPERATE, body=RecoverIn, answer=BulkOut,
    status=202, dry_status=200, idempotent=True,
)  # fmt: skip
def recover_endpoint(call: Call, endpoint_id: str) -> BulkOut:
    """Send an endpoint what failed since a time, or with `missed` what it never got."""
    asked: RecoverIn = call.body
    call.parts.store.endpoints.get(call.team, endpoint_id)
    since, now = parse_time(asked.since, field="since"), call.parts.store.now()
    if since > now:
        raise Invalid("Use a time that has passed.", field="since")
    if asked.kind == "missed":
        filters = Filters(endpoint=endpoint_id, since=since)
    else:
        filters = Filters(endpoint=endpoint_id, failed_since=since, words=FAILED)
    wish = Wish(
        team=call.team, kind=Kind(asked.kind), filters=filters, as_of=now, pace=asked.pace
    )  # fmt: skip
    return _answer(call, wish, dry_run=asked.dry_run)


@operation("GET", "/bulk-jobs/<job_id>", deed=Deed.SEE, answer=JobOut)
def get_bulk_job(call: Call, job_id: str) -> JobOut:
    """Show how far a bulk job has come and what became of what it sent."""
    return _job(call, call.parts.store.bulk_jobs.get(call.team, job_id))


@operation("POST", "/bulk-jobs/<job_id>/stop", deed=Deed.OPERATE, answer=JobOut)
def stop_bulk_job(call: Call, job_id: str) -> JobOut:
    """Stop a bulk job; what is queued already stays, and one that has ended stays as it is."""
    jobs = call.parts.store.bulk_jobs
    jobs.get(call.team, job_id)
    if jobs.stop(call.team, job_id, by=call.caller.name):
        call.audit("bulk.stopped", job_id)
    return _job(call, jobs.get(call.team, job_id))


def _answer(call: Call, wish: Wish, *, dry_run: bool) -> BulkOut:
    store = call.parts.store
    if dry_run:
        seen = preview(store, wish)
        return BulkOut(outcome="previewed", job=None, preview=preview_out(seen))
    action = call.key or secrets.token_hex(12)
    job = start(store, wish, action_id=f"api:{action}", by=call.caller.name)
    call.audit("bulk.started", job.id, kind=wish.kind.value, matched=str(job.matched))
    return BulkOut(outcome="started", job=_job(call, job), preview=None)


def _job(call: Call, job: BulkJob) -> JobOut:
    return job_out(job, call.parts.store.bulk_targets.touched(job.id, job.wish.as_of))
