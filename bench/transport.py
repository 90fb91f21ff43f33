"""What one signed 1 KB POST costs the sending process, 100 in flight, against a local receiver.

    python -m bench.transport [requests] [in flight]

Three ways to send the same bytes: `requests.Session.post` on urllib3, Relay's `Transport.send`, and
`Sender.send` (signature, headers and outcome included). `bench/receiver.py` runs in a process of
its own. Figures are CPU and wall time of the sending process per request, the best of three rounds.
"""

# ruff: noqa: E402 - gevent patches before anything else is imported

from gevent import monkey

monkey.patch_all()

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gevent.pool
import requests
from requests.adapters import HTTPAdapter

from relay_web.domain.egress import EgressPolicy
from relay_web.domain.signing import sign
from relay_web.engine.outcome import SendOrder
from relay_web.engine.sender import Sender

BODY = b'{"type":"bench.event","timestamp":"2026-12-01T00:00:00Z","data":"' + b"x" * 950 + b'"}'
KEYS = (b"k" * 32,)
ROUNDS = 3


def measure(name: str, send: Callable[[], object], count: int, in_flight: int) -> float:
    """Print and return the CPU microseconds per request."""
    pool = gevent.pool.Pool(in_flight)

    def some(share: int) -> None:
        for _ in range(share):
            send()

    best_cpu = best_wall = float("inf")
    for _ in range(ROUNDS):
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(in_flight):
            pool.spawn(some, count // in_flight)
        pool.join(raise_error=True)
        done = count // in_flight * in_flight
        best_cpu = min(best_cpu, (time.process_time() - cpu) / done * 1e6)
        best_wall = min(best_wall, (time.perf_counter() - wall) / done * 1e6)
    print(f"{name:<14} {best_cpu:7.1f} us cpu {best_wall:7.1f} us wall  {1e6 / best_wall:8.0f}/s")
    return best_cpu


def main(count: int = 20_000, in_flight: int = 100) -> None:
    receiver = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("receiver.py"))], stdout=subprocess.PIPE
    )
    assert receiver.stdout is not None
    url = f"http://127.0.0.1:{int(receiver.stdout.readline())}/hook"
    policy = EgressPolicy(allow_http=True, allow=EgressPolicy.parse_allow("127.0.0.1/32"))
    sender = Sender(policy, 15.0, "Relay/bench")
    session = requests.Session()
    session.trust_env = False
    session.mount("http://", HTTPAdapter(pool_maxsize=in_flight))

    def by_session() -> None:
        headers = {
            "Content-Type": "application/json",
            "webhook-id": "msg_bench",
            "webhook-timestamp": "1764600000",
            "webhook-signature": sign(KEYS, "msg_bench", 1764600000, BODY),
        }
        answer = session.post(url, data=BODY, headers=headers, timeout=15, allow_redirects=False)
        assert answer.status_code == 200

    order = SendOrder(
        endpoint_id="ep_bench", url=url, secrets=KEYS, webhook_id="msg_bench",
        delivery_id="dlv_bench", attempt=1, lease_token=1, body=BODY, timestamp=1764600000,
    )  # fmt: skip

    def by_sender() -> None:
        assert sender.send(order).ok

    request = sender.prepared(order)

    def by_transport() -> None:
        assert sender.transport.send(request).status_code == 200

    slow = measure("Session.post", by_session, count // 4, in_flight)
    measure("Transport.send", by_transport, count, in_flight)
    fast = measure("Sender.send", by_sender, count, in_flight)
    print(f"Sender.send is {slow / fast:.1f} times cheaper than Session.post")
    sender.close()
    receiver.terminate()
    receiver.wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
