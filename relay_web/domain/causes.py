"""Why an attempt did not deliver: one closed list.

The list is what pages filter by, what problems are grouped by, and what the API documents. A cause
is never text from a receiver. `explanations` has a sentence and a next step for each.
"""

from enum import StrEnum
from typing import Final


class Cause(StrEnum):
    # Before anything is sent
    BAD_URL = "bad_url"
    BAD_REQUEST_HEADER = "bad_request_header"
    BLOCKED_ADDRESS = "blocked_address"
    SECRET_UNREADABLE = "secret_unreadable"
    PAYLOAD_MISSING = "payload_missing"
    DNS_FAILURE = "dns_failure"
    DNS_TIMEOUT = "dns_timeout"
    CONNECTION_REFUSED = "connection_refused"
    UNREACHABLE = "unreachable"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS_EXPIRED = "tls_expired"
    TLS_WRONG_NAME = "tls_wrong_name"
    TLS_UNKNOWN_ISSUER = "tls_unknown_issuer"
    TLS_VERSION = "tls_version"
    TLS_FAILURE = "tls_failure"
    TLS_TIMEOUT = "tls_timeout"
    # While the request was under way
    WRITE_TIMEOUT = "write_timeout"
    RESPONSE_TIMEOUT = "response_timeout"
    BODY_TIMEOUT = "body_timeout"
    RESET = "reset"
    CLOSED_EARLY = "closed_early"
    # An answer that is not HTTP
    BAD_RESPONSE = "bad_response"
    TOO_MANY_INTERIM = "too_many_interim"
    HEADERS_TOO_LARGE = "headers_too_large"
    # An answer that is not 2xx
    REDIRECT = "redirect"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    GONE = "gone"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    RATE_LIMITED = "rate_limited"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    # On Relay's side
    LOST = "lost"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"
    ENDPOINT_DELETED = "endpoint_deleted"
    POISON = "poison"
    WORKER_EXHAUSTED = "worker_exhausted"
    INTERNAL = "internal"


_STATUS_CAUSES: Final = {
    401: Cause.UNAUTHORIZED,
    403: Cause.UNAUTHORIZED,
    404: Cause.NOT_FOUND,
    410: Cause.GONE,
    413: Cause.PAYLOAD_TOO_LARGE,
    429: Cause.RATE_LIMITED,
}


def cause_of_status(status: int) -> Cause | None:
    """The cause that a final status stands for; None for 2xx, the only success."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return Cause.REDIRECT
    if 400 <= status < 500:
        return _STATUS_CAUSES.get(status, Cause.CLIENT_ERROR)
    return Cause.SERVER_ERROR if 500 <= status < 600 else Cause.BAD_RESPONSE


class CodeClass(StrEnum):
    """How the last attempt was answered, as lists are narrowed by it."""

    SUCCESS = "2xx"
    REDIRECT = "3xx"
    CLIENT_ERROR = "4xx"
    SERVER_ERROR = "5xx"
    NONE = "none"  #: no HTTP answer at all


def causes_of(code: CodeClass) -> frozenset[Cause]:
    """The causes that an answer of this class is kept under; none for 2xx."""
    if code is CodeClass.NONE:
        answered = frozenset[Cause]().union(*map(causes_of, set(CodeClass) - {code}))
        return frozenset(Cause) - answered
    first = int(code.value[0]) * 100
    found = map(cause_of_status, range(first, first + 100))
    return frozenset(cause for cause in found if cause is not None)
