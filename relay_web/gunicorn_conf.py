"""gunicorn's settings (`-c python:relay_web.gunicorn_conf`): read before the fork and the patch.

So this imports nothing that gevent has to patch first. `relay web` has checked the variables.
"""

import os
import socket
from typing import Any


def _address() -> str:
    """`HOST`, else every interface: IPv6 with IPv4 where there is IPv6, as Heroku's Fir needs."""
    port = os.environ.get("PORT") or "5000"
    host = os.environ.get("HOST")
    if host:
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        socket.socket(socket.AF_INET6).close()
    except OSError:
        return f"0.0.0.0:{port}"
    return f"[::]:{port}"


bind = [_address()]
worker_class = "relay_web.gunicorn_worker.Worker"
workers = int(os.environ.get("WEB_CONCURRENCY") or "2")
worker_connections = 200
# With preloading the workers die while gevent patches locks that are in use.
preload_app = False
timeout = 30
graceful_timeout = 20
# Longer than the platform router keeps its own connections (90 s), so that it closes first.
keepalive = 100
#: Bytes of a body that are cheaper to read to its end than a new connection is.
LONG_BODY = 65536
# One socket in the home directory for every gunicorn of the user would clash.
control_socket_disable = True
accesslog = "-"
logger_class = "relay_web.gunicorn_log.GunicornLogger"


def worker_exit(_server: Any, worker: Any) -> None:
    """Close the database connections of an application that was built."""
    parts = getattr(getattr(worker, "wsgi", None), "extensions", {}).get("relay")
    if parts is not None:
        parts.store.close()


def post_request(_worker: Any, request: Any, _environ: Any, answer: Any) -> None:
    """Close after refusing a long body, rather than read the rest of it to reuse the connection.

    The rest may have no end, and gunicorn would read on until the keep-alive time is over.
    """
    if answer is not None and answer.status_code and answer.status_code >= 400:
        sent = dict(request.headers)
        length = sent.get("CONTENT-LENGTH", "0")
        if "TRANSFER-ENCODING" in sent or int(length) > LONG_BODY:
            request.force_close()
