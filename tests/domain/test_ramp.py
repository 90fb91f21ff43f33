"""After a resume: one per cent, ten per cent, all of it, and back to the start on an error."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from relay_web.domain import ramp
from relay_web.domain.endpoint import Endpoint

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ENDPOINT = Endpoint(
    id="ep_1", team="t", url="https://a.example/", name="Billing", created_at=NOW, state_since=NOW
)


@pytest.mark.parametrize(
    ("full", "step", "rate"),
    [
        (None, None, None),
        (None, 0, 1.0),
        (None, 1, 10.0),
        (500, None, 500),
        (500, 0, 5.0),
        (500, 1, 50.0),
        (2, 0, 1.0),
        (2, 1, 1.0),
    ],
)
def test_the_rate_of_each_step(full: int | None, step: int | None, rate: float | None) -> None:
    assert ramp.rate(replace(ENDPOINT, rate_per_second=full, ramp_step=step)) == rate


def test_a_step_lasts_and_then_leads_to_the_next() -> None:
    resumed = replace(ENDPOINT, ramp_step=0, ramp_since=NOW)
    assert ramp.next_step(resumed, now=NOW) == 0
    assert ramp.next_step(resumed, now=NOW + ramp.STEP) == 1
    last = replace(resumed, ramp_step=len(ramp.STEPS) - 1)
    assert ramp.next_step(last, now=NOW + ramp.STEP) is None
    assert ramp.next_step(ENDPOINT, now=NOW) is None
