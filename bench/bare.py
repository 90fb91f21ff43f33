"""A loop that only sends, the yardstick beside P1: `python -m bench.bare session|transport …`.

Greenlets sign and POST the same 1 KB body as fast as they can: no database, no record, no retry.
`session` is a `requests.Session` with a connection for each of them; `transport` is Relay's own
sender. Prints requests per second.
"""

# ruff: noqa: E402 - gevent patches before anything else is imported

from gevent import monkey

monkey.patch_all()

import sys
import time
from collections.abc import Callable

import gevent
import requests
from requests.adapters import HTTPAdapter

from bench.seed import payload
from relay_web.domain.egress import EgressPolicy
from relay_web.domain.signing import sign
from relay_web.engine.outcome import SendOrder
from relay_web.engine.sender import Sender

BODY = (
    b'{"type":"bench.event","timestamp":"2026-12-01T00:00:00.000Z","data":' + payload(1024) + b"}"
)
KEYS = (b"k" * 32,)


def by_session(in_flight: int) -> Callable[[str], object]:
    """`requests.Session.post`, as its documentation would have one use it."""
    session = requests.Session()
    session.mount("http://", HTTPAdapter(pool_connections=in_flight, pool_maxsize=in_flight))

    def send(url: str) -> None:
        now = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "webhook-id": "msg_bench",
            "webhook-timestamp": str(now),
            "webhook-signature": sign(KEYS, "msg_bench", now, BODY),
        }
        session.post(url, data=BODY, headers=headers, timeout=15).raise_for_status()

    return send


def by_transport(in_flight: int) -> Callable[[str], object]:
    """Relay's sender, from order to outcome."""
    allow = EgressPolicy.parse_allow("127.0.0.0/8")
    sender = Sender(EgressPolicy(allow_http=True, allow=allow), 15.0, "Relay/bench")

    def send(url: str) -> None:
        order = SendOrder(
            endpoint_id=url, url=url, secrets=KEYS, webhook_id="msg_bench", attempt=1,
            delivery_id="dlv_bench", lease_token=1, body=BODY, timestamp=int(time.time()),
        )  # fmt: skip
        if not sender.send(order).ok:
            raise RuntimeError("the receiver did not answer 200")

    return send


def main(how: str, base: str, lanes: int, in_flight: int, seconds: float) -> None:
    """Send for so long to `lanes` addresses, and print the rate."""
    send = {"session": by_session, "transport": by_transport}[how](in_flight)
    done = 0
    ends = time.monotonic() + seconds + 0.5

    def loop(number: int) -> None:
        nonlocal done
        url = f"{base}/ok/{number % lanes}"
        while time.monotonic() < ends:
            send(url)
            done += 1

    loops = [gevent.spawn(loop, number) for number in range(in_flight)]
    gevent.sleep(0.5)  # connections are open, everything is warm
    began, before, cpu = time.monotonic(), done, time.process_time()
    gevent.sleep(seconds)
    sent, took = done - before, time.monotonic() - began
    print(f"{sent / took:.1f} {(time.process_time() - cpu) / sent * 1e6:.1f}")
    gevent.joinall(loops, raise_error=True)


if __name__ == "__main__":
    _, how, base, lanes, in_flight, seconds = sys.argv
    main(how, base, int(lanes), int(in_flight), float(seconds))
