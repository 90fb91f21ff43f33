"""A request as a command for a shell: the same method, headers and bytes."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from relay_web.domain.headers import MASK
from relay_web.web.payload import SECRET_HEADERS

#: curl sets these itself.
_OWN: Final = frozenset({"host", "content-length", "connection", "accept-encoding"})
#: Valid for one moment only; a command that is run later needs them made anew, or none.
_SIGNED: Final = frozenset({"webhook-signature", "webhook-timestamp"})


def command(
    url: str,
    headers: Iterable[Sequence[str]],
    body: bytes,
    *,
    signed: Iterable[tuple[str, str]] = (),
) -> str:
    """The command, a header a line. Secret values become shell variables for the person to set.

    `signed` are the signature headers to send; the attempt's own are left out.
    """
    parts = [f"curl -X POST {shlex.quote(url)}"]
    for name, value in headers:
        low = name.lower()
        if low in _OWN or low in _SIGNED:
            continue
        if low in SECRET_HEADERS or value == MASK:
            variable = low.upper().replace("-", "_")
            parts.append(f'-H {shlex.quote(name)}": ${variable}"')
        else:
            parts.append(f"-H {shlex.quote(f'{name}: {value}')}")
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in signed]
    parts.append(f"--data-binary {shlex.quote(body.decode())}")
    return " \\\n  ".join(parts)


def to_localhost(url: str) -> str:
    """The same path on the person's own machine."""
    path = url.split("://", 1)[-1].partition("/")[2]
    return f"http://localhost:3000/{path}"
