"""The worker's entry: wires the parts and turns signals into a stop. `__main__` has patched."""

import gc
import os
import secrets
import signal
import socket
from typing import Final

import gevent
from gevent.event import Event

from relay_web import __version__, embedded, logs
from relay_web.domain.vault import Vault
from relay_web.engine.sender import Sender
from relay_web.engine.worker import Worker, WorkerOptions
from relay_web.settings import Settings
from relay_web.store import Store

USER_AGENT: Final = f"Relay/{__version__}"


def run(settings: Settings) -> int:
    """Deliver until SIGTERM or SIGINT; returns the exit code. Needs gevent's patching."""
    logs.configure(level=settings.log_level, style=settings.log_format)
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, stop.set)
    options = WorkerOptions(
        name=_name(settings),
        version=__version__,
        concurrency=settings.concurrency,
        lease=settings.lease,
        deadline=settings.send_deadline,
        schedule=settings.retry_schedule,
    )
    store = Store.open(
        settings.mongodb_uri or embedded.locate(settings.data_dir),
        timeout=settings.db_timeout,
        appname="relay-worker",
        retention_days=settings.retention_days,
    )
    sender = Sender(settings.egress_policy(), settings.send_deadline, USER_AGENT)
    # Start-up made what stays, and sends leave next to no cycles: by default the collector walks
    # over it all so often that it takes a tenth of the worker's time.
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    try:
        return Worker(store, sender, Vault(settings.secrets_keys), options).run(stop)
    finally:
        sender.close()
        store.close()


def _name(settings: Settings) -> str:
    """Unique among all workers ever: platforms reuse host names, and dyno names for a moment."""
    return f"{settings.dyno or socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
