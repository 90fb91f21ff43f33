"""What each cause means to a person: one plain sentence, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from relay_web.domain.causes import Cause


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a person reads. Both texts are whole sentences."""

    sentence: str
    next_step: str
    #: The receiver may have acted on the request although Relay saw no success.
    may_have_been_processed: bool = False


def explain(
    cause: Cause, *, host: str = "The endpoint", status: int | None = None, detail: str = ""
) -> Explanation:
    """`cause` in words about `host`, with the status the receiver answered where there was one.

    `detail` is the outcome's `reason`; it is told where it says more than the sentence does, such
    as the day on which a certificate ran out.
    """
    found = EXPLANATIONS[cause]
    sentence = found.sentence.format(host=host, status=status or "an error status")
    if detail and cause in _TELL_DETAIL:
        sentence = f"{sentence.removesuffix('.')} ({detail.removesuffix('.')})."
    return Explanation(sentence, found.next_step, found.may_have_been_processed)


_TELL_DETAIL: Final = frozenset({
    Cause.BAD_URL,
    Cause.BAD_REQUEST_HEADER,
    Cause.UNREACHABLE,
    Cause.TLS_EXPIRED,
    Cause.TLS_FAILURE,
    Cause.TLS_VERSION,
    Cause.BAD_RESPONSE,
    Cause.WORKER_EXHAUSTED,
})  # fmt: skip

_RETRIES: Final = "Relay retries on schedule; press Retry now once it is fixed."
_MAYBE: Final = True

#: Sentences are templates over `host` and `status`. The step says what the team can do.
EXPLANATIONS: Final[Mapping[Cause, Explanation]] = MappingProxyType({
    Cause.BAD_URL: Explanation(
        "The endpoint's URL breaks this instance's rules for destinations.",
        "Edit the endpoint; the form says what is wrong with the URL.",
    ),
    Cause.BAD_REQUEST_HEADER: Explanation(
        "One of the endpoint's own headers cannot be sent.",
        "Edit the endpoint; the form names the header.",
    ),
    Cause.BLOCKED_ADDRESS: Explanation(
        "Blocked by address policy: {host} is not a destination that this instance may call.",
        "Use a public address, or ask the operator about RELAY_EGRESS_ALLOW.",
    ),
    Cause.SECRET_UNREADABLE: Explanation(
        "The endpoint's signing secret cannot be decrypted, so its deliveries are held.",
        "Restore the key in RELAY_SECRETS_KEY, or rotate the endpoint's secret.",
    ),
    Cause.PAYLOAD_MISSING: Explanation(
        "The event's payload is no longer stored, so there was nothing to send.",
        "Publish the event again.",
    ),
    Cause.DNS_FAILURE: Explanation(
        "The name {host} does not resolve to an address.",
        f"Check the spelling and the DNS records. {_RETRIES}",
    ),
    Cause.DNS_TIMEOUT: Explanation(
        "The name servers for {host} did not answer in time.",
        f"Check the domain's name servers. {_RETRIES}",
    ),
    Cause.CONNECTION_REFUSED: Explanation(
        "{host} refused the connection: nothing listens on that port.",
        f"Start the receiver, or correct the port. {_RETRIES}",
    ),
    Cause.UNREACHABLE: Explanation(
        "There is no network route to {host}.",
        f"Check the host's network and firewall. {_RETRIES}",
    ),
    Cause.CONNECT_TIMEOUT: Explanation(
        "{host} did not take the connection in time.",
        f"Check that a firewall does not drop it and that the host is up. {_RETRIES}",
    ),
    Cause.TLS_EXPIRED: Explanation(
        "The certificate of {host} is outside its dates.",
        f"Renew the certificate. {_RETRIES}",
    ),
    Cause.TLS_WRONG_NAME: Explanation(
        "The certificate that {host} showed is for another name.",
        f"Serve a certificate that names this host, or correct the URL. {_RETRIES}",
    ),
    Cause.TLS_UNKNOWN_ISSUER: Explanation(
        "The certificate of {host} comes from an issuer that is not trusted.",
        "Serve the full chain of a public authority, "
        f"or have the operator add your own authority. {_RETRIES}",
    ),
    Cause.TLS_VERSION: Explanation(
        "{host} and Relay share no TLS version; Relay needs 1.2 or newer.",
        f"Enable TLS 1.2 or 1.3 on the receiver, and check that the port speaks TLS. {_RETRIES}",
    ),
    Cause.TLS_FAILURE: Explanation(
        "The TLS handshake with {host} failed.",
        f"Check the receiver's TLS settings and log. {_RETRIES}",
    ),
    Cause.TLS_TIMEOUT: Explanation(
        "{host} did not finish the TLS handshake in time.",
        f"Check that the port speaks TLS and is not overloaded. {_RETRIES}",
    ),
    Cause.WRITE_TIMEOUT: Explanation(
        "{host} did not take the whole request in time.",
        f"Check that the receiver reads its requests. {_RETRIES}",
        _MAYBE,
    ),
    Cause.RESPONSE_TIMEOUT: Explanation(
        "{host} took the request but did not answer in time.",
        f"Answer 2xx first and do the work afterwards. {_RETRIES}",
        _MAYBE,
    ),
    Cause.BODY_TIMEOUT: Explanation(
        "{host} answered {status} but did not finish its body in time.",
        f"End the answer at once; its body is not needed. {_RETRIES}",
        _MAYBE,
    ),
    Cause.RESET: Explanation(
        "{host} broke the connection off before it answered.",
        f"Look for a crash or a proxy limit in the receiver's log. {_RETRIES}",
        _MAYBE,
    ),
    Cause.CLOSED_EARLY: Explanation(
        "{host} closed the connection without a whole answer.",
        f"Look for a crash or a proxy limit in the receiver's log. {_RETRIES}",
        _MAYBE,
    ),
    Cause.BAD_RESPONSE: Explanation(
        "{host} answered with something that is not valid HTTP.",
        f"Check that the port speaks HTTP and what stands in front of it. {_RETRIES}",
        _MAYBE,
    ),
    Cause.TOO_MANY_INTERIM: Explanation(
        "{host} sent more than 5 interim (1xx) answers and no final one.",
        f"Answer with one final status. {_RETRIES}",
        _MAYBE,
    ),
    Cause.HEADERS_TOO_LARGE: Explanation(
        "{host} answered with more headers than Relay reads (100 lines or 64 KiB).",
        f"Send fewer headers. {_RETRIES}",
        _MAYBE,
    ),
    Cause.REDIRECT: Explanation(
        "{host} answered {status}. Relay does not follow redirects, since they can lead anywhere.",
        "Enter the final URL in the endpoint.",
    ),
    Cause.UNAUTHORIZED: Explanation(
        "{host} answered {status}: it does not let Relay in.",
        f"Check the endpoint's headers and the secret that the receiver verifies with. {_RETRIES}",
    ),
    Cause.NOT_FOUND: Explanation(
        "{host} answered 404: there is nothing at this path.",
        f"Correct the path in the endpoint's URL. {_RETRIES}",
    ),
    Cause.GONE: Explanation(
        "{host} answered 410 Gone, so Relay disabled the endpoint.",
        "Enable the endpoint again if it should still receive events.",
    ),
    Cause.PAYLOAD_TOO_LARGE: Explanation(
        "{host} answered 413: the event is larger than it takes.",
        f"Raise the receiver's body limit above 256 KiB. {_RETRIES}",
    ),
    Cause.RATE_LIMITED: Explanation(
        "{host} answered 429: it is getting requests too fast.",
        "Relay waits as long as Retry-After asks; set the endpoint's rate to what it can take.",
    ),
    Cause.CLIENT_ERROR: Explanation(
        "{host} answered {status}: it does not accept the request.",
        f"See the answer's body for the reason. {_RETRIES}",
    ),
    Cause.SERVER_ERROR: Explanation(
        "{host} answered {status}: it failed to handle the request.",
        f"Look at the receiver's log for the time of the attempt. {_RETRIES}",
    ),
    Cause.LOST: Explanation(
        "The worker stopped reporting, so the outcome of this attempt is unknown.",
        "Nothing to do; another worker took the delivery over.",
        _MAYBE,
    ),
    Cause.INTERRUPTED: Explanation(
        "The worker was shut down while the request was under way.",
        "Nothing to do; the delivery was handed to another worker.",
        _MAYBE,
    ),
    Cause.CANCELLED: Explanation(
        "The delivery was cancelled.",
        "Use Send again if it should be delivered after all.",
        _MAYBE,
    ),
    Cause.ENDPOINT_DELETED: Explanation(
        "The endpoint was deleted, so nothing more is sent to it.",
        "Create the endpoint again for future events.",
    ),
    Cause.POISON: Explanation(
        "Worker after worker stopped while it held this delivery, so Relay set it aside.",
        "Look at the workers' logs, then press Send again.",
        _MAYBE,
    ),
    Cause.WORKER_EXHAUSTED: Explanation(
        "The worker ran out of sockets or memory before it could send.",
        "Ask the operator to lower RELAY_CONCURRENCY or raise the limits of the process.",
    ),
    Cause.INTERNAL: Explanation(
        "Relay failed to make this request; the fault is on its side.",
        "Report it with the delivery's id; Relay retries on schedule.",
    ),
})  # fmt: skip
