"""Every error of a socket or of TLS has its cause."""

import errno
import ssl

import pytest

from relay_web.domain.causes import Cause
from relay_web.engine.failure import network_failure


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ECONNREFUSED, Cause.CONNECTION_REFUSED),
        (errno.ECONNRESET, Cause.RESET),
        (errno.EPIPE, Cause.RESET),
        (errno.EHOSTUNREACH, Cause.UNREACHABLE),
        (errno.ENETUNREACH, Cause.UNREACHABLE),
        (errno.EACCES, Cause.UNREACHABLE),
        (errno.EMFILE, Cause.WORKER_EXHAUSTED),
        (errno.EADDRNOTAVAIL, Cause.WORKER_EXHAUSTED),
    ],
)
def test_an_error_number_has_its_cause_and_a_few_words(number: int, cause: Cause) -> None:
    failure = network_failure(OSError(number, "Some words"))
    assert (failure.cause, failure.reason) == (cause, "some words")


def test_errors_without_a_cause_of_their_own_have_one_too() -> None:
    assert network_failure(OSError("x")).cause is Cause.UNREACHABLE
    assert network_failure(TimeoutError("timed out")).cause is Cause.CONNECT_TIMEOUT
    assert network_failure(OSError(errno.ETIMEDOUT, "x")).cause is Cause.CONNECT_TIMEOUT


def test_a_tls_error_keeps_openssl_s_reason_in_plain_letters() -> None:
    error = ssl.SSLError(1, "x")
    error.reason = "SSLV3_ALERT_HANDSHAKE_FAILURE"
    failure = network_failure(error)
    assert failure.cause is Cause.TLS_FAILURE
    assert failure.reason == "TLS: sslv3 alert handshake failure"


@pytest.mark.parametrize("words", ["WRONG_VERSION_NUMBER", "UNSUPPORTED_PROTOCOL", "HTTP_REQUEST"])
def test_a_version_error_is_told_apart(words: str) -> None:
    error = ssl.SSLError(1, "x")
    error.reason = words
    assert network_failure(error).cause is Cause.TLS_VERSION
