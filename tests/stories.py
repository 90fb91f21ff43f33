"""Deliveries with a past, for pages: each is told in the stored shapes that the engine writes.

Times are set back from now, so nothing here waits. What the database is given by hand is whole
documents only; no delivery is changed behind the store's back.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from relay_web.clock import base62, utcnow
from relay_web.domain.delivery import State, delivery_id
from relay_web.domain.endpoint import Endpoint
from relay_web.store import Store

Doc = dict[str, Any]

_DIGITS = 12


@dataclass
class Teller:
    """Writes stories into one team."""

    store: Store
    team: str
    now: datetime = field(default_factory=utcnow)
    _count: int = 0
    _kept: dict[str, list[Doc]] | None = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything told inside is written at its end, in three inserts instead of thousands."""
        kept: dict[str, list[Doc]] = {"events": [], "attempts": [], "deliveries": []}
        self._kept = kept
        yield
        self._kept = None
        self._write(**kept)

    def event(self, kind: str, data: bytes, *, ago: float, targets: Sequence[str]) -> Doc:
        """An accepted event of the past, fanned out."""
        at = self.now - timedelta(seconds=ago)
        self._count += 1
        millis = int(at.timestamp() * 1000)
        doc: Doc = {
            "_id": f"msg_{base62(millis, 8)}{base62(self._count, _DIGITS)}",
            "team": self.team,
            "type": kind,
            "body": b'{"type":"%s","timestamp":"%s","data":%s}'
            % (kind.encode(), at.isoformat().encode(), data),
            "digest": b"",
            "targets": list(targets),
            "fanout": "done",
            "trigger": "schedule",
            "created_at": at,
        }
        self._write(events=[doc])
        return doc

    def delivery(
        self,
        endpoint: Endpoint,
        *,
        kind: str = "invoice.paid",
        ago: float = 60.0,
        data: bytes = b'{"invoice":"in_1042","amount":4200,"currency":"eur"}',
        state: State = State.DELIVERED,
        tries: Sequence[Doc] = (),
        first_token: int = 1,
        **changes: Any,
    ) -> str:
        """One delivery of a new event with the attempts `tries` describe; returns its id.

        A try is {"at": seconds ago, "ms", "status" or "cause", "worker", …}; tokens count up from
        `first_token`. A try with `lost` (seconds ago) lost its lease then; with `silent` nothing
        came back for it.
        """
        event = self.event(kind, data, ago=ago, targets=[endpoint.id])
        key = delivery_id(event["_id"], endpoint.id)
        attempts, lost, counted = [], [], 0
        for token, told in enumerate(tries, first_token):
            if not told.get("silent"):
                number = counted + 1
                attempts.append(self._attempt(key, event["_id"], endpoint, token, number, told))
            if "lost" in told:
                lost.append(self._lost(token, told))
            else:
                counted += 1
        last = next((a for a in reversed(attempts) if a["lease_id"] not in _ids(lost)), None)
        doc: Doc = {
            "_id": key,
            "team": self.team,
            "event": event["_id"],
            "webhook_id": event["_id"],
            "endpoint": endpoint.id,
            "type": kind,
            "state": state.value,
            "lease_token": len(tries) + first_token - 1,
            "tries": counted,
            "round_tries": counted,
            "unresolved": 0,
            "lost": lost,
            "rev": len(tries) * 2,
            "actions": [],
            "trigger": "schedule",
            "created_at": event["created_at"],
        }
        if state in (State.PENDING, State.LEASED):
            doc |= {"lane": endpoint.id, "due_at": event["created_at"]}
        else:
            doc["finished_at"] = last["ended_at"] if last else self.now
        if last:
            doc["last"] = {
                "status": last["status"],
                "cause": last["cause"],
                "at": last["ended_at"],
                "lease_id": last["lease_id"],
            }
        self._write(attempts=attempts, deliveries=[doc | changes])
        return key

    def at(self, ago: float) -> datetime:
        return self.now - timedelta(seconds=ago)

    def _write(
        self,
        events: Sequence[Doc] = (),
        attempts: Sequence[Doc] = (),
        deliveries: Sequence[Doc] = (),
    ) -> None:
        if self._kept is not None:
            self._kept["events"] += events
            self._kept["attempts"] += attempts
            self._kept["deliveries"] += deliveries
            return
        if events:
            self.store.events.add(list(events))
        if attempts:
            self.store.attempts.record(list(attempts))
        if deliveries:
            self.store.deliveries.open(list(deliveries))

    def _lost(self, token: int, told: Doc) -> Doc:
        return {
            "token": token,
            "worker": told.get("worker", "worker.1"),
            "lease_id": f"lease{token}",
            "granted_at": self.at(told["at"]),
            "at": self.at(told["lost"]),
            "why": told.get("why", "expired"),
        }

    def _attempt(
        self, key: str, webhook_id: str, endpoint: Endpoint, token: int, number: int, told: Doc
    ) -> Doc:
        status, cause = told.get("status"), told.get("cause")
        began, ms = self.at(told["at"]), told.get("ms", 143.0)
        delivered = status is not None and 200 <= status < 300
        response = None
        if status is not None:
            response = {
                "status": status,
                "headers": told.get(
                    "headers", [["Content-Type", "application/json"], ["Server", "nginx"]]
                ),
                "body": told.get(
                    "body", b'{"ok":true}' if delivered else b'{"error":"upstream down"}'
                ),
                "truncated": False,
            }
        return {
            "_id": f"{key}:{token}",
            "team": self.team,
            "token": token,
            "lease_id": f"lease{token}",
            "worker": told.get("worker", "worker.1"),
            "trigger": told.get("trigger", "schedule"),
            "number": number,
            "granted_at": began - timedelta(milliseconds=9),
            "started_at": began,
            "ended_at": began + timedelta(milliseconds=ms),
            "ms": ms,
            "verdict": "delivered" if delivered else told.get("verdict", "retry"),
            "status": status,
            "cause": cause,
            "reason": told.get("reason", f"answered {status}" if status else _words(cause)),
            "rule": told.get("rule", "" if delivered else f"backoff step {number}"),
            "delay": told.get("delay", 0.0),
            "phases": {
                "dns_ms": 4.1, "connect_ms": 11.2, "tls_ms": 24.5, "write_ms": 0.4,
                "wait_ms": max(1.0, ms - 44), "body_ms": 1.8,
            },
            "request": {
                "method": "POST",
                "url": endpoint.url,
                "headers": [
                    ["Host", "hooks.example.com"],
                    ["User-Agent", "Relay/0.1.0"],
                    ["Content-Type", "application/json"],
                    ["webhook-id", webhook_id],
                    ["webhook-timestamp", str(int(began.timestamp()))],
                    ["webhook-signature", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="],
                    ["relay-attempt", str(number)],
                    ["relay-lease-token", str(token)],
                ],
                "bytes": 120,
            },
            "response": response,
            "remote_ip": "203.0.113.80",
            "tls_version": "TLSv1.3",
        }  # fmt: skip


def _ids(lost: Sequence[Doc]) -> set[str]:
    return {entry["lease_id"] for entry in lost}


def _words(cause: str | None) -> str:
    return str(cause).replace("_", " ")
