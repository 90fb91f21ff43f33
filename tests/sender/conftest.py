"""A sender that may call loopback over http, a receiver, and orders to send."""

from collections.abc import Callable, Iterator
from typing import Any

import gevent
import pytest

from relay_web.domain.target import EgressPolicy
from relay_web.engine.outcome import Outcome, SendOrder
from relay_web.engine.sender import Sender
from tests.certificates import Authority
from tests.receiver import Receiver

#: Loopback without the part that stands for forbidden places.
LOOPBACK = "127.0.0.0/18,::1/128"
KEY = b"0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def policy() -> EgressPolicy:
    return EgressPolicy(allow_http=True, allow=EgressPolicy.parse_allow(LOOPBACK))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def make_sender(policy: EgressPolicy) -> Iterator[Callable[..., Sender]]:
    """Senders by `deadline` (3 s) and whatever else Sender takes; closed after the test."""
    made: list[Sender] = []

    def make(*, deadline: float = 3.0, policy: EgressPolicy = policy, **more: Any) -> Sender:
        made.append(Sender(policy, deadline, "Relay/test", **more))
        return made[-1]

    yield make
    for sender in made:
        sender.close()
    gevent.sleep(0)  # let closed sockets leave the hub


@pytest.fixture
def sender(make_sender: Callable[..., Sender]) -> Sender:
    return make_sender()


def order(url: str, **changes: Any) -> SendOrder:
    """An order to `url`; `changes` replace its other fields."""
    fields: dict[str, Any] = {
        "endpoint_id": "ep_1",
        "url": url,
        "secrets": (KEY,),
        "webhook_id": "msg_1",
        "delivery_id": "dlv_1",
        "attempt": 1,
        "lease_token": 1,
        "body": b'{"type":"a.b","timestamp":"2026-12-01T00:00:00Z","data":{}}',
        "timestamp": 1764600000,
    }
    return SendOrder(**(fields | changes))


@pytest.fixture
def exchange(sender: Sender, receiver: Receiver) -> Callable[..., Outcome]:
    """What comes of one send to a fresh path with this script."""

    def run(*script: Any, unread: bool = False, **changes: Any) -> Outcome:
        path = f"/{len(receiver.connections)}/{len(receiver.requests())}"
        receiver.script(path, list(script), unread=unread)
        return sender.send(order(receiver.url(path), **changes))

    return run
