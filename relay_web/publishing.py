"""A small client of Relay's own API, for `relay send` and the demo."""

import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from relay_web import __version__
from relay_web.errors import CannotRun, Invalid

Doc = dict[str, Any]
#: Seconds to wait for the answer; Relay itself answers within its database timeout.
_TIMEOUT = 30


def publish(
    url: str, api_key: str, type: str, data: bytes, *, idempotency_key: str | None = None
) -> Doc:
    """POST one event whose `data` is JSON text, passed on byte for byte; returns the answer.

    Raises Invalid where `data` is no JSON or `url` no address, CannotRun where Relay refuses or
    does not answer.
    """
    try:
        json.loads(data)
    except ValueError as problem:
        raise Invalid(f"DATA is not JSON ({problem}).") from None
    if urlsplit(url).scheme not in ("http", "https"):
        raise Invalid("Use an address such as https://relay.example.com.", field="url")
    request = urllib.request.Request(
        f"{url.rstrip('/')}/api/v1/events",
        data=b'{"type":%s,"data":%s}' % (json.dumps(type).encode(), data),
        headers={
            "Authorization": f"Bearer {api_key}",
            "Content-Type": "application/json",
            "User-Agent": f"relay-cli/{__version__}",
            **({"Idempotency-Key": idempotency_key} if idempotency_key else {}),
        },
    )
    try:
        # Its scheme was checked above.
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:  # nosec B310
            answer: Doc = json.load(reply)
            return answer
    except urllib.error.HTTPError as refusal:
        with refusal:
            raise CannotRun(_detail(refusal.code, refusal.read(65536))) from None
    except (OSError, http.client.HTTPException) as problem:
        why = getattr(problem, "reason", None) or problem
        raise CannotRun(f"No Relay answers at {url} ({why}); check --url or RELAY_URL.") from None
    except ValueError:  # not JSON, or a header that cannot be sent
        raise CannotRun(f"What answers at {url} is not Relay, or the key is malformed.") from None


def _detail(status: int, body: bytes) -> str:
    """The sentence of an RFC 9457 problem, or as much as any other server lets us say."""
    try:
        problem = json.loads(body)
        return f"{problem['detail']} (HTTP {status})"
    except (ValueError, KeyError, TypeError):
        return f"The server answered HTTP {status}, not as Relay does; check --url or RELAY_URL."
