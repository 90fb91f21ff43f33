"""What a publisher hands over, and the exact bytes that every endpoint gets."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final

#: Targets one event may have (reliability §1.5 D).
MAX_TARGETS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """One event as it was asked for. `data` is the publisher's own JSON text, byte for byte."""

    type: str
    data: bytes
    timestamp: str | None = None
    id: str | None = None
    idempotency_key: str | None = None
    source: str | None = None
    #: Why its deliveries get their first attempt: `schedule`, or `test` for a test event.
    trigger: str = "schedule"
    #: A test event goes to this endpoint alone, whatever it subscribes to.
    only_endpoint: str | None = None

    def digest(self) -> bytes:
        """SHA-256 over everything the publisher said: two requests are the same if this is."""
        parts = (self.type.encode(), (self.timestamp or "").encode(), (self.id or "").encode())
        return hashlib.sha256(b"\0".join((*parts, self.data))).digest()

    def body(self, accepted_at: datetime) -> bytes:
        """The bytes to sign and send: `{"type":…,"timestamp":…,"data":…}` (Standard Webhooks)."""
        stamp = self.timestamp or iso_millis(accepted_at)
        head = f'{{"type":{json.dumps(self.type)},"timestamp":{json.dumps(stamp)},"data":'
        return b"".join((head.encode(), self.data, b"}"))


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to a publish. `deliveries` counts the endpoints it was fixed for at accept."""

    id: str
    type: str
    deliveries: int
    duplicate: bool
    event: str


def iso_millis(at: datetime) -> str:
    """`2026-12-01T14:02:11.043Z`: UTC with milliseconds."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
