"""gunicorn's log lines in Relay's own form: one event a request, without its query string."""

import logging
import os
from datetime import timedelta
from typing import Any

import structlog
from gunicorn.glogging import Logger

from relay_web import logs

_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})


class GunicornLogger(Logger):  # type: ignore[misc]  # gunicorn carries no types
    """Hands everything to the root logger, which `logs.configure` set up."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        # Straight from the environment: the settings would import what gevent has yet to patch.
        logs.configure(
            level=os.environ.get("LOG_LEVEL", "").upper() or "INFO",
            style=os.environ.get("LOG_FORMAT", "").lower() or "logfmt",
        )
        for log in (self.error_log, self.access_log):
            log.handlers.clear()
            log.propagate = True
        self._request_log = structlog.get_logger("relay.request")

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: timedelta) -> None:
        """One line for one answered request; probes of the platform only at DEBUG."""
        path = environ.get("PATH_INFO", "")
        self._request_log.log(
            logging.DEBUG if path in _PROBES else logging.INFO,
            "request",
            method=environ.get("REQUEST_METHOD"),
            path=path,
            status=str(resp.status).split(None, 1)[0],
            ms=round(request_time / timedelta(milliseconds=1), 1),
            bytes=resp.sent,
            remote=environ.get("REMOTE_ADDR"),
            request_id=dict(resp.headers).get("X-Request-Id"),
        )
