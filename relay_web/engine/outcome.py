"""What a sender is asked to do, and what it reports back."""

from dataclasses import dataclass, field

from relay_web.domain.causes import Cause
from relay_web.engine.trace import Phase, Trace

Pairs = tuple[tuple[str, str], ...]

_FIELDS = {phase: f"{phase.value}_ms" for phase in Phase}


@dataclass(frozen=True, slots=True)
class Phases:
    """Milliseconds by phase; None for one that did not happen, as on a connection used again."""

    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    write_ms: float | None = None
    wait_ms: float | None = None
    body_ms: float | None = None

    @classmethod
    def of(cls, trace: Trace) -> "Phases":
        """The phases that `trace` stopped, to the microsecond."""
        return cls(**{_FIELDS[phase]: round(s * 1000, 3) for phase, s in trace.spent.items()})

    def to_doc(self) -> dict[str, float]:
        """Those that happened, by name."""
        each = [(name, getattr(self, name)) for name in _FIELDS.values()]
        return {name: ms for name, ms in each if ms is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOrder:
    """What to send, to whom, in whose name. `secrets` are decoded keys, the newest first."""

    endpoint_id: str
    url: str
    headers: Pairs = field(default=(), repr=False)
    secrets: tuple[bytes, ...] = field(repr=False)
    webhook_id: str
    delivery_id: str
    attempt: int
    lease_token: int
    body: bytes = field(repr=False)
    #: Unix seconds of this attempt, by the database's clock.
    timestamp: int
    #: The Ed25519 seed of an endpoint that wants `v1a` as well.
    private_key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one attempt ended. `ok` means a 2xx; then `cause` is None, and only then."""

    ok: bool
    status: int | None
    cause: Cause | None
    #: A few plain words, never a receiver's own.
    reason: str
    #: Seconds the receiver asks to wait, 0 to 86,400.
    retry_after: float | None
    phases: Phases
    response_headers: Pairs
    #: The first 16 KiB, undecoded.
    response_body: bytes
    body_truncated: bool
    #: As sent, the real signature included.
    request_headers: Pairs
    #: The address that was called; None where none may be told.
    remote_ip: str | None
    tls_version: str | None
    url: str
    #: Whether bytes of the request may have reached the receiver.
    started: bool
    elapsed_ms: float
