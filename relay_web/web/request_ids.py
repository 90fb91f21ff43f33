"""One id for each request: in the log line, in every problem, in the audit row, in the answer."""

import re
from typing import Final

from flask import Flask, Response, g, request

from relay_web.clock import new_id

HEADER: Final = "X-Request-Id"
#: A platform's router sends its own; anything odd is replaced, so that it cannot forge log lines.
_SANE: Final = re.compile(r"[A-Za-z0-9_-]{8,100}")


def request_id() -> str:
    """This request's id, the router's if it gave a sane one."""
    if "request_id" not in g:
        given = request.headers.get(HEADER, "")
        g.request_id = given if _SANE.fullmatch(given) else new_id("req")
    found: str = g.request_id
    return found


def register(app: Flask) -> None:
    @app.after_request
    def _show(answer: Response) -> Response:
        answer.headers[HEADER] = request_id()
        return answer
