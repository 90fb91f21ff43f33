"""Static files under addresses that change with their content, so that they are kept for a year.

htmx comes from a wheel of static files and is served from our own origin; no third-party code is
in the repository. A test pins its SHA-256.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from flask import Blueprint, Flask, Response, current_app, send_file, url_for

from relay_web.errors import CannotRun, NotFound

bp = Blueprint("assets", __name__)

HTMX_WHEEL: Final = "django-js-lib-htmx"
YEAR: Final = 365 * 24 * 3600


@cache
def htmx_file() -> Path:
    """The core file of the htmx wheel; raises `CannotRun` where the wheel is not installed."""
    spec = find_spec("js_lib_htmx")
    if spec is None or not spec.submodule_search_locations:
        raise CannotRun(f"Install the {HTMX_WHEEL} package: the pages need its htmx file.")
    return Path(spec.submodule_search_locations[0]) / "static" / "htmx" / "htmx.min.js"


@bp.get("/static/htmx-<release>.js")
def htmx(release: str) -> Response:
    """The file under the address of its release; every other release is not ours to serve."""
    if release != version(HTMX_WHEEL):
        raise NotFound
    answer = send_file(htmx_file(), mimetype="text/javascript", max_age=YEAR)
    answer.headers["Cache-Control"] = f"public, max-age={YEAR}, immutable"
    return answer


def htmx_url() -> str:
    return url_for("assets.htmx", release=version(HTMX_WHEEL))


def static_url(name: str) -> str:
    """`/static/relay.css?v=1a2b3c4d`: the file's own address, changed by its content."""
    folder = current_app.static_folder or ""
    path = Path(folder, name)
    return url_for("static", filename=name, v=_mark(path, path.stat().st_mtime_ns))


@cache
def _mark(path: Path, changed: int) -> str:
    """`changed` is part of the key alone: an edited file gets a new address without a restart."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def register(app: Flask) -> None:
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = YEAR
    app.register_blueprint(bp)
    app.jinja_env.globals.update(static_url=static_url, htmx_url=htmx_url)
