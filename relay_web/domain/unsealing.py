"""What an endpoint keeps sealed, in clear: all of it, or nothing may be sent."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from relay_web.domain.endpoint import Endpoint
from relay_web.domain.headers import Headers, opened
from relay_web.domain.signing import decode_private_key, decode_secret
from relay_web.domain.vault import Unreadable, Vault

#: Signing keys with the time each one ends, newest first.
Keys = tuple[tuple[bytes, datetime | None], ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """Ready to sign and send with."""

    keys: Keys = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    #: The Ed25519 seed, where the endpoint has one.
    private_key: bytes | None = field(default=None, repr=False)


def unseal(vault: Vault, endpoint: Endpoint) -> Opened | None:
    """None where no key of the vault opens one of them: such an endpoint is held."""
    reveal = partial(vault.open, endpoint.id)
    pair = endpoint.key_pair
    try:
        return Opened(
            keys=tuple(
                (decode_secret(reveal(secret.sealed)), secret.expires_at)
                for secret in endpoint.secrets
            ),
            headers=opened(endpoint.headers, reveal),
            private_key=decode_private_key(reveal(pair.sealed)) if pair else None,
        )
    except Unreadable:
        return None
