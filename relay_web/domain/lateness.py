"""Whose word counted when a late one came."""

from collections.abc import Iterable
from typing import Protocol

from relay_web.domain.delivery import Delivery, Lost


class Held(Protocol):
    """Anything that names a token and the worker that held it."""

    @property
    def token(self) -> int: ...
    @property
    def worker(self) -> str: ...


def by_then(loss: Lost | None, delivery: Delivery, attempts: Iterable[Held]) -> str:
    """What had become of the lost lease, in half a sentence that names who held the next token.

    Empty where no lease was lost.
    """
    if loss is None:
        return ""
    ended = f"its lease had ended ({loss.why})"
    later = [(one.token, one.worker) for one in (*attempts, *delivery.lost)]
    if delivery.lease:
        later.append((delivery.lease_token, delivery.lease.worker))
    newer = min((holder for holder in later if holder[0] > loss.token), default=None)
    return f"{ended} and {newer[1]} held token {newer[0]}" if newer else ended
