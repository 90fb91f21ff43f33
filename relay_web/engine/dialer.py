"""From a checked URL to an open connection: resolve, check, connect to what was checked, TLS."""

from typing import Final

from relay_web.domain.causes import Cause
from relay_web.domain.egress import EgressPolicy, address_refusal
from relay_web.domain.target import Target
from relay_web.engine.certificate import validity
from relay_web.engine.connection import Connection, tls_context
from relay_web.engine.failure import SendFailed, network_failure
from relay_web.engine.resolver import Resolver
from relay_web.engine.trace import Phase, Trace

#: Seconds for one address to take the connection, and how many of a name's are tried.
CONNECT_WITHIN: Final = 5.0
MAX_ADDRESSES: Final = 4


class Dialer:
    """Opens connections, to allowed addresses only. Raises nothing but `SendFailed`."""

    def __init__(
        self, policy: EgressPolicy, resolver: Resolver, ca_file: str | None = None
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._tls = tls_context(ca_file)
        #: Look-ups that gave allowed and refused addresses at once: somebody may be trying.
        self.mixed_answers = 0

    def dial(self, target: Target, trace: Trace) -> Connection:
        """A connection that is ready for a request."""
        addresses = self.allowed(target, trace)
        for ip in addresses[:-1]:
            try:
                return self._open(ip, target, trace)
            except SendFailed:
                continue
        return self._open(addresses[-1], target, trace)

    def allowed(self, target: Target, trace: Trace) -> list[str]:
        """The addresses that may be called, at most `MAX_ADDRESSES`.

        Where none may, the failure tells nothing about what was found: no address, no time.
        """
        if target.is_address:
            found: tuple[str, ...] = (target.host,)
        else:
            trace.enter(Phase.DNS)
            found = self._resolver.resolve(target.host)
        good = [ip for ip in found if not address_refusal(ip, target.port, self._policy)]
        if not good:
            trace.forget()
            raise SendFailed(Cause.BLOCKED_ADDRESS, "blocked by address policy")
        if len(good) < len(found):
            self.mixed_answers += 1
        return good[:MAX_ADDRESSES]

    def _open(self, ip: str, target: Target, trace: Trace) -> Connection:
        trace.enter(Phase.CONNECT)
        trace.remote_ip = ip
        try:
            connection = Connection.open(ip, target.port, within=CONNECT_WITHIN)
            if target.scheme == "http":
                return connection
            trace.enter(Phase.TLS)
            return connection.secure(self._tls, target.host)
        except OSError as error:
            failure = network_failure(error)
        if trace.phase is Phase.TLS and failure.cause is Cause.RESET:
            failure = SendFailed(Cause.TLS_FAILURE, "broke off in the TLS handshake")
        if failure.cause is Cause.TLS_EXPIRED:
            dates = validity(ip, target)
            failure.reason = dates.reason() if dates else failure.reason
        raise failure
