"""Retry-After in every form that receivers send it (case C09)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay_web.domain.retry_after import LONGEST, retry_after

NOW = datetime(2026, 10, 21, 7, 27, 54, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        (["3"], 3.0),
        (["0"], 0.0),
        ([" 120 "], 120.0),
        (["007"], 7.0),
        (["Wed, 21 Oct 2026 07:28:00 GMT"], 6.0),
        (["Wednesday, 21-Oct-26 07:28:00 GMT"], 6.0),
        (["Wed Oct 21 07:28:00 2026"], 6.0),
        (["99999999999"], LONGEST),
        (["9" * 5000], LONGEST),
        (["Wed, 21 Oct 2099 07:28:00 GMT"], LONGEST),
        (["Wed, 21 Oct 2026 06:28:00 GMT"], None),
        (["-5"], None),
        (["+5"], None),
        (["1.5"], None),
        (["1e3"], None),
        (["abc"], None),
        ([""], None),
        (["٣"], None),
        (["²"], None),
        (["Wed, 99 Oct 2026 07:28:00 GMT"], None),
        (["Wed, 21 Oct 99999 07:28:00 GMT"], None),
        (["3, 5"], None),
        ([], None),
        (["3", "10"], 10.0),
        (["abc", "10"], 10.0),
        (["3", "Wed, 21 Oct 2026 07:28:00 GMT"], 6.0),
    ],
)
def test_retry_after_is_seconds_or_nothing(values: list[str], seconds: float | None) -> None:
    assert retry_after(values, NOW) == seconds


@given(st.lists(st.text(max_size=50) | st.from_regex(r"[A-Z][a-z]{2}, .{0,40}"), max_size=3))
def test_any_text_is_a_wait_within_a_day_or_none(values: list[str]) -> None:
    wait = retry_after(values, NOW)
    assert wait is None or timedelta(0) <= timedelta(seconds=wait) <= timedelta(days=1)
