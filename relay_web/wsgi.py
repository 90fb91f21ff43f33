"""The web process's application, built in each gunicorn worker after gevent has patched it."""

import sys

from relay_web import embedded, logs
from relay_web.errors import RelayError
from relay_web.settings import Settings
from relay_web.store import Store
from relay_web.web import create_app

#: gunicorn gives up at this code, and would restart a worker that ends with any other for ever.
_WORKER_BOOT_ERROR = 3

try:
    _settings = Settings.load()
    logs.configure(level=_settings.log_level, style=_settings.log_format)
    _store = Store.open(
        _settings.mongodb_uri or embedded.locate(_settings.data_dir),
        timeout=_settings.db_timeout,
        appname="relay-web",
        retention_days=_settings.retention_days,
    )
except RelayError as problem:
    print(f"relay: {problem}", file=sys.stderr)
    sys.exit(_WORKER_BOOT_ERROR)

app = create_app(settings=_settings, store=_store)
