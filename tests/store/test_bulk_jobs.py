"""Who may write to a bulk job, and what sending many again writes to their deliveries."""

from datetime import UTC, datetime
from typing import Any

import pytest

from relay_web.clock import new_id
from relay_web.domain.bulk import JobState, Kind, LeftOut
from relay_web.domain.causes import CodeClass
from relay_web.domain.delivery import Delivery, State, Word
from relay_web.domain.policy import Verdict
from relay_web.errors import NotFound
from relay_web.store import Store
from relay_web.store.bulk_jobs import BulkJob, Wish
from relay_web.store.deliveries import Result
from relay_web.store.timeline import Filters
from tests.factories import OTHER_TEAM, TEAM, again, claim, make_delivery

FILTERS = Filters(
    words=frozenset({Word.FAILED}), type="invoice.paid", ids=("dlv_1", "dlv_2"), lost=True,
    since=datetime(2026, 12, 1, tzinfo=UTC), code=CodeClass.SERVER_ERROR,
)  # fmt: skip


def job(store: Store, *, matched: int = 9, **skipped: int) -> BulkJob:
    now = store.now()
    wish = Wish(team=TEAM, kind=Kind.RETRY, filters=FILTERS, as_of=now, pace=5)
    return store.bulk_jobs.start(
        wish, action_id=new_id("act"), by="Ana", matched=matched, at_least=False,
        skipped={LeftOut(name): count for name, count in skipped.items()}, now=now,
    )  # fmt: skip


def taken(store: Store, seconds: float = 15.0) -> BulkJob:
    held = store.bulk_jobs.take(seconds)
    assert held is not None
    return held


def ended(store: Store, verdict: Verdict) -> Delivery:
    delivery = make_delivery(store)
    store.deliveries.commit([Result(claim(store, delivery), verdict)])
    return again(store, delivery)


def test_a_job_comes_back_as_it_was_stored_filter_and_all(store: Store) -> None:
    made = job(store, delivered=2)
    found = store.bulk_jobs.get(TEAM, made.id)
    assert found == made
    assert found.wish.filters == FILTERS
    with pytest.raises(NotFound):
        store.bulk_jobs.get(OTHER_TEAM, made.id)


def test_a_job_is_taken_by_one_and_by_another_once_the_lease_is_over(store: Store) -> None:
    job(store)
    first = taken(store)
    assert store.bulk_jobs.take(15.0) is None
    store.bulk_jobs.release(first)
    second = taken(store)
    assert second.lease != first.lease
    for write in (
        lambda: store.bulk_jobs.keep(first, 15.0),
        lambda: store.bulk_jobs.advance(first, "dlv_9", {}),
        lambda: store.bulk_jobs.finish(first, queued=9),
    ):
        assert not write()
    assert store.bulk_jobs.keep(second, 15.0)


def test_advancing_adds_up_and_finishing_accounts_for_every_delivery(store: Store) -> None:
    made = job(store, matched=9, delivered=2)
    held = taken(store)
    for place in ("dlv_1", "dlv_2"):
        assert store.bulk_jobs.advance(held, place, {LeftOut.HELD: 1, LeftOut.CHANGED: 1})
    assert store.bulk_jobs.finish(held, queued=2)
    found = store.bulk_jobs.get(TEAM, made.id)
    assert (found.state, found.position) == (JobState.DONE, "dlv_2")
    # Two of the nine were never seen: they moved on before the job came to them.
    assert found.skipped == {LeftOut.DELIVERED: 2, LeftOut.HELD: 2, LeftOut.CHANGED: 3}
    assert sum(found.skipped.values()) + 2 == found.matched


def test_a_stop_is_of_the_team_and_ends_the_right_of_the_worker(store: Store) -> None:
    made = job(store)
    held = taken(store)
    assert not store.bulk_jobs.stop(OTHER_TEAM, made.id, by="Eve")
    assert store.bulk_jobs.running(TEAM) == [made.id]
    assert store.bulk_jobs.stop(TEAM, made.id, by="$$NOW")
    assert not store.bulk_jobs.keep(held, 15.0)
    assert store.bulk_jobs.get(TEAM, made.id).ended_by == "$$NOW"
    assert store.bulk_jobs.running(TEAM) == []


@pytest.mark.parametrize(
    ("verdict", "once"),
    [
        (Verdict.failed(500, "server_error", "after 8 attempts"), False),
        (Verdict.retry(503, "server_error", 3600.0, "backoff step 1 of 7"), False),
        (Verdict.delivered(200), False),
    ],
    ids=["failed", "retrying", "delivered"],
)
def test_many_are_sent_again_by_one_guarded_write_each(
    store: Store, verdict: Verdict, once: Any
) -> None:
    before = ended(store, verdict)
    assert store.deliveries.retry_many([before], job="job_1", by="Ana", trigger="bulk") == {
        before.id
    }
    after = again(store, before)
    assert (after.state, after.trigger, after.once) == (State.PENDING, "bulk", once)
    assert after.lease_token == before.lease_token + 1
    assert after.due_at is not None
    assert after.due_at <= store.now()
    store.deliveries.retry_many([before, after], job="job_1", by="Ana", trigger="bulk")
    assert len(again(store, before).actions) == 1
    store.deliveries.retry_many([after], job="job_2", by="Ana", trigger="bulk")
    assert store.db.deliveries.find_one({"_id": after.id})["jobs"] == ["job_1", "job_2"]  # type: ignore[index]


def test_one_that_moved_on_since_it_was_read_is_left_as_it_is(store: Store) -> None:
    failed = ended(store, Verdict.failed(500, "server_error", "after 8 attempts"))
    store.deliveries.retry(TEAM, failed.id, action_id="quicker", by="Bo")
    done = store.deliveries.retry_many([failed], job="job_1", by="Ana", trigger="bulk")
    assert done == set()
    assert [action.id for action in again(store, failed).actions] == ["quicker"]
