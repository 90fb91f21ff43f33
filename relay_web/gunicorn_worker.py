"""gunicorn's gevent worker, but it does not wait for connections on which nobody asks anything.

Browsers and platform routers keep idle connections open. gunicorn counts each as a request under
way, so a stop would take the whole graceful timeout whenever a page is open somewhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import gevent
from gunicorn.workers.ggevent import GeventWorker

_LOOK_EVERY = 0.5


class Worker(GeventWorker):  # type: ignore[misc]  # gunicorn carries no types
    """On SIGTERM: requests under way are answered, idle connections closed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle: dict[gevent.Greenlet, gevent.Timeout] = {}

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Around the wait for the next request of a connection: it ends silently, and closes it."""
        greenlet, limit = gevent.getcurrent(), gevent.Timeout(self.cfg.keepalive, False)
        self._idle[greenlet] = limit
        try:
            with limit:
                yield
        finally:
            del self._idle[greenlet]

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        gevent.spawn(self._close_idle)

    def _close_idle(self) -> None:
        """Again and again: a connection is idle once the request under way on it is answered."""
        while True:
            gevent.sleep(_LOOK_EVERY)
            for greenlet, limit in list(self._idle.items()):
                greenlet.kill(limit, block=False)
