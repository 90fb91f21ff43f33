"""The bytes of a JSON request: the right kind, and no more of them than the route takes."""

from typing import Final

from flask import request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from relay_web.errors import BadRequest, TooLarge, Unsupported

KIB: Final = 1024
MAX_BODY: Final = 256 * KIB


def read(*, limit: int = MAX_BODY, required: bool = True) -> bytes:
    """The body; reading stops at `limit` bytes, however many were announced or are still to come.

    Raises `Unsupported` for another type, charset or coding, `TooLarge`, and `BadRequest` for a
    body that is missing or broke off. Where it is not `required`, no body at all gives b"".
    """
    has_body = bool(request.content_length) or request.headers.get("Transfer-Encoding")
    if not has_body and not required:
        return b""
    _check_kind()
    too_large = TooLarge(f"The body is larger than {limit // KIB} KiB.")
    # One more than the limit: werkzeug hands over what fits of a chunked body, and says nothing.
    request.max_content_length = limit + 1
    try:
        body = request.get_data(cache=False)
    except RequestEntityTooLarge:
        raise too_large from None
    except ClientDisconnected:
        raise BadRequest("The body ended before its announced length.") from None
    if len(body) > limit:
        raise too_large
    # gunicorn hands over what came when a client hangs up, and vouches for it as a whole body.
    if len(body) < (request.content_length or 0):
        raise BadRequest("The body ended before its announced length.")
    if not body:
        raise BadRequest("Body is empty; send a JSON object.", code="empty_body")
    return body


def _check_kind() -> None:
    kind = request.mimetype
    if kind != "application/json" and not (kind[:12] == "application/" and kind[-5:] == "+json"):
        raise Unsupported
    if request.mimetype_params.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
        raise Unsupported("Relay reads UTF-8 only; send charset=utf-8 or leave it out.")
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Unsupported("Send the body uncompressed, without Content-Encoding.")
