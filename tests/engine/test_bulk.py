"""Bulk jobs: what they send again and what they leave alone, at which pace, and who may do it."""

import threading
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from relay_web.clock import new_id
from relay_web.domain.bulk import FAILED, JobState, Kind, LeftOut
from relay_web.domain.delivery import Delivery, State, Word
from relay_web.domain.policy import Verdict
from relay_web.engine import bulk_preview
from relay_web.engine.bulk import Bulk
from relay_web.engine.bulk_preview import preview, start
from relay_web.engine.tempo import Tempo
from relay_web.errors import Invalid, Unavailable
from relay_web.store import Store
from relay_web.store.bulk_jobs import BulkJob, Wish
from relay_web.store.deliveries import Fate, Result
from relay_web.store.filtering import Filters
from tests.factories import TEAM, again, claim, make_delivery, make_endpoint, publish

FAIL = Verdict.failed(500, "server_error", "after 8 attempts")
RETRY = Verdict.retry(503, "server_error", 3600.0, "backoff step 1 of 7")


def failed(store: Store, endpoint: Any = None, verdict: Verdict = FAIL) -> Delivery:
    """A delivery with one attempt behind it."""
    delivery = make_delivery(store, endpoint)
    assert store.deliveries.commit([Result(claim(store, delivery), verdict)]) == [Fate.KEPT]
    return again(store, delivery)


def wish_for(store: Store, *, kind: Kind = Kind.RETRY, pace: Any = None, **filters: Any) -> Wish:
    return Wish(
        team=TEAM, kind=kind, filters=Filters(**filters), as_of=store.now(), pace=pace
    )  # fmt: skip


def started(store: Store, wish: Wish) -> BulkJob:
    return start(store, wish, action_id=new_id("act"), by="Ana")


def worked_off(store: Store, job: BulkJob) -> BulkJob:
    """The job after a worker took it and came to its end."""
    held = store.bulk_jobs.take(15.0)
    assert held is not None
    assert held.id == job.id
    assert Bulk(store).work(held)
    return store.bulk_jobs.get(TEAM, job.id)


def touched(store: Store, job: BulkJob) -> Any:
    return store.bulk_targets.touched(job.id, job.wish.as_of)


def sent_again(store: Store, job: BulkJob) -> Counter[str]:
    """How often each delivery was acted upon under this job."""
    actions = [
        action["id"] for doc in store.db.deliveries.find() for action in doc["actions"]
    ]  # fmt: skip
    return Counter(action for action in actions if action.startswith(job.id))


def test_what_failed_is_queued_with_its_whole_schedule_and_the_job_ends(store: Store) -> None:
    ended = [failed(store) for _ in range(5)]
    job = worked_off(store, started(store, wish_for(store, words={Word.FAILED})))
    assert (job.state, job.matched, job.skipped) == (JobState.DONE, 5, {LeftOut.CHANGED: 0})
    assert touched(store, job).queued == 5
    for delivery in ended:
        now = again(store, delivery)
        assert (now.state, now.once, now.trigger, now.round_tries) == ("pending", False, "bulk", 0)
        assert now.actions[-1].id == f"{job.id}:{delivery.id}"


def test_every_delivery_that_is_left_out_is_left_out_for_a_reason_and_the_lines_add_up(
    store: Store,
) -> None:
    billing, gone, held = (make_endpoint(store, name=name) for name in ("a", "b", "c"))
    failed(store, billing)
    failed(store, billing, RETRY)
    failed(store, billing, Verdict.delivered(200))
    failed(store, gone)
    failed(store, held)
    make_delivery(store, billing)
    claim(store, make_delivery(store, billing))
    expired = failed(store, billing)
    store.db.events.delete_one({"_id": expired.event})
    store.endpoints.mark_deleted(TEAM, gone.id)
    store.endpoints.pause(TEAM, held.id, "Ana")

    seen = preview(store, wish_for(store))

    assert seen.left_out == dict.fromkeys(
        (
            LeftOut.DELIVERED, LeftOut.HELD, LeftOut.REMOVED, LeftOut.SENDING, LeftOut.QUEUED,
            LeftOut.EXPIRED,
        ),
        1,
    )  # fmt: skip
    assert (seen.queue, seen.matched, seen.at_least) == (2, 8, False)
    assert seen.queue + sum(seen.left_out.values()) == seen.matched
    assert [(share.name, share.count, share.pace) for share in seen.endpoints] == [("a", 2, 100)]
    assert seen.causes == [("server_error", 2)]
    job = worked_off(store, started(store, seen.wish))
    assert {why: n for why, n in job.skipped.items() if n} == {
        why: n for why, n in seen.left_out.items() if why is not LeftOut.DELIVERED
    }


def test_delivered_ones_are_sent_again_only_when_asked_for_by_name(store: Store) -> None:
    arrived = failed(store, verdict=Verdict.delivered(200))
    ticked = preview(store, wish_for(store, ids=(arrived.id,)))
    assert (ticked.queue, ticked.left_out) == (0, {LeftOut.DELIVERED: 1})
    worked_off(store, started(store, wish_for(store, words={Word.DELIVERED})))
    assert again(store, arrived).state is State.PENDING


def test_failures_newer_than_the_as_of_time_are_not_swept_in(store: Store) -> None:
    before = failed(store)
    wish = wish_for(store, words={Word.FAILED})
    job = started(store, wish)
    later = failed(store)
    worked_off(store, job)
    assert again(store, before).state is State.PENDING
    assert again(store, later).state is State.FAILED
    assert touched(store, job).queued == 1


def test_what_was_delivered_between_preview_and_job_is_counted_as_moved_on(store: Store) -> None:
    one, two = failed(store), failed(store)
    job = started(store, wish_for(store, words={Word.FAILED}))
    store.deliveries.retry(TEAM, two.id, action_id="by hand", by="Bo")
    store.deliveries.commit([Result(claim(store, two), Verdict.delivered(200))])
    job = worked_off(store, job)
    assert again(store, one).state is State.PENDING
    assert again(store, two).state is State.DELIVERED
    assert job.skipped[LeftOut.CHANGED] == 1


def test_the_same_confirmation_twice_is_one_job(store: Store) -> None:
    failed(store)
    wish = wish_for(store, words={Word.FAILED})
    jobs = {start(store, wish, action_id="press-1", by="Ana").id for _ in range(3)}
    assert len(jobs) == store.db.bulk_jobs.count_documents({}) == 1


def test_nothing_to_send_starts_nothing(store: Store) -> None:
    with pytest.raises(Invalid, match="Nothing is left to send"):
        started(store, wish_for(store, words={Word.FAILED}))


def test_beyond_the_cap_it_says_at_least_and_the_job_counts_as_it_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_preview, "COUNTED", 3)
    for _ in range(5):
        failed(store)
    seen = preview(store, wish_for(store, words={Word.FAILED}))
    assert (seen.queue, seen.at_least) == (3, True)
    job = worked_off(store, started(store, seen.wish))
    assert (job.matched, job.at_least, touched(store, job).queued) == (5, False, 5)


def test_what_it_sent_again_is_counted_by_what_became_of_it(store: Store) -> None:
    good, bad, later, waits = (failed(store) for _ in range(4))
    job = worked_off(store, started(store, wish_for(store, words={Word.FAILED})))
    for delivery, verdict in (
        (good, Verdict.delivered(200)), (bad, FAIL), (later, RETRY),
    ):  # fmt: skip
        store.deliveries.commit([Result(claim(store, delivery), verdict)])
    assert again(store, waits).state is State.PENDING
    counts = touched(store, job)
    assert (counts.delivered, counts.failed, counts.waiting) == (1, 2, 1)


def test_after_a_crash_in_mid_page_another_worker_goes_on_and_nothing_is_sent_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relay_web.engine.bulk.PAGE", 4)
    for _ in range(10):
        failed(store)
    job = started(store, wish_for(store, words={Word.FAILED}, pace=10_000))
    first = store.bulk_jobs.take(15.0)
    assert first is not None

    # Given a worker that dies after it sent part of the second page, before it wrote that down
    advanced = store.bulk_jobs.advance
    pages = iter((advanced,))

    def advance_once(*args: Any) -> bool:
        try:
            return next(pages)(*args)
        except StopIteration:
            raise Unavailable from None

    monkeypatch.setattr(store.bulk_jobs, "advance", advance_once)
    with pytest.raises(Unavailable):
        Bulk(store).work(first)
    monkeypatch.setattr(store.bulk_jobs, "advance", advanced)
    assert touched(store, job).queued == 8

    # While its lease holds nobody takes the job; then somebody does and finishes it
    assert store.bulk_jobs.take(15.0) is None
    store.db.bulk_jobs.update_one({"_id": job.id}, {"$set": {"lease_until": store.now()}})
    job = worked_off(store, job)

    assert (job.state, job.matched) == (JobState.DONE, 10)
    assert touched(store, job).queued == 10
    assert set(sent_again(store, job).values()) == {1}
    assert len(sent_again(store, job)) == 10
    assert job.skipped[LeftOut.CHANGED] == 0


def test_a_worker_that_lost_its_job_writes_nothing_and_sends_nothing_twice(store: Store) -> None:
    for _ in range(6):
        failed(store)
    job = started(store, wish_for(store, words={Word.FAILED}, pace=10_000))
    slow = store.bulk_jobs.take(0.0)
    quick = store.bulk_jobs.take(15.0)
    assert slow is not None
    assert quick is not None
    assert not Bulk(store).work(slow)
    assert touched(store, job).queued == 0
    assert not store.bulk_jobs.advance(slow, "x", {})
    assert Bulk(store).work(quick)
    assert set(sent_again(store, job).values()) == {1}


def test_two_workers_at_once_send_each_delivery_once_whatever_the_leases_say(
    store: Store,
) -> None:
    for _ in range(60):
        failed(store)
    job = started(store, wish_for(store, words={Word.FAILED}, pace=10_000))
    wins = []
    gate = threading.Barrier(4)

    def worker() -> None:
        gate.wait()
        held = store.bulk_jobs.take(0.0)  # a lease that anybody may take over at once
        wins.append(held is not None and Bulk(store).work(held))

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not any(wins):
        worked_off(store, job)
    assert sum(map(bool, wins)) <= 1
    assert set(sent_again(store, job).values()) == {1}
    assert len(sent_again(store, job)) == 60


def test_a_stop_keeps_what_is_queued_and_nothing_more_is_sent(store: Store) -> None:
    endpoint = make_endpoint(store, rate_per_second=10)
    for _ in range(6):
        failed(store, endpoint)
    job = started(store, wish_for(store, words={Word.FAILED}))
    held = store.bulk_jobs.take(15.0)
    assert held is not None
    bulk = Bulk(store)
    look_on = store.bulk_jobs.keep
    steps = iter(range(99))

    def keep(*args: Any) -> bool:
        if next(steps) == 1:
            assert store.bulk_jobs.stop(TEAM, job.id, by="Ana")
        return look_on(*args)

    bulk._jobs.keep = keep  # type: ignore[method-assign]
    try:
        assert not bulk.work(held)
    finally:
        del bulk._jobs.keep
    stopped = store.bulk_jobs.get(TEAM, job.id)
    assert (stopped.state, stopped.ended_by) == (JobState.STOPPED, "Ana")
    assert touched(store, job).queued == 1
    assert store.db.deliveries.count_documents({"state": "failed"}) == 5
    assert not store.bulk_jobs.stop(TEAM, job.id, by="Bo")
    assert store.bulk_jobs.take(15.0) is None


def test_recovery_takes_what_failed_since_and_what_still_retries_but_not_what_failed_before(
    store: Store,
) -> None:
    endpoint, other = make_endpoint(store), make_endpoint(store, name="other")
    early = failed(store, endpoint)
    since = store.now() + timedelta(milliseconds=1)
    while store.now() <= since:
        pass
    late, waits = failed(store, endpoint), failed(store, endpoint, RETRY)
    foreign = failed(store, other)
    wish = wish_for(
        store, kind=Kind.FAILED, endpoint=endpoint.id, failed_since=since, words=FAILED
    )  # fmt: skip
    job = worked_off(store, started(store, wish))
    assert touched(store, job).queued == 2
    assert again(store, late).trigger == again(store, waits).trigger == "recover"
    assert again(store, early).state is again(store, foreign).state is State.FAILED


def test_what_an_endpoint_was_never_sent_is_sent_once_and_found_by_its_job(store: Store) -> None:
    publish(store)
    publish(store, type="user.created")
    publish(store, trigger="test")
    late = make_endpoint(store, event_types=("invoice.*",))
    hour_ago = store.now() - timedelta(hours=1)
    wish = wish_for(store, kind=Kind.MISSED, endpoint=late.id, since=hour_ago)
    job = worked_off(store, started(store, wish))
    rows = store.timeline.deliveries(TEAM, Filters(job=job.id)).items
    assert [(row.delivery.type, row.delivery.trigger) for row in rows] == [
        ("invoice.paid", "recover")
    ]
    assert preview(store, wish).queue == 0


def test_the_list_of_a_jobs_deliveries_reads_its_index_and_no_more(store: Store) -> None:
    for _ in range(20):
        make_delivery(store)
    ended = [failed(store) for _ in range(3)]
    job = worked_off(store, started(store, wish_for(store, words={Word.FAILED})))
    query = {"team": TEAM, "jobs": job.id}
    command = {"find": "deliveries", "filter": query, "sort": {"_id": -1}}
    told = store.db.command("explain", command, verbosity="executionStats")["executionStats"]
    assert told["nReturned"] == told["totalKeysExamined"] == len(ended)


def test_a_tempo_lets_so_many_go_a_second_for_each_receiver_and_never_a_burst() -> None:
    now = 0.0
    tempo = Tempo(lambda: now)
    gone: Counter[str] = Counter()
    for step in range(51):
        now = step * 0.25
        for receiver, pace in (("slow", 2), ("fast", 64)):
            gone[receiver] += tempo.allow(receiver, pace, 1000)
    assert (gone["slow"], gone["fast"]) == (26, 801)
    now += 3600
    assert tempo.allow("fast", 64, 1000) == 33
