"""Bulk jobs under real workers: two at once, and one that is killed in the middle."""

from collections import Counter
from typing import Any

from relay_web.domain.bulk import JobState, Kind
from relay_web.domain.delivery import Word
from relay_web.engine.bulk_preview import start
from relay_web.store.bulk_jobs import BulkJob, Wish
from relay_web.store.timeline import Filters
from tests.e2e.stage import Stage
from tests.e2e.waiting import eventually
from tests.receiver import answer

MANY = 60


def all_failed(stage: Stage) -> None:
    """So many deliveries whose only attempt was answered 500, by a worker that has left."""
    endpoint = stage.endpoint("/hook", retry_schedule=[])
    stage.receiver.script("/hook", answer(500))
    worker = stage.worker()
    stage.publish_many(MANY, to=endpoint)
    eventually(lambda: stage.states() == {"failed": MANY}, "all have failed", seen=stage.states)
    worker.process.stop()
    stage.receiver.script("/hook", answer(200))


def retry_all(stage: Stage, *, pace: int | None = None) -> BulkJob:
    wish = Wish(
        team=stage.team, kind=Kind.RETRY, filters=Filters(words=frozenset({Word.FAILED})),
        as_of=stage.store.now(), pace=pace,
    )  # fmt: skip
    return start(stage.store, wish, action_id="the one press", by="Ana")


def progress(stage: Stage, job: BulkJob) -> Any:
    found = stage.store.bulk_jobs.get(stage.team, job.id)
    return found.state, stage.store.bulk_targets.touched(job.id, job.wish.as_of)


def is_done(stage: Stage, job: BulkJob) -> bool:
    state, touched = progress(stage, job)
    return state is JobState.DONE and touched.delivered == MANY


def acted(stage: Stage, job: BulkJob) -> Counter[str]:
    ids = [action.id for delivery in stage.deliveries() for action in delivery.actions]
    return Counter(key for key in ids if key.startswith(job.id))


def sent(stage: Stage) -> list[str]:
    """The ids of the requests that were answered 200: those after the first `MANY`."""
    requests = stage.receiver.requests("/hook")[MANY:]
    return [request.headers["webhook-id"] for request in requests]


def test_two_workers_at_once_send_each_delivery_of_a_job_once(stage: Stage) -> None:
    all_failed(stage)
    stage.worker()
    stage.worker()
    job = retry_all(stage)
    eventually(lambda: is_done(stage, job), "the job ends", seen=lambda: progress(stage, job))
    ids = sent(stage)
    assert len(ids) == len(set(ids)) == MANY
    assert set(acted(stage, job).values()) == {1}


def test_after_a_crash_in_mid_job_another_worker_ends_it_and_queues_nothing_twice(
    stage: Stage,
) -> None:
    all_failed(stage)
    doomed = stage.worker()
    job = retry_all(stage, pace=10)
    eventually(
        lambda: MANY // 6 < sum(acted(stage, job).values()) < MANY, "the job is half way"
    )  # fmt: skip
    doomed.process.kill()
    left = progress(stage, job)
    assert left[0] is JobState.RUNNING
    assert left[1].queued < MANY
    stage.worker()
    eventually(
        lambda: is_done(stage, job), "the job ends", within=60,
        seen=lambda: progress(stage, job),
    )  # fmt: skip
    assert len(acted(stage, job)) == MANY
    assert set(acted(stage, job).values()) == {1}
    assert set(sent(stage)) == {delivery.webhook_id for delivery in stage.deliveries()}
