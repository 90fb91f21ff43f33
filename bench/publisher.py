"""A publisher that costs little: requests to the HTTP API over keep-alive connections."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from bench.system import GaveUp

Answer = tuple[int, bytes]

#: Parallel connections for single publishes and for batches.
SINGLE_LINES: Final = 32
BATCH_LINES: Final = 4
_STEADY_LINES: Final = 16


class Line(asyncio.Protocol):
    """One keep-alive connection, one request at a time."""

    def __init__(self) -> None:
        self._heard = b""
        self._answer: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, found, body = self._heard.partition(b"\r\n\r\n")
        if not found or self._answer is None:
            return
        _, _, after = head.lower().partition(b"content-length:")
        if len(body) >= int(after.split(b"\r\n", 1)[0] or 0):
            self._answer.set_result((int(head[9:12]), body))
            self._heard, self._answer = b"", None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None:
            self._answer.set_exception(exc or ConnectionError("the web process hung up"))

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        """Send a request; the answer's status and body."""
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._answer


class Publisher:
    """Publishes to the web process on `port` with `api_key`."""

    def __init__(self, port: int, api_key: str) -> None:
        self._port = port
        self._api_key = api_key

    def single(self, type_: str, filling: int = 900) -> bytes:
        """`POST /events`, about 1 KB of data, with the time it was made at in `sent`."""
        data = {"sent": round(time.time(), 6), "filling": "x" * filling}
        return self._request("/events", {"type": type_, "data": data})

    def batch(self, type_: str, count: int = 100) -> bytes:
        """`POST /events/batch` with `count` events of 1 KB."""
        event = {"type": type_, "data": {"filling": "x" * 900}}
        return self._request("/events/batch", {"events": [event] * count})

    def _request(self, path: str, content: dict[str, Any]) -> bytes:
        body = json.dumps(content, separators=(",", ":")).encode()
        head = (
            f"POST /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Authorization: Bearer {self._api_key}\r\nContent-Type: application/json\r\n"
            "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def flood(self, request: bytes, lines: int, seconds: float) -> float:
        """Requests accepted per second with `lines` connections, each asking without a pause."""

        async def run() -> float:
            opened = [await self._line() for _ in range(lines)]
            warm, ends = time.monotonic() + 1.0, time.monotonic() + 1.0 + seconds
            counts = await asyncio.gather(*(_ask_on(line, request, warm, ends) for line in opened))
            return sum(counts) / seconds

        return asyncio.run(run())

    def steadily(self, make: Callable[[], bytes], per_second: float, seconds: float) -> None:
        """Publish at an even pace, the lines in turn. Raises `GaveUp` for any answer but 202."""

        async def run() -> None:
            lines = [await self._line() for _ in range(_STEADY_LINES)]
            began = time.monotonic()
            due = [began + number / per_second for number in range(int(per_second * seconds))]
            await asyncio.gather(
                *(_ask_at(line, due[at::_STEADY_LINES], make) for at, line in enumerate(lines))
            )

        asyncio.run(run())

    async def _line(self) -> Line:
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(Line, "127.0.0.1", self._port)
        return line


async def _ask_on(line: Line, request: bytes, warm: float, ends: float) -> int:
    """Answers that came after `warm` and before `ends`."""
    count = 0
    while time.monotonic() < ends:
        _check(await line.ask(request))
        count += warm <= time.monotonic() < ends
    return count


async def _ask_at(line: Line, due: Sequence[float], make: Callable[[], bytes]) -> None:
    """One request at each of these (monotonic) times, or as soon after as the line is free."""
    for at in due:
        await asyncio.sleep(at - time.monotonic())
        _check(await line.ask(make()))


def _check(answer: Answer) -> None:
    if answer[0] != 202:
        raise GaveUp(f"the API answered {answer[0]}: {answer[1][:300]!r}")
