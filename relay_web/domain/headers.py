"""Which headers a team may add to its own deliveries, and which of them hold credentials.

A credential is sealed where it is stored and masked wherever it is shown; `is_credential` decides
both.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from relay_web.errors import Invalid

MAX_HEADERS: Final = 20
MAX_VALUE: Final = 2048
#: Bytes of all names and values together (reliability §3.4).
MAX_TOTAL: Final = 4096
#: Stands for a credential wherever headers are shown; sent back unchanged, it keeps the value.
MASK: Final = "********"

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
#: Set by Relay or by HTTP itself, or trusted by receivers as coming from their own platform.
_RESERVED: Final = frozenset(
    [
        "accept-encoding",
        "connection",
        "cookie",
        "date",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    ]
)
_RESERVED_PREFIXES: Final = (
    "content-", "metadata", "proxy-", "relay-", "webhook-", "x-aws-ec2-", "x-forwarded-",
)  # fmt: skip
_CREDENTIAL: Final = re.compile(
    r"auth|bearer|cookie|credential|key|pass|pwd|secret|session|signature|token", re.IGNORECASE
)

#: As they are sent.
Headers = tuple[tuple[str, str], ...]
#: As they are stored: the value of a credential is its ciphertext.
StoredHeaders = tuple[tuple[str, str | bytes], ...]


def check_headers(headers: Mapping[str, str], *, field: str = "headers") -> Headers:
    """The pairs in the order given; raises `Invalid` naming the header (reliability B52)."""
    if len(headers) > MAX_HEADERS:
        raise Invalid(f"At most {MAX_HEADERS} headers of your own.", field=field)
    seen: set[str] = set()
    for name, value in headers.items():
        _check_header(name, value, field)
        if name.lower() in seen:
            raise Invalid(f"The header {name} is there twice.", field=field)
        seen.add(name.lower())
    if sum(len(name) + len(value) for name, value in headers.items()) > MAX_TOTAL:
        raise Invalid(f"Your headers together hold more than {MAX_TOTAL} characters.", field=field)
    return tuple(headers.items())


def _check_header(name: str, value: str, field: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise Invalid(
            f"{_shown(name)} is not a header name; use letters, digits and -.", field=field
        )
    lowered = name.lower()
    if lowered in _RESERVED or lowered.startswith(_RESERVED_PREFIXES):
        raise Invalid(f"{name} is set by Relay or by HTTP itself; leave it out.", field=field)
    if len(value) > MAX_VALUE:
        raise Invalid(f"The value of {name} is longer than {MAX_VALUE} characters.", field=field)
    if not _VALUE.fullmatch(value):
        raise Invalid(
            f"The value of {name} must be printable ASCII, not empty, with no space at either end.",
            field=field,
        )


def _shown(name: str) -> str:
    return f'"{name[:60]}"' if name.isprintable() and name else "An empty or unprintable text"


def is_credential(name: str) -> bool:
    """Whether a header's value is hidden wherever it is shown: `Authorization`, `X-Api-Key`, …"""
    return bool(_CREDENTIAL.search(name))


def sealed(
    headers: Headers, seal: Callable[[str], bytes], kept: StoredHeaders = ()
) -> StoredHeaders:
    """The headers as they are stored; one that came back as the mask stays the one in `kept`."""
    before = {name.lower(): value for name, value in kept}

    def stored(name: str, value: str) -> str | bytes:
        if value == MASK and name.lower() in before:
            return before[name.lower()]
        return seal(value) if is_credential(name) else value

    return tuple((name, stored(name, value)) for name, value in headers)


def opened(headers: StoredHeaders, unseal: Callable[[bytes], str]) -> Headers:
    """The headers as they are sent; raises what `unseal` does for a ciphertext it cannot read."""
    return tuple(
        (name, unseal(value) if isinstance(value, bytes) else value) for name, value in headers
    )


def masked(headers: StoredHeaders) -> dict[str, str]:
    """The headers as people see them, credentials hidden."""
    return {name: MASK if isinstance(value, bytes) else value for name, value in headers}
