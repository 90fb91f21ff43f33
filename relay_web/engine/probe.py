"""What can be said about a URL before it is saved: a hint for the form, never a verdict.

It resolves the name and shakes hands with the receiver. It sends no request, follows nothing, and
what it finds is checked again at every send.
"""

from dataclasses import dataclass
from typing import Final

import gevent

from relay_web.domain.causes import Cause
from relay_web.domain.egress import EgressPolicy
from relay_web.domain.explanations import explain
from relay_web.domain.target import Target, parse, readable_host
from relay_web.engine.certificate import read_validity
from relay_web.engine.dialer import Dialer
from relay_web.engine.failure import SendFailed
from relay_web.engine.resolver import Resolver
from relay_web.engine.trace import Trace
from relay_web.errors import Invalid

#: Seconds until the form is told that it may save without an answer.
PROBE_WITHIN: Final = 3.0


@dataclass(frozen=True, slots=True)
class Hint:
    """`level` is `ok`, `warn` (can be saved) or `bad` (will be refused)."""

    level: str
    sentence: str


def hint(url: object, policy: EgressPolicy, *, within: float = PROBE_WITHIN) -> Hint:
    """What a person should know about `url` now. Never raises, never takes longer than `within`."""
    try:
        target = parse(url, policy)
    except Invalid as problem:
        return Hint("bad", problem.message)
    limit = gevent.Timeout.start_new(within)
    resolver = Resolver()
    try:
        return _visit(target, Dialer(policy, resolver))
    except SendFailed as failure:
        return Hint("warn", _warning(failure, target))
    except gevent.Timeout as hit:
        if hit is not limit:
            raise
        return Hint("warn", "Still checking – you can save anyway.")
    finally:
        limit.close()
        resolver.close()


def _visit(target: Target, dialer: Dialer) -> Hint:
    connection = dialer.dial(target, Trace())
    try:
        dates = read_validity(connection)
    finally:
        connection.close()
    found = "" if target.is_address else "resolves, "
    if dates is None:
        return Hint("ok", f"Looks good: {found}takes connections, without TLS.")
    return Hint("ok", f"Looks good: {found}HTTPS, certificate valid until {dates.ends:%-d %B %Y}.")


def _warning(failure: SendFailed, target: Target) -> str:
    """The cause in words. A blocked name says no more than that, open port or closed."""
    host = readable_host(target.host)
    if failure.cause is Cause.BLOCKED_ADDRESS:
        return f"{host} does not lead to a public address. Relay does not call internal addresses."
    return explain(failure.cause, host=host, detail=failure.reason).sentence
