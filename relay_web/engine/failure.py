"""From what the network and the TLS library raise to a cause from the closed list."""

import errno
import ssl
from typing import TYPE_CHECKING, Final

from requests import RequestException

from relay_web.domain.causes import Cause

if TYPE_CHECKING:
    from relay_web.engine.answer import Answer
    from relay_web.engine.trace import Trace

_ERRNO_CAUSES: Final = {
    errno.ECONNREFUSED: Cause.CONNECTION_REFUSED,
    errno.ECONNRESET: Cause.RESET,
    errno.ECONNABORTED: Cause.RESET,
    errno.EPIPE: Cause.RESET,
    # The worker's own shortage says nothing about the receiver.
    errno.EMFILE: Cause.WORKER_EXHAUSTED,
    errno.ENFILE: Cause.WORKER_EXHAUSTED,
    errno.ENOBUFS: Cause.WORKER_EXHAUSTED,
    errno.ENOMEM: Cause.WORKER_EXHAUSTED,
    errno.EADDRNOTAVAIL: Cause.WORKER_EXHAUSTED,
}

#: OpenSSL's X509_V_ERR numbers, as `SSLCertVerificationError.verify_code` has them.
_CERTIFICATE_CAUSES: Final = {
    9: Cause.TLS_EXPIRED,  # not yet valid
    10: Cause.TLS_EXPIRED,
    2: Cause.TLS_UNKNOWN_ISSUER,
    18: Cause.TLS_UNKNOWN_ISSUER,  # self-signed
    19: Cause.TLS_UNKNOWN_ISSUER,  # self-signed in the chain
    20: Cause.TLS_UNKNOWN_ISSUER,
    21: Cause.TLS_UNKNOWN_ISSUER,
    62: Cause.TLS_WRONG_NAME,
    64: Cause.TLS_WRONG_NAME,  # of an address
}

#: Words in OpenSSL's reasons that mean the two sides share no version, or one speaks no TLS.
_VERSION_WORDS: Final = ("PROTOCOL", "VERSION", "HTTP_REQUEST")


class SendFailed(RequestException):
    """A request got no usable answer. `answer` is set where a final status came all the same."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause
        self.reason = reason
        self.trace: Trace | None = None
        self.answer: Answer | None = None


def network_failure(error: OSError) -> SendFailed:
    """What an error of a socket or of the TLS layer means."""
    if isinstance(error, ssl.SSLCertVerificationError):
        cause = _CERTIFICATE_CAUSES.get(error.verify_code, Cause.TLS_FAILURE)
        return SendFailed(cause, f"certificate refused: {error.verify_message.rstrip('.')}")
    if isinstance(error, ssl.SSLError):
        why = error.reason or "handshake failed"
        is_version = any(word in why for word in _VERSION_WORDS)
        cause = Cause.TLS_VERSION if is_version else Cause.TLS_FAILURE
        return SendFailed(cause, f"TLS: {why.replace('_', ' ').lower()}")
    if isinstance(error, TimeoutError):
        return SendFailed(Cause.CONNECT_TIMEOUT, "no answer to the connection request")
    cause = _ERRNO_CAUSES.get(error.errno or 0, Cause.UNREACHABLE)
    return SendFailed(cause, (error.strerror or "network error").lower())
