"""Endpoints as the worker sees them: at most a second old, secrets opened when they change."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from relay_web.domain.endpoint import Endpoint
from relay_web.domain.unsealing import Opened, unseal
from relay_web.domain.vault import Vault
from relay_web.domain.waiting import Wait, endpoint_hold
from relay_web.store.endpoints import Endpoints

#: Seconds an endpoint may be used without reading it again: a change counts within a second (C11).
FRESH: Final = 1.0


@dataclass(slots=True)
class Target:
    """One endpoint, ready to be sent to. `opened` is None when something sealed cannot be read."""

    endpoint: Endpoint
    opened: Opened | None
    read_at: float = field(default=0.0)

    def hold(self, now: datetime) -> Wait | None:
        """What keeps everything of this endpoint from being sent at `now`, or None."""
        return endpoint_hold(self.endpoint, now=now, readable=self.opened is not None)

    def signing_keys(self, now: datetime) -> tuple[bytes, ...]:
        """Keys that sign at `now`, newest first."""
        keys = self.opened.keys if self.opened else ()
        return tuple(key for key, ends in keys if ends is None or ends > now)


class EndpointCache:
    """Loads in batches what is missing or stale. Not shared between processes."""

    def __init__(self, endpoints: Endpoints, vault: Vault) -> None:
        self._endpoints = endpoints
        self._vault = vault
        self._targets: dict[str, Target] = {}

    def get(self, ids: Iterable[str]) -> dict[str, Target]:
        """Targets by id; an id that names no endpoint is left out. Raises `Unavailable`."""
        wanted = list(ids)
        now = time.monotonic()
        oldest = now - FRESH
        known = self._targets
        # Taken out before the read: `forget` may come while it waits, and what is left out here
        # counts as deleted.
        got = {key: known[key] for key in wanted if key in known and known[key].read_at >= oldest}
        stale = [key for key in wanted if key not in got]
        if stale:
            found = self._endpoints.load(stale)
            for key in stale:
                before = known.pop(key, None)
                if endpoint := found.get(key):
                    got[key] = known[key] = Target(endpoint, self._open(endpoint, before), now)
        return got

    def peek(self, endpoint: str) -> Endpoint | None:
        """The endpoint as it was last read, or None if it is not known here."""
        target = self._targets.get(endpoint)
        return None if target is None else target.endpoint

    def forget(self, endpoint: str) -> None:
        """Read this one again at the next use."""
        self._targets.pop(endpoint, None)

    def _open(self, endpoint: Endpoint, before: Target | None) -> Opened | None:
        if before is not None and _sealed(before.endpoint) == _sealed(endpoint):
            return before.opened
        return unseal(self._vault, endpoint)


def _sealed(endpoint: Endpoint) -> tuple[object, ...]:
    return endpoint.secrets, endpoint.headers, endpoint.key_pair
