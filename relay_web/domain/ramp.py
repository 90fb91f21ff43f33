"""After a resume an endpoint is not sent its whole backlog at once: 1 %, then 10 %, then all.

Its receiver may have been the reason for the pause. Each step lasts a while without errors; an
error during the ramp starts it again.
"""

from datetime import datetime, timedelta
from typing import Final

from relay_web.domain.endpoint import Endpoint

#: Shares of the endpoint's rate; after the last step the rate is whole.
STEPS: Final = (0.01, 0.1)
#: How long each step lasts.
STEP: Final = timedelta(seconds=10)
#: Sends a second that the shares are taken of where the endpoint has no rate of its own.
UNLIMITED: Final = 100
_SLOWEST: Final = 1.0


def rate(endpoint: Endpoint) -> float | None:
    """Sends a second that the endpoint may have now, over all workers; None is without limit."""
    full = endpoint.rate_per_second
    if endpoint.ramp_step is None:
        return full
    part = max(_SLOWEST, STEPS[endpoint.ramp_step] * (full or UNLIMITED))
    return part if full is None else min(part, full)


def next_step(endpoint: Endpoint, *, now: datetime) -> int | None:
    """The step a success at `now` leads to: the same one, the next, or None for the whole rate."""
    step, since = endpoint.ramp_step, endpoint.ramp_since
    if step is None or since is None or now - since < STEP:
        return step
    return step + 1 if step + 1 < len(STEPS) else None
