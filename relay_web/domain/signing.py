"""Standard Webhooks signatures: `v1` (HMAC-SHA256) always, `v1a` (Ed25519) where it is wanted.

Our own few lines, because the published library signs a time with an offset wrongly and cannot do
`v1a`; the libraries verify what we made, in the tests.
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from secrets import token_bytes
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from relay_web.errors import Invalid

SECRET_PREFIX: Final = "whsec_"
PRIVATE_PREFIX: Final = "whsk_"
PUBLIC_PREFIX: Final = "whpk_"
#: Bytes of a secret: what Relay makes, and what it takes from elsewhere.
NEW_SECRET: Final = 32
SHORTEST: Final = 24
LONGEST: Final = 64
#: Keys that sign one delivery, the newest first.
MAX_KEYS: Final = 5

_RULE: Final = (
    f'Write the secret as "{SECRET_PREFIX}" and the standard base64 of '
    f"{SHORTEST} to {LONGEST} random bytes."
)


def new_secret() -> str:
    """A fresh signing secret, `whsec_…`."""
    return SECRET_PREFIX + b64encode(token_bytes(NEW_SECRET)).decode()


def decode_secret(text: str) -> bytes:
    """The key bytes behind `whsec_…`; raises `Invalid` (field `secret`) with the rule.

    Standard base64 with its padding, as the receivers' libraries read it: the URL-safe alphabet
    would decode to other bytes there.
    """
    if not text.startswith(SECRET_PREFIX):
        raise Invalid(_RULE, field="secret")
    encoded = text.removeprefix(SECRET_PREFIX)
    try:
        key = b64decode(encoded, validate=True)
    except (NotBase64, ValueError):
        raise Invalid(_RULE, field="secret") from None
    if not SHORTEST <= len(key) <= LONGEST or b64encode(key).decode() != encoded:
        raise Invalid(_RULE, field="secret")
    return key


def sign(
    keys: Sequence[bytes],
    webhook_id: str,
    timestamp: int,
    body: bytes,
    *,
    private_key: bytes | None = None,
) -> str:
    """The `webhook-signature` header: one entry a key in the order given, single spaces between.

    `timestamp` is Unix seconds, of this attempt. `private_key` (the 32 byte Ed25519 seed) adds a
    `v1a` entry at the end, which the published libraries skip.
    """
    message = f"{webhook_id}.{timestamp}.".encode() + body
    entries = [
        f"v1,{b64encode(hmac.digest(key, message, 'sha256')).decode()}" for key in keys[:MAX_KEYS]
    ]
    if private_key is not None:
        signature = Ed25519PrivateKey.from_private_bytes(private_key).sign(message)
        entries.append(f"v1a,{b64encode(signature).decode()}")
    return " ".join(entries)


def new_private_key() -> str:
    """A fresh Ed25519 key, `whsk_…`: base64 of the seed and the public key, 64 bytes."""
    seed = token_bytes(32)
    return PRIVATE_PREFIX + b64encode(seed + _public_bytes(seed)).decode()


def decode_private_key(text: str) -> bytes:
    """The 32 byte seed behind `whsk_…`; raises `Invalid` (field `private_key`)."""
    try:
        pair = b64decode(text.removeprefix(PRIVATE_PREFIX), validate=True)
    except (NotBase64, ValueError):
        pair = b""
    if (
        not text.startswith(PRIVATE_PREFIX)
        or len(pair) != 64
        or _public_bytes(pair[:32]) != pair[32:]
    ):
        raise Invalid(
            f'Write the key as "{PRIVATE_PREFIX}" and the base64 of its 64 bytes.',
            field="private_key",
        )
    return pair[:32]


def public_key(private: bytes) -> str:
    """The `whpk_…` text that receivers verify `v1a` with, from the seed."""
    return PUBLIC_PREFIX + b64encode(_public_bytes(private)).decode()


def _public_bytes(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
