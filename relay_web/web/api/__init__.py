"""The JSON API under `/api/v1`: importing this package registers every operation."""

from relay_web.web.api import bulk, deliveries, endpoints, event_types, events, workers
from relay_web.web.api.operations import OPERATIONS, bp

__all__ = [
    "OPERATIONS",
    "bp",
    "bulk",
    "deliveries",
    "endpoints",
    "event_types",
    "events",
    "workers",
]
