"""One request and its answer over one open connection."""

from typing import Final

from requests import PreparedRequest

from relay_web.domain.causes import Cause
from relay_web.domain.target import Target
from relay_web.engine.connection import Connection
from relay_web.engine.failure import SendFailed
from relay_web.engine.trace import Phase, Trace

#: Line ends in a head without headers: the request line, Host, and the empty line.
_FIXED_LINES: Final = 3


def message_of(request: PreparedRequest, target: Target) -> bytes:
    """The bytes of the request, Host by the target; raises `SendFailed` for a bad header."""
    headers = request.headers
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    head = f"{request.method} {target.path} HTTP/1.1\r\nHost: {target.authority}\r\n{lines}\r\n"
    # Whatever got past every check: no value can begin a line of its own.
    if head.count("\n") != len(headers) + _FIXED_LINES:
        raise SendFailed(Cause.BAD_REQUEST_HEADER, "a header holds a line break")
    body = request.body or b""
    try:
        return head.encode("latin-1") + (body.encode() if isinstance(body, str) else bytes(body))
    except UnicodeEncodeError:
        raise SendFailed(Cause.BAD_REQUEST_HEADER, "a header is outside Latin-1") from None


def converse(connection: Connection, message: bytes, trace: Trace) -> None:
    """Write `message` and read one answer into the connection's reader.

    Raises OSError, or `SendFailed` where the bytes are no answer. A connection that ends after the
    final headers ends the answer too: the reader tells whether its body was whole.
    """
    reader = connection.reader
    reader.begin()
    trace.started = True
    trace.enter(Phase.WRITE)
    broken: OSError | None = None
    try:
        connection.write(message)
    except (BrokenPipeError, ConnectionResetError) as error:
        broken = error  # a receiver that refuses a long body answers first, then hangs up
    trace.enter(Phase.WAIT)
    while received := connection.read():
        if reader.feed(received):
            return
        if reader.status and trace.phase is Phase.WAIT:
            trace.enter(Phase.BODY)
    if not reader.status:
        raise broken or SendFailed(Cause.CLOSED_EARLY, "closed the connection without an answer")
    reader.end()
