"""Hourly sums as bars."""

from datetime import UTC, datetime, timedelta

from relay_web.store.rollups import Hour
from relay_web.web.chart import HEIGHT, LEAST, SPANS, draw, first_hour, span_named

NOW = datetime(2026, 12, 1, 14, 30, tzinfo=UTC)
TOP = datetime(2026, 12, 1, 14, 0, tzinfo=UTC)


def hour(back: int, key: str = "ep_1", **counts: int) -> Hour:
    return Hour(key, TOP - timedelta(hours=back), counts)


def test_there_is_a_bar_for_each_of_the_last_24_hours_though_nothing_happened() -> None:
    chart = draw([], NOW)
    assert len(chart.bars) == 24
    assert chart.bars[0].hour == first_hour(NOW) == TOP - timedelta(hours=23)
    assert chart.rate is None
    assert chart.p50 is None
    assert chart.worst is None


def test_hours_of_several_endpoints_are_added_up() -> None:
    chart = draw([hour(0, delivered=3), hour(0, "ep_2", delivered=4, errors=1)], NOW)
    assert chart.bars[-1].arrived == 7
    assert chart.bars[-1].trouble == 1
    assert chart.rate == 87.5
    assert chart.worst == TOP


def test_one_failure_beside_thousands_still_shows_and_nothing_is_higher_than_the_plot() -> None:
    chart = draw([hour(1, delivered=100_000, errors=1)], NOW)
    bar = chart.bars[-2]
    assert bar.trouble_height == LEAST
    assert bar.arrived_height + bar.trouble_height <= HEIGHT


def test_answers_are_listed_by_how_often_they_came() -> None:
    counts = {"delivered": 6, "errors": 4, "status_200": 6, "status_503": 1, "cause_tls_expired": 3}
    chart = draw([hour(0, **counts)], NOW)
    assert [(one.name, one.is_status, one.share) for one in chart.answers] == [
        ("200", True, 60.0),
        ("tls_expired", False, 30.0),
        ("503", True, 10.0),
    ]


def test_a_longer_span_adds_hours_up_to_days_and_loses_none() -> None:
    hours = [hour(back, delivered=1) for back in range(24 * 30)]
    chart = draw(hours, NOW, SPANS["30d"])
    assert [bar.arrived for bar in chart.bars] == [24] * 30
    assert draw(hours, NOW, SPANS["7d"]).arrived == 7 * 24
    assert draw(hours, NOW, SPANS["1h"]).arrived == 2


def test_hours_before_the_span_are_left_out() -> None:
    assert draw([hour(30, delivered=5)], NOW).arrived == 0


def test_a_span_of_no_such_name_is_a_day() -> None:
    assert span_named("1 year").key == span_named(None).key == "24h"
