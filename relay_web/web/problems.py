"""Every refusal in one shape: an RFC 9457 problem for programs, its page or fragment for people.

A message is one sentence that says what to do. What Relay did not foresee is logged with its
traceback and answered without it.
"""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import structlog
from flask import Flask, Response, jsonify, render_template, request
from flask_wtf.csrf import CSRFError
from htmx_flask import request as htmx_request
from werkzeug.exceptions import HTTPException, SecurityError

from relay_web.errors import RelayError, Unauthorized
from relay_web.web.request_ids import request_id

log = structlog.get_logger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
#: Read by programs only, whatever they say they accept.
_FOR_PROGRAMS: Final = ("/api/", "/healthz", "/readyz", "/metrics", "/openapi.json")

_SENTENCES: Final = {
    400: "The request cannot be read; check how it is sent.",
    404: "There is nothing at this address.",
    405: "This address does not take that method; see the Allow header.",
    406: "Relay answers with JSON here; accept application/json.",
    408: "The request came too slowly; send it again.",
    413: "The request is larger than Relay takes.",
    414: "The address is too long.",
    415: "Send JSON as application/json in UTF-8.",
    429: "Too many requests; wait and try again.",
    431: "The headers are too large.",
}
_UNFORESEEN: Final = (
    "Relay could not do that, and does not know how much of it was done. Look before you repeat it."
)


def register(app: Flask) -> None:
    """Answer every error of this app."""
    app.register_error_handler(RelayError, _answer)
    app.register_error_handler(CSRFError, _stale_page)
    app.register_error_handler(HTTPException, _from_http)
    app.register_error_handler(Exception, _unforeseen)


def problem(error: RelayError) -> dict[str, Any]:
    """The JSON members of a problem. `detail` is RFC 9457's name for `message`."""
    members: dict[str, Any] = {
        "type": "/docs#rules",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.message,
        "code": error.code,
        "message": error.message,
        "request_id": request_id(),
    }
    if error.field is not None:
        members["field"] = error.field
    return members


def for_programs() -> bool:
    return request.path.startswith(_FOR_PROGRAMS)


def _answer(error: RelayError) -> Response:
    if for_programs():
        answer = jsonify(problem(error))
        answer.mimetype = MEDIA_TYPE
        if isinstance(error, Unauthorized):
            answer.headers["WWW-Authenticate"] = 'Bearer realm="relay"'
    elif isinstance(error, Unauthorized):
        answer = _to_sign_in()
    else:
        answer = _for_people(error)
    if not answer.location:
        answer.status_code = error.status
    if error.retry_after is not None:
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def _for_people(error: RelayError) -> Response:
    swapped = bool(htmx_request.htmx) and not htmx_request.htmx.history_restore_request
    kind = "fragments" if swapped else "pages"
    facts = {"error": error, "request_id": request_id()}
    answer = Response(render_template(f"{kind}/problem.html", **facts), mimetype="text/html")
    if swapped:
        answer.headers["X-Relay-Fragment"] = "1"
    answer.vary.add("HX-Request")
    return answer


def _to_sign_in() -> Response:
    """To the sign-in page and back here; for htmx the whole page goes, not the part it swaps."""
    seen = request.full_path.rstrip("?") if request.method == "GET" else "/"
    if htmx_request.htmx:
        answer = Response("", mimetype="text/html")
        here = urlsplit(htmx_request.htmx.current_url or "/")
        page = f"{here.path}?{here.query}".rstrip("?")
        answer.headers["HX-Redirect"] = f"/signin?{urlencode({'next': page})}"
        return answer
    answer = Response("", 303, mimetype="text/html")
    answer.location = f"/signin?{urlencode({'next': seen})}" if seen != "/" else "/signin"
    return answer


def _stale_page(_: CSRFError) -> Response:
    return _answer(
        _problem_of(
            403, "stale_page", "This page is older than your session. Reload it and try again."
        )
    )


def _from_http(error: HTTPException) -> Response:
    if isinstance(error, SecurityError):
        # An unknown host: nothing may be linked from the answer, so it is plain words.
        return Response("Relay is not served under this host name.", 400, mimetype="text/plain")
    own = error.get_response()
    status = own.status_code
    if status < 400:  # a redirect of the router's is not an error
        return Response(own.get_data(), status, own.headers)
    phrase = HTTPStatus(status).phrase
    sentence = _SENTENCES.get(status, f"{phrase}; check how the request is sent.")
    answer = _answer(_problem_of(status, phrase.lower().replace(" ", "_"), sentence))
    if allow := own.headers.get("Allow"):
        answer.headers["Allow"] = allow
    return answer


def _unforeseen(error: Exception) -> Response:
    log.error("request.failed", exc_info=error, request_id=request_id())
    return _answer(_problem_of(500, "internal", _UNFORESEEN))


def _problem_of(status: int, code: str, message: str) -> RelayError:
    error = RelayError(message, code=code)
    error.status = status
    return error
