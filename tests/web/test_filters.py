"""Filters as they stand in the URL."""

from datetime import UTC, datetime, timedelta

from werkzeug.datastructures import MultiDict

from relay_web.domain.delivery import Word
from relay_web.web.filters import read
from relay_web.web.times import zone_named

NOW = datetime(2026, 12, 1, 14, 0, tzinfo=UTC)


def test_known_values_become_filters_and_a_canonical_query() -> None:
    found = read(
        MultiDict([("state", "failed"), ("state", "held"), ("type", ""), ("cause", "tls_expired")]),
        now=NOW,
        zone=UTC,
    )
    assert found.filters.words == {Word.FAILED, Word.HELD}
    assert found.filters.cause == "tls_expired"
    assert found.query == (("cause", "tls_expired"), ("state", "failed"), ("state", "held"))
    assert found.ignored == ()


def test_a_value_that_makes_no_sense_is_left_out_with_a_note() -> None:
    found = read(
        MultiDict(
            [("state", "lost?"), ("cause", "$where"), ("endpoint", "ep_1[$ne]"), ("type", "a b")]
        ),
        now=NOW,
        zone=UTC,
    )
    assert found.query == ()
    assert len(found.ignored) == 4


def test_a_period_counts_back_from_now_and_a_time_is_in_the_readers_zone() -> None:
    period = read(MultiDict([("period", "24h")]), now=NOW, zone=UTC)
    assert period.filters.since == NOW - timedelta(hours=24)
    exact = read(
        MultiDict([("since", "2026-12-01T10:00")]), now=NOW, zone=zone_named("Europe/Berlin")
    )
    assert exact.filters.since == datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


def test_a_chip_removes_its_own_filter_only() -> None:
    found = read(MultiDict([("state", "failed"), ("endpoint", "ep_1")]), now=NOW, zone=UTC)
    chips = found.chips({"ep_1": "Billing"})
    assert [(chip.text, chip.query) for chip in chips] == [
        ("endpoint: Billing", (("state", "failed"),)),
        ("state: failed", (("endpoint", "ep_1"),)),
    ]
