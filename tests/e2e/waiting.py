"""Wait for what must become true, instead of for a time that should be enough."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds. Generous: on a loaded machine everything takes a few times longer.
SOON = 30.0
_LOOK_EVERY = 0.02


def eventually(
    look: Callable[[], T | None],
    about: str,
    *,
    within: float = SOON,
    seen: Callable[[], Any] | None = None,
) -> T:
    """What `look` returns as soon as that is true; fails with `about` after `within` seconds.

    `seen` tells what there was instead.
    """
    give_up = time.monotonic() + within
    while not (found := look()):
        if time.monotonic() > give_up:
            instead = f"; instead: {seen()!r}" if seen else ""
            raise AssertionError(f"not within {within:g} s: {about}{instead}")
        time.sleep(_LOOK_EVERY)
    return found
