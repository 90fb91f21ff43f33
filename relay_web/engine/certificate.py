"""The dates of a certificate that was refused, so that the person reads when it ran out.

OpenSSL does not hand out a certificate whose verification failed. So it is fetched once more over a
connection that carries nothing else: not one byte of a request is ever written on it.
"""

import ssl
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import gevent
from cryptography import x509
from gevent.ssl import SSLContext

from relay_web.clock import utcnow
from relay_web.domain.target import Target
from relay_web.engine.connection import Connection

#: Seconds, within the deadline of the attempt.
FETCH_WITHIN: Final = 2.0


@dataclass(frozen=True, slots=True)
class Validity:
    """From when until when a certificate holds."""

    begins: datetime
    ends: datetime

    def reason(self) -> str:
        """What is wrong with the dates, in a few words."""
        if self.begins > utcnow():
            return f"certificate not valid before {self.begins:%Y-%m-%d %H:%M} UTC"
        return f"certificate expired on {self.ends:%Y-%m-%d %H:%M} UTC"


def validity(ip: str, target: Target) -> Validity | None:
    """The dates of the certificate that `ip` shows for `target`, or None where it shows none."""
    context: ssl.SSLContext = SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with gevent.Timeout(FETCH_WITHIN, False), suppress(OSError, ValueError):
        opened = Connection.open(ip, target.port, within=FETCH_WITHIN)
        with closing(opened.secure(context, target.host)) as connection:
            return read_validity(connection)
    return None


def read_validity(connection: Connection) -> Validity | None:
    """The dates of the certificate on an open TLS connection."""
    encoded = connection.certificate()
    if encoded is None:
        return None
    certificate = x509.load_der_x509_certificate(encoded)
    return Validity(certificate.not_valid_before_utc, certificate.not_valid_after_utc)
