"""Secrets at rest (signing keys, header credentials): encrypted, and bound to their endpoint.

The first key encrypts, every key decrypts, so a key is replaced by putting the new one in front,
running `rotate` over what is stored, and dropping the old one. The endpoint's id is inside the
ciphertext: a secret that was copied to another endpoint's document does not open there.
"""

import base64
import hashlib
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from relay_web.errors import BadSetting, RelayError


class Unreadable(RelayError):
    """A signing secret cannot be decrypted; put its key back into RELAY_SECRETS_KEY."""

    status = 503
    code = "secret_unreadable"


class Vault:
    """Seals and opens secrets. `keys` are texts of any form, newest first."""

    def __init__(self, keys: Sequence[str]) -> None:
        if not any(keys):
            raise BadSetting("Set RELAY_SECRETS_KEY to a long random text; it encrypts secrets.")
        self._box = MultiFernet([Fernet(_derived(key)) for key in keys if key])

    def seal(self, endpoint_id: str, secret: str) -> bytes:
        """Encrypt `secret` for this endpoint alone."""
        return self._box.encrypt(f"{endpoint_id}\n{secret}".encode())

    def open(self, endpoint_id: str, sealed: bytes) -> str:
        """The secret in clear; raises `Unreadable` for a lost key or another endpoint's secret."""
        try:
            owner, _, secret = self._box.decrypt(sealed).decode().partition("\n")
        except (InvalidToken, UnicodeDecodeError):
            raise Unreadable from None
        if owner != endpoint_id:
            raise Unreadable("This signing secret belongs to another endpoint; rotate it.")
        return secret

    def rotate(self, sealed: bytes) -> bytes:
        """The same secret under the newest key; raises `Unreadable`."""
        try:
            return self._box.rotate(sealed)
        except InvalidToken:
            raise Unreadable from None


def _derived(key: str) -> bytes:
    """A Fernet key out of any text: platforms generate hex strings, people choose words."""
    return base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest())
