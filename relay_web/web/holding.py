"""How an endpoint is being sent to, where that is not simply "as fast as it may": in words."""

from datetime import datetime

from relay_web.domain import ramp
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.waiting import endpoint_hold


def pace_told(endpoint: Endpoint, *, now: datetime, readable: bool) -> str:
    """The cool-down, the secret that cannot be read, or the ramp it is in; empty for none.

    A state that holds is told by the page itself.
    """
    if endpoint.state.holds:
        return ""
    if hold := endpoint_hold(endpoint, now=now, readable=readable):
        return hold.sentence
    if endpoint.ramp_step is None:
        return ""
    steps = [f"{share * 100:g} %" for share in ramp.STEPS]
    later = [*steps[endpoint.ramp_step + 1 :], "all of it"]
    return (
        f"Resumed a moment ago: sent at {steps[endpoint.ramp_step]} of its pace, "
        f"{ramp.rate(endpoint):g} a second, then {' and '.join(later)}, as long as it answers."
    )
