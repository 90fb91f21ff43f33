"""Times in words."""

from datetime import UTC, datetime, timedelta

import pytest

from relay_web.web.times import distance, duration, moment, rough, stamp, zone_named

NOW = datetime(2026, 12, 1, 14, 2, 11, 43000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.012, "12 ms"),
        (0.9996, "1000 ms"),
        (1.44, "1.4 s"),
        (5.0, "5 s"),
        (41.2, "41 s"),
        (59.7, "1 min"),
        (312, "5 min 12 s"),
        (7500, "2 h 5 min"),
        (7200, "2 h"),
        (90000, "1 day 1 h"),
        (273600, "3 days 4 h"),
        (-4, "0 s"),
    ],
)
def test_durations_have_at_most_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_lists_get_one_unit() -> None:
    assert [rough(x) for x in (0.4, 8, 245, 7500, 200000)] == [
        "0 s",
        "8 s",
        "4 min",
        "2 h",
        "2 days",
    ]


def test_distances_say_which_side_of_now() -> None:
    assert distance(NOW - timedelta(minutes=4), NOW) == "4 min ago"
    assert distance(NOW + timedelta(minutes=4), NOW) == "in 4 min"
    assert distance(NOW, NOW) == "just now"


def test_an_exact_time_names_its_zone_and_milliseconds() -> None:
    assert moment(NOW, zone_named("Europe/Berlin")) == "1 Dec 2026, 15:02:11.043 CET"
    assert moment(NOW, UTC) == "1 Dec 2026, 14:02:11.043 UTC"
    assert stamp(NOW) == "2026-12-01T14:02:11.043Z"


@pytest.mark.parametrize(
    "name", [None, "", "Mars/Olympus", "../../etc/passwd", "/etc/hosts", "x" * 9000]
)
def test_what_is_no_zone_is_utc(name: str | None) -> None:
    assert zone_named(name) is UTC
