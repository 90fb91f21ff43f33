"""For platforms and monitors: is the process alive, can it do its job, and in what figures."""

import hmac

from flask import Blueprint, Response, jsonify, request
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from relay_web.errors import NotFound, Unauthorized
from relay_web.web.metrics import Figures
from relay_web.web.parts import parts

bp = Blueprint("health", __name__)


@bp.get("/healthz")
def alive() -> Response:
    """The process answers. Says nothing of the database: a restart would not bring that back."""
    return jsonify(status="ok")


@bp.get("/readyz")
def ready() -> Response:
    """The database answers too; 503 while it does not."""
    parts().store.ping()
    return jsonify(status="ok")


@bp.get("/metrics")
def metrics() -> Response:
    """Prometheus figures, read from the database now; 404 until RELAY_METRICS_TOKEN is set."""
    token = parts().settings.metrics_token
    if token is None:
        raise NotFound("Set RELAY_METRICS_TOKEN to serve metrics.")
    given = request.headers.get("Authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise Unauthorized("Send RELAY_METRICS_TOKEN as a Bearer token.")
    registry = CollectorRegistry()
    registry.register(Figures(parts().store))
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
