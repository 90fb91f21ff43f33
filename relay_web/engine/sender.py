"""One attempt: the headers, the signature, the request, and an outcome for whatever comes of it."""

import logging
from typing import Final

import requests

from relay_web.clock import utcnow
from relay_web.domain.causes import Cause, cause_of_status
from relay_web.domain.egress import BLOCKED_CODE, EgressPolicy
from relay_web.domain.headers import check_headers
from relay_web.domain.retry_after import retry_after
from relay_web.domain.signing import sign
from relay_web.domain.target import parse
from relay_web.engine.answer import Answer, phrase
from relay_web.engine.failure import SendFailed
from relay_web.engine.outcome import Outcome, Pairs, Phases, SendOrder
from relay_web.engine.resolver import Resolver
from relay_web.engine.trace import Trace
from relay_web.engine.transport import EndpointRequest, Transport
from relay_web.errors import Invalid

__all__ = ["Outcome", "Phases", "SendOrder", "Sender"]

#: Endpoints whose templates are remembered; the oldest make room.
MAX_TEMPLATES: Final = 4096

log = logging.getLogger(__name__)


class Sender:
    """Sends orders on the hub of the thread that made it. Seconds in, milliseconds out.

    `send` raises nothing for whatever a receiver, a name server or stored data can do; a greenlet's
    own death and a timeout of the caller's pass through and leave nothing half used.
    """

    def __init__(
        self,
        policy: EgressPolicy,
        deadline: float,
        user_agent: str,
        *,
        ca_file: str | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._policy = policy
        #: What requests are sent with, and the session it is mounted in, for whoever sends by hand.
        self.transport = Transport(policy, deadline=deadline, resolver=resolver, ca_file=ca_file)
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.adapters.clear()
        for scheme in ("https://", "http://"):
            self.session.mount(scheme, self.transport)
        self.session.headers.clear()
        self.session.headers.update(
            {"Content-Type": "application/json", "User-Agent": user_agent,
             "Accept-Encoding": "identity"}
        )  # fmt: skip
        self._templates: dict[tuple[str, str, Pairs], EndpointRequest] = {}

    def send(self, order: SendOrder) -> Outcome:
        """One POST of `order.body`, signed now."""
        request: EndpointRequest | None = None
        try:
            request = self.prepared(order)
            return _answered(order, request, self.transport.send(request))
        except SendFailed as failure:
            return _failed(order, request, failure)
        except Exception as fault:
            # Relay's own mistake must cost one attempt, not the worker.
            log.exception("send failed on Relay's side", extra={"delivery": order.delivery_id})
            return _failed(order, request, SendFailed(Cause.INTERNAL, type(fault).__name__))

    def prepared(self, order: SendOrder) -> EndpointRequest:
        """The signed request for `order`; raises `SendFailed` where stored data forbids it."""
        return self._template(order).filled(_headers(order), order.body)

    def close(self) -> None:
        """Close idle connections and the resolver."""
        self.session.close()

    def _template(self, order: SendOrder) -> EndpointRequest:
        key = (order.endpoint_id, order.url, order.headers)
        template = self._templates.get(key)
        if template is None:
            template = self._prepare(order)
            while len(self._templates) >= MAX_TEMPLATES:
                del self._templates[next(iter(self._templates))]
            self._templates[key] = template
        return template

    def _prepare(self, order: SendOrder) -> EndpointRequest:
        """Stored data is checked as if a person had just typed it."""
        try:
            target = parse(order.url, self._policy)
        except Invalid as problem:
            if problem.code == BLOCKED_CODE:
                raise SendFailed(Cause.BLOCKED_ADDRESS, "blocked by address policy") from None
            raise SendFailed(Cause.BAD_URL, problem.message) from None
        try:
            own = check_headers(dict(order.headers))
        except Invalid as problem:
            raise SendFailed(Cause.BAD_REQUEST_HEADER, problem.message) from None
        template = EndpointRequest()
        template.method = "POST"
        template.url = target.url
        template.headers = {**self.session.headers, **dict(own)}  # type: ignore[assignment]
        template.target = target
        template.pool = f"{order.endpoint_id} {target.scheme}://{target.authority}"
        return template


def _headers(order: SendOrder) -> dict[str, str]:
    """The headers that differ from one attempt to the next, signed now."""
    return {
        "Content-Length": str(len(order.body)),
        "webhook-id": order.webhook_id,
        "webhook-timestamp": str(order.timestamp),
        "webhook-signature": sign(
            order.secrets,
            order.webhook_id,
            order.timestamp,
            order.body,
            private_key=order.private_key,
        ),
        "relay-delivery": order.delivery_id,
        "relay-attempt": str(order.attempt),
        "relay-lease-token": str(order.lease_token),
    }


def _answered(order: SendOrder, request: EndpointRequest, answer: Answer) -> Outcome:
    status = answer.status_code
    cause = cause_of_status(status)
    return _outcome(order, request, answer.trace, answer, cause, f"answered {phrase(status)}")


def _failed(order: SendOrder, request: EndpointRequest | None, failure: SendFailed) -> Outcome:
    trace = failure.trace or Trace()
    return _outcome(order, request, trace, failure.answer, failure.cause, failure.reason)


def _outcome(
    order: SendOrder,
    request: EndpointRequest | None,
    trace: Trace,
    answer: Answer | None,
    cause: Cause | None,
    reason: str,
) -> Outcome:
    waits = answer.header_values("retry-after") if answer is not None and cause else ()
    return Outcome(
        ok=cause is None,
        status=answer.status_code if answer is not None else None,
        cause=cause,
        reason=reason,
        retry_after=retry_after(waits, utcnow()) if waits else None,
        phases=Phases.of(trace),
        response_headers=answer.pairs if answer is not None else (),
        response_body=answer.content if answer is not None else b"",
        body_truncated=answer is not None and answer.is_truncated,
        request_headers=request.pairs() if request is not None else (),
        remote_ip=trace.remote_ip,
        tls_version=trace.tls_version,
        url=order.url,
        started=trace.started,
        elapsed_ms=trace.elapsed * 1000,
    )
