"""One delivery from claim to result: check the lease, send, decide, write down what happened."""

import random
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import gevent

from relay_web.domain.causes import Cause
from relay_web.domain.delivery import Claim
from relay_web.domain.headers import MASK, is_credential
from relay_web.domain.policy import Kind, Verdict, decide, poisonous
from relay_web.engine.endpoint_cache import Target
from relay_web.engine.outcome import Pairs
from relay_web.engine.sender import Outcome, SendOrder
from relay_web.store.clock import DatabaseClock
from relay_web.store.deliveries import Result

Doc = dict[str, Any]

#: Seconds of lease that must be left beyond the send's own deadline before it may begin (I10).
MARGIN: Final = 2.0


class Send(Protocol):
    """The little of a sender that one attempt needs."""

    def send(self, order: SendOrder) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Settled:
    """A result to commit and, where a request may have been made, the attempt to record first."""

    result: Result
    attempt: Doc | None


@dataclass(frozen=True, slots=True)
class Courier:
    """Carries single deliveries. Holds no state of its own."""

    sender: Send
    clock: DatabaseClock
    deadline: float
    schedule: Sequence[float]
    rng: random.Random

    def carry(self, claim: Claim, target: Target | None, body: bytes | None) -> Settled:
        """Send once and decide. Never raises for anything the receiver or the data can do."""
        # Our idea of the database's clock is off by a few milliseconds; the grant was before this.
        began = max(self.clock.now(), claim.granted_at)
        refused = self._refuse(claim, target, body, began)
        if refused is not None or target is None or body is None:
            return Settled(Result(claim, refused or Verdict.release("endpoint unknown")), None)
        order = SendOrder(
            endpoint_id=claim.endpoint,
            url=target.endpoint.url,
            headers=target.opened.headers if target.opened else (),
            secrets=target.signing_keys(began),
            private_key=target.opened.private_key if target.opened else None,
            webhook_id=claim.webhook_id,
            delivery_id=claim.delivery,
            attempt=claim.number,
            lease_token=claim.lease_token,
            body=body,
            timestamp=int(began.timestamp()),
        )
        try:
            outcome = self.sender.send(order)
        except gevent.GreenletExit:
            return self._interrupted(claim, began)
        own = target.endpoint.retry_schedule
        verdict = decide(
            claim,
            status=outcome.status,
            cause=outcome.cause,
            retry_after=outcome.retry_after,
            schedule=self.schedule if own is None else own,
            rng=self.rng,
        )
        return Settled(Result(claim, verdict), _evidence(claim, order, outcome, verdict, began))

    def _interrupted(self, claim: Claim, began: datetime) -> Settled:
        """The send was broken off by our own shutdown: due again at once, not a try (T9)."""
        verdict = Verdict.release("the worker was stopped")
        doc = _frame(claim, began, self.clock.now()) | {
            "verdict": verdict.kind.value,
            "status": None,
            "cause": Cause.INTERRUPTED.value,
            "reason": "interrupted by a worker stop",
            "rule": verdict.rule,
            "delay": 0.0,
            "phases": {},
            "request": {},
            "response": None,
            "remote_ip": None,
            "tls_version": None,
        }
        return Settled(Result(claim, verdict), doc)

    def _refuse(
        self, claim: Claim, target: Target | None, body: bytes | None, now: datetime
    ) -> Verdict | None:
        """Why this claim must not be sent at all, as a verdict; None if it may."""
        if poisonous(claim):
            rule = f"{claim.unresolved - 1} claims in a row ended without a result"
            return Verdict.unsent(Kind.FAILED, Cause.POISON.value, rule)
        if target is None or target.endpoint.deleted_at is not None:
            return Verdict.unsent(Kind.CANCELLED, None, "the endpoint was deleted")
        if hold := target.hold(now):
            return Verdict.release(hold.reason.value)
        if body is None:
            return Verdict.unsent(Kind.FAILED, None, "the payload is past retention")
        left = claim.ends - time.clock_gettime(time.CLOCK_BOOTTIME)
        if left < self.deadline + MARGIN:
            return Verdict.release("too little of the lease was left")
        return None


def _frame(claim: Claim, began: datetime, ended: datetime) -> Doc:
    return {
        "_id": f"{claim.delivery}:{claim.lease_token}",
        "team": claim.team,
        "token": claim.lease_token,
        "lease_id": claim.lease_id,
        "worker": claim.worker,
        "trigger": claim.trigger,
        "number": claim.number,
        "granted_at": claim.granted_at,
        "started_at": began,
        "ended_at": ended,
        "ms": (ended - began) / timedelta(milliseconds=1),
    }


def _evidence(
    claim: Claim, order: SendOrder, outcome: Outcome, verdict: Verdict, began: datetime
) -> Doc:
    ended = began + timedelta(milliseconds=int(outcome.elapsed_ms))
    own_credentials = {name.lower() for name, _ in order.headers if is_credential(name)}
    response = None
    if outcome.status is not None:
        response = {
            "status": outcome.status,
            "headers": outcome.response_headers,
            "body": outcome.response_body,
            "truncated": outcome.body_truncated,
        }
    return _frame(claim, began, ended) | {
        "ms": round(outcome.elapsed_ms, 3),
        "verdict": verdict.kind.value,
        "status": outcome.status,
        "cause": outcome.cause.value if outcome.cause else None,
        "reason": outcome.reason,
        "rule": verdict.rule,
        "delay": verdict.delay,
        "phases": outcome.phases.to_doc(),
        "request": {
            "method": "POST",
            "url": outcome.url,
            "headers": _masked(outcome.request_headers, own_credentials),
            "bytes": len(order.body),
        },
        "response": response,
        "remote_ip": outcome.remote_ip,
        "tls_version": outcome.tls_version,
    }


def _masked(pairs: Pairs, credentials: Collection[str]) -> Sequence[Sequence[str]]:
    """Headers as they may be kept; `credentials` names those whose values may not."""
    if not credentials:
        return pairs
    return [[name, MASK if name.lower() in credentials else value] for name, value in pairs]
