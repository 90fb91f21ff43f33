"""Numbers out of samples."""

import statistics
from collections.abc import Sequence


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` (0 to 1) of all lie: nearest rank, no interpolation."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(samples: Sequence[float]) -> float:
    return statistics.median(samples)
