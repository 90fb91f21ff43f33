"""A retry schedule as a drawn line: when each attempt comes, and when Relay gives up."""

from collections.abc import Sequence
from dataclasses import dataclass

from relay_web.web.times import rough


@dataclass(frozen=True, slots=True)
class Stop:
    """One attempt: its place (percent), the wait before it, and the time since the first."""

    x: float
    wait: str
    since: str


def stops(delays: Sequence[float]) -> list[Stop]:
    """Every attempt of a schedule, evenly spaced: a scale of hours would hide the seconds."""
    step = 100 / (len(delays) + 1)
    found, total = [Stop(round(step / 2, 2), "", "now")], 0.0
    for place, delay in enumerate(delays, 1):
        total += delay
        found.append(Stop(round(step * (place + 0.5), 2), rough(delay), rough(total)))
    return found
