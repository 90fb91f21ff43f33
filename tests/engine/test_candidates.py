"""What a worker looks for in a lane: dozens at once, and not what the next worker looks for."""

from datetime import timedelta

import pytest

from relay_web.engine.candidates import ASK, Candidates
from relay_web.engine.pace import Pace
from tests.factories import TEAM, claim, make_delivery, make_endpoint

LATER = timedelta(seconds=2)


def looking(store, rank=0, workers=1):
    """The candidates of worker number `rank` of so many."""
    pace = Pace()
    pace.share_out(rank=rank, workers=workers)
    return Candidates(store.lanes, pace)


@pytest.fixture
def lane(store):
    """An endpoint with 30 due deliveries: its id, and theirs, the oldest first."""
    endpoint = make_endpoint(store)
    return endpoint.id, [make_delivery(store, endpoint).id for _ in range(30)]


def test_a_lane_is_handed_out_a_few_at_a_time_and_the_oldest_first(store, lane):
    name, ids = lane
    one = looking(store)
    now = store.now()
    handed = []
    while found := one.take(name, 8, now=now, lanes=1):
        assert len(found) <= 8
        handed += found
        if len(handed) == len(ids):
            break
    assert handed == ids
    assert not one.has_more(name)


def test_what_was_handed_out_is_not_asked_for_again_while_more_is_known(store, lane):
    name, ids = lane
    one = looking(store)
    one.take(name, 8, now=store.now(), lanes=1)
    for key in ids[8:]:
        claim(store, store.deliveries.get(TEAM, key))
    # Hints all the same: the claim will tell.
    assert one.take(name, 8, now=store.now(), lanes=1) == ids[8:16]
    assert one.has_more(name)


def test_with_very_many_lanes_each_is_asked_for_fewer(store, lane):
    name, _ = lane
    one = looking(store)
    assert len(one.take(name, 3, now=store.now(), lanes=20_000)) == 3
    assert one.has_more(name)
    assert ASK > 3


def test_two_workers_look_for_different_deliveries_of_one_lane(store, lane):
    name, ids = lane
    now = store.now()
    first = looking(store, 0, 2).take(name, 30, now=now, lanes=1)
    second = looking(store, 1, 2).take(name, 30, now=now, lanes=1)
    assert first
    assert second
    assert sorted(first + second) == sorted(ids)


def test_what_another_worker_leaves_lying_is_anybodys_after_a_second(store, lane):
    name, ids = lane
    one = looking(store, 0, 2)
    mine = one.take(name, 30, now=store.now(), lanes=1)
    for key in mine:
        claim(store, store.deliveries.get(TEAM, key))
    assert one.take(name, 30, now=store.now() - LATER, lanes=1) == []
    assert one.take(name, 30, now=store.now() + LATER, lanes=1) == [
        key for key in ids if key not in mine
    ]
