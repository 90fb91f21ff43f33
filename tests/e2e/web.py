"""The web process as a publisher meets it behind a platform's router: an address and a key."""

import json
from dataclasses import dataclass
from typing import Any

import requests

from tests.e2e.processes import Process

#: Seconds a publisher waits for an answer.
PATIENCE = 20.0
#: What the router adds; without it Relay would insist on https.
ROUTED = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}


@dataclass(frozen=True, slots=True)
class Web:
    """A running web process, and an API key of the team."""

    process: Process
    port: int
    key: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> requests.Response:
        """One request to the API. Raises `requests.ConnectionError` where nobody answers."""
        return requests.request(
            method,
            f"http://127.0.0.1:{self.port}/api/v1{path}",
            data=None if body is None else json.dumps(body),
            headers={
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
                **ROUTED,
                **headers,
            },
            timeout=PATIENCE,
        )

    def publish(self, data: Any, *, key: str | None = None) -> requests.Response:
        """Publish `invoice.paid`; with an Idempotency-Key if one is given."""
        headers = {"Idempotency-Key": key} if key else {}
        return self.call("POST", "/events", {"type": "invoice.paid", "data": data}, **headers)

    def is_ready(self) -> bool:
        """Whether it serves, and reaches the database."""
        return self._is_well("/readyz")

    def is_alive(self) -> bool:
        """Whether it serves at all."""
        return self._is_well("/healthz")

    def _is_well(self, path: str) -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE).ok
        except requests.ConnectionError:
            return False
