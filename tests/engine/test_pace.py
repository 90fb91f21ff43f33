"""Limits are shared out among workers and add up; a run of "not now" cools an endpoint down."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest

from relay_web.domain.endpoint import Endpoint
from relay_web.engine.pace import COOL_AFTER, Pace

NOW = datetime(2026, 12, 1, tzinfo=UTC)
ENDPOINT = Endpoint(
    id="ep_1", team="t", url="https://a.example/", name="Billing", created_at=NOW, state_since=NOW
)


@pytest.mark.parametrize("limit", [1, 2, 7, 10])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_the_shares_of_a_concurrency_limit_add_up_to_it(limit: int, workers: int) -> None:
    endpoint = replace(ENDPOINT, max_in_flight=limit)
    shares = []
    for rank in range(workers):
        pace = Pace()
        pace.share_out(rank=rank, workers=workers)
        shares.append(pace.allowance(endpoint, 0))
    assert sum(shares) == limit
    assert max(shares) - min(shares) <= 1


def test_what_is_in_flight_counts_against_the_limit() -> None:
    assert Pace().allowance(replace(ENDPOINT, max_in_flight=5), 3) == 2


def test_a_rate_lets_one_go_and_then_makes_the_next_wait() -> None:
    endpoint = replace(ENDPOINT, rate_per_second=1)
    pace = Pace()
    assert pace.allowance(endpoint, 0) == 1
    pace.spend(endpoint.id, 1)
    assert pace.allowance(endpoint, 0) == 0


def test_a_late_look_is_made_up_for_and_the_next_one_is_known() -> None:
    endpoint = replace(ENDPOINT, rate_per_second=10)
    times = iter([0.0, 0.0, 0.15, 5.0])
    pace = Pace(lambda: next(times))
    pace.spend(endpoint.id, pace.allowance(endpoint, 0))
    assert pace.allowance(endpoint, 0) == 0
    assert pace.ready_in == pytest.approx(0.1)
    pace.look()
    pace.spend(endpoint.id, pace.allowance(endpoint, 0))
    assert pace.allowance(endpoint, 0) == 2
    assert pace.ready_in > 1


def test_without_limits_nothing_is_held_back() -> None:
    assert Pace().allowance(ENDPOINT, 1000) > 1000


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_run_of_not_now_cools_down_for_longer_each_time(status: int) -> None:
    hours = count(0.0, 3600.0)
    pace = Pace(lambda: next(hours))
    waits = [pace.heard("ep_1", status) for _ in range(COOL_AFTER + 8)]
    assert waits[: COOL_AFTER - 1] == [0.0] * (COOL_AFTER - 1)
    assert waits[COOL_AFTER - 1 : COOL_AFTER + 2] == [1.0, 2.0, 4.0]
    assert waits[-1] == 30.0


def test_a_burst_of_refusals_at_once_counts_as_one() -> None:
    pace = Pace(lambda: 100.0)
    assert sum(pace.heard("ep_1", 503) for _ in range(100)) == 1.0


def test_a_newcomer_has_no_share_of_any_limit_until_the_others_must_know_of_it() -> None:
    limited = replace(ENDPOINT, max_in_flight=10), replace(ENDPOINT, rate_per_second=10)
    pace = Pace()
    pace.share_out(rank=1, workers=2, is_new=True)
    assert [pace.allowance(endpoint, 0) for endpoint in limited] == [0, 0]
    assert pace.allowance(ENDPOINT, 0) > 0
    pace.share_out(rank=1, workers=2)
    assert [pace.allowance(endpoint, 0) for endpoint in limited] == [5, 1]


@pytest.mark.parametrize("status", [200, 404, 500, None])
def test_any_other_answer_ends_the_run(status: int | None) -> None:
    pace = Pace()
    for _ in range(COOL_AFTER - 1):
        pace.heard("ep_1", 503)
    pace.heard("ep_1", status)
    assert pace.heard("ep_1", 503) == 0.0
