"""The demo's own process, in development mode only: a receiver and a trickle of events.

`python -m relay_web.demo_traffic URL PORT`, with the key in RELAY_API_KEY.
"""

from gevent import monkey

monkey.patch_all()

import itertools
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

import gevent
from gevent.pywsgi import WSGIServer

from relay_web.errors import RelayError
from relay_web.publishing import publish
from relay_web.supervisor import answers

#: Seconds between events: a lively start, then slow enough to be left running for days.
_LIVELY: Final = 2.0
_CALM: Final = 15.0
_LIVELY_EVENTS: Final = 30
_FAILING_SHARE: Final = 0.75

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]


def receive(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer as the path says: `/good`, `/slow` or `/bad`."""
    environ["wsgi.input"].read()
    behaviour = environ["PATH_INFO"].strip("/")
    status, headers = "200 OK", [("Content-Type", "application/json")]
    body: dict[str, object] = {"received": True}
    if behaviour == "slow":
        gevent.sleep(random.uniform(2, 5))
    elif behaviour == "bad" and random.random() < _FAILING_SHARE:
        status, body = "503 Service Unavailable", {"error": "too many open orders"}
        if random.random() < 0.3:
            headers.append(("Retry-After", "15"))
    start_response(status, headers)
    return [json.dumps(body).encode()]


def trickle(url: str, api_key: str) -> None:
    """Publish made-up events for ever; Relay being away is no reason to stop."""
    while not answers(url):
        gevent.sleep(0.2)
    for number in itertools.count(1):
        gevent.sleep(_LIVELY if number <= _LIVELY_EVENTS else _CALM)
        type, data = _event(number)
        try:
            publish(url, api_key, type, json.dumps(data).encode())
        except RelayError as problem:
            print(f"demo: {problem}", file=sys.stderr)


def _event(number: int) -> tuple[str, dict[str, Any]]:
    customer = random.choice(["Ada", "Grace", "Edsger", "Barbara", "Tony"])
    amount = random.randrange(500, 50_000)
    kind = random.choice(["order.created", "order.paid", "invoice.paid", "invoice.overdue"])
    return kind, {"number": number, "customer": customer, "amount": amount, "currency": "EUR"}


def main(url: str, port: int, api_key: str) -> None:
    """Receive and publish until SIGTERM."""
    server = WSGIServer(("127.0.0.1", port), receive, log=None)
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, server.stop)
    gevent.spawn(trickle, url, api_key)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), os.environ["RELAY_API_KEY"])
