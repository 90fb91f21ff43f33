"""The requests adapter that Relay sends with: HTTP/1.1 over checked addresses, one deadline in all.

Resolve, check the numeric address, connect to exactly that one, TLS by the URL's name, write, read.
There is no moment between check and connect in which a name could change its meaning. No redirect
is followed, no cookie, proxy, netrc or environment variable is looked at.

A connection that idled may be closed by the receiver while our request is on its way. Then the
request is sent again, once, on a fresh one, and only where it is certain that nobody can have read
it (`Connection.was_ignored`): at-least-once allows no repeat without a cause, and this repeats
nothing. Anything less certain is a failed attempt, and the schedule decides.
"""

from dataclasses import dataclass
from typing import Any, Final

import gevent
from requests import PreparedRequest
from requests.adapters import BaseAdapter

from relay_web.domain.causes import Cause
from relay_web.domain.egress import EgressPolicy
from relay_web.domain.target import Target, parse
from relay_web.engine.answer import Answer
from relay_web.engine.connection import Connection
from relay_web.engine.dialer import Dialer
from relay_web.engine.exchange import converse, message_of
from relay_web.engine.failure import SendFailed, network_failure
from relay_web.engine.keepalive import KeepAlive
from relay_web.engine.resolver import Resolver
from relay_web.engine.trace import Phase, Trace
from relay_web.errors import Invalid

_TIMEOUT_CAUSES: Final = {
    Phase.DNS: (Cause.DNS_TIMEOUT, "looking the name up"),
    Phase.CONNECT: (Cause.CONNECT_TIMEOUT, "connecting"),
    Phase.TLS: (Cause.TLS_TIMEOUT, "in the TLS handshake"),
    Phase.WRITE: (Cause.WRITE_TIMEOUT, "writing the request"),
    Phase.WAIT: (Cause.RESPONSE_TIMEOUT, "waiting for the answer"),
    Phase.BODY: (Cause.BODY_TIMEOUT, "reading the answer's body"),
}


class EndpointRequest(PreparedRequest):
    """A prepared POST to one endpoint: the template that each of its deliveries is copied from."""

    target: Target
    #: Keeps the idle connections of endpoints apart.
    pool: str

    def filled(self, headers: dict[str, str], body: bytes) -> "EndpointRequest":
        """A copy with these headers in front of the endpoint's own."""
        request = EndpointRequest.__new__(EndpointRequest)
        request.__dict__.update(self.__dict__)
        request.headers = {**headers, **self.headers}  # type: ignore[assignment]
        request.body = body
        return request

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The headers as they are sent, in their order."""
        return (("Host", self.target.authority), *self.headers.items())


@dataclass(slots=True)
class _Errand:
    """One request with what it takes along from connection to connection."""

    request: PreparedRequest
    message: bytes
    pool: str
    trace: Trace
    limit: gevent.Timeout


class _HungUpBefore(Exception):
    """The receiver closed the idle connection before the request came to it."""


class Transport(BaseAdapter):
    """Sends on the hub of the thread that made it. Raises nothing but `SendFailed`.

    A caller that is killed, or whose own `gevent.Timeout` fires, leaves nothing half used behind.
    """

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        deadline: float = 15.0,
        resolver: Resolver | None = None,
        ca_file: str | None = None,
    ) -> None:
        super().__init__()
        self._policy = policy
        self._deadline = deadline
        self._resolver = resolver or Resolver()
        self._dialer = Dialer(policy, self._resolver, ca_file)
        self._idle = KeepAlive()

    @property
    def mixed_answers(self) -> int:
        """Look-ups that gave allowed and refused addresses at once: somebody may be trying."""
        return self._dialer.mixed_answers

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> Answer:
        """The final answer, its body read up to the cap; raises `SendFailed`.

        `timeout` is seconds for the whole exchange. The other arguments are requests' own and have
        no effect: certificates are always verified and nothing is proxied.
        """
        trace = Trace()
        limit = gevent.Timeout.start_new(timeout if timeout is not None else self._deadline)
        try:
            try:
                return self._exchange(request, trace, limit)
            except gevent.Timeout as hit:
                if hit is not limit:
                    raise
                raise _timed_out(trace) from None
        except SendFailed as failure:
            failure.trace = trace
            failure.request = request
            raise
        finally:
            limit.close()
            trace.enter(None)

    def close(self) -> None:
        """Close the idle connections and the resolver."""
        self._idle.close()
        self._resolver.close()

    def _exchange(self, request: PreparedRequest, trace: Trace, limit: gevent.Timeout) -> Answer:
        if isinstance(request, EndpointRequest):
            target, pool = request.target, request.pool
        else:
            target = _target_of(request, self._policy)
            pool = f"{target.scheme}://{target.authority}"
        errand = _Errand(request, message_of(request, target), pool, trace, limit)
        idle = self._idle.take(pool)
        if idle is not None:
            idle.mark()
            try:
                return self._over(idle, errand)
            except _HungUpBefore:
                trace.started = False
        return self._over(self._dialer.dial(target, trace), errand)

    def _over(self, connection: Connection, errand: _Errand) -> Answer:
        """One request over one connection, which is kept or closed afterwards."""
        reader, trace = connection.reader, errand.trace
        trace.remote_ip, trace.tls_version = connection.remote_ip, connection.tls_version
        keep = False
        try:
            converse(connection, errand.message, trace)
            keep = reader.is_reusable
        except OSError as error:  # `SendFailed` among them
            if reader.is_untouched and connection.was_ignored(error):
                raise _HungUpBefore from None
            failure = error if isinstance(error, SendFailed) else network_failure(error)
            if not reader.status:
                raise failure from None
            if failure is error:  # what follows the headers is not HTTP
                failure.answer = Answer(errand.request, reader, trace)
                raise
        except gevent.Timeout as hit:
            if hit is not errand.limit or not reader.status:
                raise
            if 200 <= reader.status < 300:
                failure = _timed_out(trace)
                failure.answer = Answer(errand.request, reader, trace)
                raise failure from None
        finally:
            if keep:
                self._idle.put(errand.pool, connection)
            else:
                connection.close()
        return Answer(errand.request, reader, trace)


def _target_of(request: PreparedRequest, policy: EgressPolicy) -> Target:
    try:
        return parse(request.url, policy)
    except Invalid as problem:
        raise SendFailed(Cause.BAD_URL, problem.message) from None


def _timed_out(trace: Trace) -> SendFailed:
    cause, doing = _TIMEOUT_CAUSES[trace.phase or Phase.DNS]
    return SendFailed(cause, f"timed out {doing}")
