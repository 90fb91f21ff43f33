"""What an answer means for the endpoint as a whole, beyond the one delivery it settles."""

from collections.abc import Callable
from functools import partial

import gevent
import structlog

from relay_web.domain import ramp
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.policy import Kind
from relay_web.engine.endpoint_cache import EndpointCache
from relay_web.engine.pace import Pace
from relay_web.errors import Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock
from relay_web.store.deliveries import Fate, Result

log = structlog.get_logger(__name__)


class Consequences:
    """Cool-down, outage, ramp, and the end after 410. Each writes only when something changes."""

    def __init__(
        self, store: Store, cache: EndpointCache, pace: Pace, clock: DatabaseClock
    ) -> None:
        self._store, self._cache, self._pace, self._clock = store, cache, pace, clock

    def draw(self, result: Result, fate: Fate) -> None:
        """A request was made and answered, or not; a fenced result says as much of its endpoint."""
        endpoint, verdict = result.claim.endpoint, result.verdict
        if seconds := self._pace.heard(endpoint, verdict.status):
            self._write(endpoint, partial(self._store.endpoint_pace.cool, endpoint, seconds))
        if known := self._cache.peek(endpoint):
            self._outage(known, verdict.kind is Kind.DELIVERED)
            self._ramp(known, verdict.kind is Kind.DELIVERED)
        if verdict.disable_endpoint and fate is Fate.KEPT:
            why = "The endpoint answered 410 Gone"
            self._write(endpoint, partial(self._store.endpoints.disable, endpoint, why))

    def _outage(self, endpoint: Endpoint, well: bool) -> None:
        if well and endpoint.failing_since is not None:
            self._write(endpoint.id, partial(self._store.outages.end, endpoint.id))
        elif not well and endpoint.failing_since is None:
            self._write(endpoint.id, partial(self._store.outages.begin, endpoint.id))

    def _ramp(self, endpoint: Endpoint, well: bool) -> None:
        before = endpoint.ramp_step
        if before is None:
            return
        after = ramp.next_step(endpoint, now=self._clock.now()) if well else 0
        if after != before:
            move = partial(self._store.endpoint_pace.ramp, endpoint.id, before, after)
            self._write(endpoint.id, move)

    def _write(self, endpoint: str, change: Callable[[], object]) -> None:
        """Beside the sends; missed, the next answer asks for it again."""

        def write() -> None:
            try:
                change()
            except Unavailable:
                log.warning("endpoint.change_missed", endpoint=endpoint)
            self._cache.forget(endpoint)

        gevent.spawn(write)
