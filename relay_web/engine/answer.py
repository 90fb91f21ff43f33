"""Reading one answer, within limits, from whatever bytes a receiver sends.

The rules, each with its test in `tests/sender/`:

- The final status decides. A 2xx is a success although its body is cut off, reset, or longer than
  Relay reads; its body is evidence and nothing else.
- It is a failure all the same where the answer stops being HTTP (a chunk size that is none, two
  lengths that differ) or where the deadline passes before its body ends.
- 1xx answers are skipped, at most `MAX_INTERIM` of them. 101 is refused: nobody asked to switch.
- 204 and 304 have no body, and neither has 205, whatever its headers say.
- A body is never decoded: we ask for `identity`, and a gzip bomb stays a few bytes.
"""

from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from requests import PreparedRequest, Response
from requests.structures import CaseInsensitiveDict

from relay_web.domain.causes import Cause
from relay_web.engine.failure import SendFailed
from relay_web.engine.trace import Trace

if TYPE_CHECKING:
    from requests.cookies import RequestsCookieJar

MAX_INTERIM: Final = 5
MAX_HEADERS: Final = 100
#: Bytes of header names and values, interim answers and trailers included.
MAX_HEAD: Final = 64 * 1024
#: Bytes read after the headers (give or take one read) before the connection is dropped, and how
#: many of the body's are kept.
MAX_BODY: Final = 64 * 1024
KEPT_BODY: Final = 16 * 1024

Pairs = tuple[tuple[str, str], ...]


class AnswerReader:
    """The state of the answer being read on one connection; httptools calls the `on_` methods."""

    __slots__ = (
        "_body_fed", "_fault", "_head", "_head_fed", "_head_size", "_interim", "_parser",
        "body", "body_size", "is_capped", "is_complete", "is_reusable", "pairs", "status",
    )  # fmt: skip

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        """Get ready for the next answer on the same connection."""
        self._head: list[tuple[bytes, bytes]] = []
        self._head_fed = self._head_size = self._interim = self._body_fed = 0
        self._fault: SendFailed | None = None
        #: The final status once its headers are whole, else 0.
        self.status = 0
        self.pairs: list[tuple[bytes, bytes]] = []
        #: The first `KEPT_BODY` bytes; `body_size` counts all that were read.
        self.body = b""
        self.body_size = 0
        self.is_complete = False
        #: Whether reading stopped at `MAX_BODY`.
        self.is_capped = False
        #: Whether the connection may carry another request.
        self.is_reusable = False

    @property
    def is_untouched(self) -> bool:
        """Whether not one byte of an answer has come."""
        return not self._head_fed

    def feed(self, received: bytes) -> bool:
        """Take the next bytes of the connection; True once there is nothing more to read.

        Raises `SendFailed` where they are not HTTP or break a limit.
        """
        if self.status:
            self._body_fed += len(received)
        else:
            self._head_fed += len(received)
        try:
            self._parser.feed_data(received)
        except (HttpParserError, HttpParserUpgrade) as problem:
            self.is_reusable = False
            if not self.is_complete and self._fault is None:
                self._fault = SendFailed(Cause.BAD_RESPONSE, f"not HTTP: {problem}")
        if not self.status and self._head_fed > MAX_HEAD:
            self._refuse_head()
        if self._fault is not None:
            raise self._fault
        self.is_capped = self._body_fed >= MAX_BODY and not self.is_complete
        return self.is_complete or self.is_capped

    def end(self) -> None:
        """The connection ended: the regular end of a body that announced no length."""
        framed = (b"content-length", b"transfer-encoding")
        if not any(name.lower() in framed for name, _ in self.pairs):
            self.is_complete = True

    def on_message_begin(self) -> None:
        self._head = []
        self.is_reusable = False  # of a second message: nobody asked for it

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head.append((name, value))
        self._head_size += len(name) + len(value)
        if len(self._head) > MAX_HEADERS or self._head_size > MAX_HEAD:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        if self.is_complete or self._fault is not None:
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != HTTPStatus.SWITCHING_PROTOCOLS:
            self._interim += 1
            if self._interim > MAX_INTERIM:
                self._fault = SendFailed(
                    Cause.TOO_MANY_INTERIM, f"more than {MAX_INTERIM} interim answers"
                )
        elif not 200 <= status < 600:
            self._fault = SendFailed(Cause.BAD_RESPONSE, f"answered with status {status}")
        else:
            self.status = status
            self.pairs = self._head.copy()  # trailers land in _head afterwards
            self.is_complete = status == HTTPStatus.RESET_CONTENT

    def on_body(self, piece: bytes) -> None:
        self.body_size += len(piece)
        if not self.is_complete and len(self.body) < KEPT_BODY:
            self.body += piece[: KEPT_BODY - len(self.body)]

    def on_message_complete(self) -> None:
        if self.status and not self.is_complete:
            self.is_complete = True
            self.is_reusable = self._parser.should_keep_alive()

    def _refuse_head(self) -> None:
        if not self.is_complete and self._fault is None:
            self._fault = SendFailed(
                Cause.HEADERS_TOO_LARGE,
                f"more than {MAX_HEADERS} headers or {MAX_HEAD // 1024} KiB of them",
            )


class Answer(Response):
    """The final answer as requests knows it, and what its users here need besides.

    Cookies are never kept and a redirect is never one: no caller can be led anywhere.
    """

    is_redirect = False
    is_permanent_redirect = False

    def __init__(self, request: PreparedRequest, reader: AnswerReader, trace: Trace) -> None:
        # The attributes of Response that matter; its own __init__ builds a cookie jar a request.
        self.request = request
        self.url = request.url or ""
        self.status_code = reader.status
        self.trace = trace
        self.pairs: Pairs = tuple(
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in reader.pairs]
        )
        self._content = reader.body
        self._content_consumed = True
        #: Whether the receiver sent, or meant to send, more than is kept.
        self.is_truncated = reader.body_size > len(reader.body) or not reader.is_complete
        self.history = []
        self.raw = None
        self.encoding = None
        self._next = None

    @cached_property
    def headers(self) -> CaseInsensitiveDict[str]:  # type: ignore[override]
        return CaseInsensitiveDict(self.pairs)

    @cached_property
    def cookies(self) -> "RequestsCookieJar":  # type: ignore[override]
        from requests.cookies import RequestsCookieJar

        return RequestsCookieJar()

    @property
    def reason(self) -> str:  # type: ignore[override]
        """The standard phrase for the status, never the receiver's own text."""
        return phrase(self.status_code)

    def header_values(self, name: str) -> list[str]:
        """Every value of a header, in order."""
        return [value for key, value in self.pairs if key.lower() == name]


def phrase(status: int) -> str:
    """`503` is "503 Service Unavailable"; a status without a standard phrase is its number."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
