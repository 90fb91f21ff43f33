"""What a team registered: where to send, what to send there, how fast, and signed with what."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from relay_web.domain.event_type import matches
from relay_web.domain.headers import StoredHeaders

Doc = dict[str, Any]


class EndpointState(StrEnum):
    ACTIVE = "active"  #: deliveries are sent
    PAUSED = "paused"  #: held by a person
    SUSPENDED = "suspended"  #: held by Relay after days of nothing but failures
    DISABLED = "disabled"  #: held because the receiver answered 410 Gone

    @property
    def holds(self) -> bool:
        """Whether deliveries wait instead of being sent; nothing is lost meanwhile."""
        return self is not EndpointState.ACTIVE


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """One signing secret, encrypted by the vault. `expires_at` None: signs until it is rotated."""

    id: str
    sealed: bytes
    created_at: datetime
    expires_at: datetime | None = None

    def is_live(self, now: datetime) -> bool:
        return self.expires_at is None or self.expires_at > now

    @classmethod
    def from_doc(cls, doc: Doc) -> "SealedSecret":
        return cls(doc["id"], doc["sealed"], doc["created_at"], doc["expires_at"])

    def to_doc(self) -> Doc:
        return {
            "id": self.id,
            "sealed": self.sealed,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
        }


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An Ed25519 key: the private half encrypted by the vault, the public one as it is shown."""

    sealed: bytes = field(repr=False)
    public: str

    @classmethod
    def from_doc(cls, doc: Doc) -> "KeyPair":
        return cls(doc["sealed"], doc["public"])

    def to_doc(self) -> Doc:
        return {"sealed": self.sealed, "public": self.public}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One registration. `rev` grows with every change, so a stale edit can be told."""

    id: str
    team: str
    url: str
    name: str
    created_at: datetime
    state: EndpointState = EndpointState.ACTIVE
    state_since: datetime
    state_reason: str | None = None
    #: Exact types or `prefix.*`; empty means every type.
    event_types: tuple[str, ...] = ()
    headers: StoredHeaders = ()
    rate_per_second: int | None = None
    max_in_flight: int | None = None
    ordered: bool = False
    description: str = ""
    #: Newest first; all live ones sign.
    secrets: tuple[SealedSecret, ...] = field(default=(), repr=False)
    #: Signs as `v1a` beside the secrets; None where only they sign.
    key_pair: KeyPair | None = None
    #: Seconds before each retry; None follows the instance's schedule.
    retry_schedule: tuple[float, ...] | None = None
    deleted_at: datetime | None = None
    #: Until then nothing is sent: it answered "busy" several times in a row.
    cool_until: datetime | None = None
    #: The first failure after its last success; None while it answers.
    failing_since: datetime | None = None
    #: Where the ramp after a resume stands (`domain.ramp`); None is the whole rate.
    ramp_step: int | None = None
    ramp_since: datetime | None = None
    rev: int = 0

    def wants(self, event_type: str) -> bool:
        """Whether an event of this type goes here; `invoice.*` takes `invoice.paid` and below."""
        return not self.event_types or any(
            matches(pattern, event_type) for pattern in self.event_types
        )

    def live_secrets(self, now: datetime) -> tuple[SealedSecret, ...]:
        """The secrets that sign at `now` (database time), newest first."""
        return tuple(secret for secret in self.secrets if secret.is_live(now))

    @classmethod
    def from_doc(cls, doc: Doc) -> "Endpoint":
        schedule, key_pair = doc.get("retry_schedule"), doc.get("key_pair")
        return cls(
            id=doc["_id"],
            team=doc["team"],
            url=doc["url"],
            name=doc["name"],
            created_at=doc["created_at"],
            state=EndpointState(doc["state"]),
            state_since=doc["state_since"],
            state_reason=doc.get("state_reason"),
            event_types=tuple(doc.get("event_types", ())),
            headers=tuple((name, value) for name, value in doc.get("headers", ())),
            rate_per_second=doc.get("rate_per_second"),
            max_in_flight=doc.get("max_in_flight"),
            ordered=doc.get("ordered", False),
            description=doc.get("description", ""),
            secrets=tuple(map(SealedSecret.from_doc, doc.get("secrets", ()))),
            key_pair=KeyPair.from_doc(key_pair) if key_pair else None,
            retry_schedule=tuple(schedule) if schedule is not None else None,
            deleted_at=doc.get("deleted_at"),
            cool_until=doc.get("cool_until"),
            failing_since=doc.get("failing_since"),
            ramp_step=doc.get("ramp_step"),
            ramp_since=doc.get("ramp_since"),
            rev=doc.get("rev", 0),
        )

    def to_doc(self) -> Doc:
        """The stored form; what is absent or empty is left out to keep the document small."""
        doc: Doc = {
            "_id": self.id,
            "team": self.team,
            "url": self.url,
            "name": self.name,
            "created_at": self.created_at,
            "state": self.state.value,
            "state_since": self.state_since,
            "secrets": [secret.to_doc() for secret in self.secrets],
            "rev": self.rev,
        }
        optional: Doc = {
            "state_reason": self.state_reason,
            "event_types": list(self.event_types),
            "headers": [list(pair) for pair in self.headers],
            "rate_per_second": self.rate_per_second,
            "max_in_flight": self.max_in_flight,
            "ordered": self.ordered,
            "description": self.description,
            "deleted_at": self.deleted_at,
            "key_pair": self.key_pair and self.key_pair.to_doc(),
        }
        doc |= {key: value for key, value in optional.items() if value}
        if self.retry_schedule is not None:  # an empty one means "never retry", so it is kept
            doc["retry_schedule"] = list(self.retry_schedule)
        return doc
