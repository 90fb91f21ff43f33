"""TLS for `tests.receiver`: contexts that show a good certificate, and each kind of bad one."""

import datetime
import ssl
import warnings
from pathlib import Path

import trustme

PAST = datetime.datetime(2020, 1, 2, 3, 4, tzinfo=datetime.UTC)


class Authority:
    """A certificate authority for one test run. `file` is what a sender is given to trust it."""

    def __init__(self, folder: Path) -> None:
        self._own = trustme.CA()
        self._foreign = trustme.CA()
        self.file = folder / "authority.pem"
        self._own.cert_pem.write_to_path(str(self.file))

    def good(self, *names: str) -> ssl.SSLContext:
        """Trusted, in its dates, for `names` (127.0.0.1 and localhost unless said)."""
        return _context(self._own.issue_cert(*(names or ("127.0.0.1", "localhost"))))

    def wrong_name(self) -> ssl.SSLContext:
        return _context(self._own.issue_cert("elsewhere.example"))

    def expired(self) -> ssl.SSLContext:
        """Ended at `PAST`."""
        begun = PAST - datetime.timedelta(days=1)
        return _context(
            self._own.issue_cert("127.0.0.1", "localhost", not_before=begun, not_after=PAST)
        )

    def unknown_issuer(self) -> ssl.SSLContext:
        return _context(self._foreign.issue_cert("127.0.0.1", "localhost"))

    def self_signed(self, folder: Path) -> ssl.SSLContext:
        """An authority's own certificate, shown as a server's."""
        file = folder / "self-signed.pem"
        self._foreign.private_key_pem.write_to_path(str(file))
        self._foreign.cert_pem.write_to_path(str(file), append=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def old_version(self) -> ssl.SSLContext:
        """Good, but speaks TLS 1.1 at most."""
        context = self.good()
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            # Python calls the old versions deprecated; speaking one is the point here.
            warnings.simplefilter("ignore", DeprecationWarning)
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        return context


def _context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context
