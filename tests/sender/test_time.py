"""One deadline over the whole exchange, whatever the receiver does with its time."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import gevent
import pytest

from relay_web.domain.causes import Cause
from relay_web.engine.outcome import Outcome
from relay_web.engine.sender import Sender
from tests.certificates import Authority
from tests.receiver import Receiver, Step, answer, drip, hold, pause, send
from tests.sender.conftest import order

DEADLINE = 0.5
#: How late an attempt may end on a machine that is busy with other tests.
GRACE = 0.5

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


@pytest.fixture
def sender(make_sender: Callable[..., Sender]) -> Sender:
    return make_sender(deadline=DEADLINE)


def ended_in_time(outcome: Outcome) -> bool:
    return DEADLINE * 1000 - 50 <= outcome.elapsed_ms <= (DEADLINE + GRACE) * 1000


@pytest.mark.parametrize(
    ("script", "cause", "status"),
    [
        ([hold()], Cause.RESPONSE_TIMEOUT, None),
        ([drip(HEAD, every=0.1)], Cause.RESPONSE_TIMEOUT, None),
        ([send(b"HTTP/1.1 100 Continue\r\n\r\n"), hold()], Cause.RESPONSE_TIMEOUT, None),
        ([send(HEAD), drip(b"x" * 1000, every=0.05)], Cause.BODY_TIMEOUT, 200),
        ([send(HEAD), hold()], Cause.BODY_TIMEOUT, 200),
        ([send(b"HTTP/1.1 200 OK\r\n\r\n"), hold()], Cause.BODY_TIMEOUT, 200),
    ],
    ids=["silence", "header-drip", "interim-then-silence", "body-drip", "no-body", "no-length"],
)
def test_an_answer_that_takes_too_long_is_a_timeout_of_its_phase(
    sender: Sender, receiver: Receiver, script: list[Step], cause: Cause, status: int | None
) -> None:
    receiver.script("/slow", script)
    outcome = sender.send(order(receiver.url("/slow")))
    assert (outcome.ok, outcome.cause, outcome.status) == (False, cause, status)
    assert outcome.started
    assert ended_in_time(outcome)


def test_a_failure_keeps_its_status_although_its_body_never_ends(
    sender: Sender, receiver: Receiver
) -> None:
    slow = b"HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nab"
    receiver.script("/slow", [send(slow), hold()])
    outcome = sender.send(order(receiver.url("/slow")))
    assert (outcome.cause, outcome.status) == (Cause.SERVER_ERROR, 503)
    assert (outcome.retry_after, outcome.body_truncated) == (7.0, True)
    assert ended_in_time(outcome)


def test_a_receiver_that_does_not_read_is_a_write_timeout(
    sender: Sender, receiver: Receiver
) -> None:
    receiver.script("/deaf", [hold()], unread=True)
    outcome = sender.send(order(receiver.url("/deaf"), body=b"x" * 20_000_000))
    assert outcome.cause is Cause.WRITE_TIMEOUT
    assert ended_in_time(outcome)


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port whose queue of waiting connections is full, so the next one gets no answer at all."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_a_host_that_takes_no_connection_is_a_connect_timeout(
    sender: Sender, full_port: int
) -> None:
    outcome = sender.send(order(f"http://127.0.0.1:{full_port}/"))
    assert (outcome.cause, outcome.started) == (Cause.CONNECT_TIMEOUT, False)
    assert ended_in_time(outcome)


def test_tls_that_never_answers_is_a_tls_timeout(sender: Sender, receiver: Receiver) -> None:
    receiver.on_connect(hold())
    outcome = sender.send(order(receiver.url().replace("http:", "https:")))
    assert (outcome.cause, outcome.started) == (Cause.TLS_TIMEOUT, False)
    assert ended_in_time(outcome)


def test_slow_receivers_do_not_hold_up_a_quick_one(
    make_sender: Callable[..., Sender], receiver: Receiver
) -> None:
    sender = make_sender(deadline=1.0)
    receiver.script("/slow", [send(HEAD), drip(b"x" * 1000, every=0.1)])
    slow = [gevent.spawn(sender.send, order(receiver.url("/slow"))) for _ in range(20)]
    receiver_has = gevent.spawn(_until, lambda: len(receiver.requests("/slow")) == 20)
    receiver_has.get(timeout=5)
    outcome = sender.send(order(receiver.url("/quick"), endpoint_id="ep_2"))
    assert outcome.ok
    assert outcome.elapsed_ms < 300
    assert [job.get(timeout=5).cause for job in slow] == [Cause.BODY_TIMEOUT] * 20


def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        gevent.sleep(0.005)


def test_phases_add_up_to_the_whole(
    make_sender: Callable[..., Sender], authority: Authority
) -> None:
    sender = make_sender(ca_file=str(authority.file))
    with Receiver(tls=authority.good()) as receiver:
        receiver.script("/", [pause(0.1), answer(200)])
        outcome = sender.send(order(receiver.url("/", host="localhost")))
        again = sender.send(order(receiver.url("/", host="localhost")))
    phases = outcome.phases
    measured = [phases.dns_ms, phases.connect_ms, phases.tls_ms, phases.write_ms, phases.wait_ms]
    assert all(ms is not None and ms > 0 for ms in measured)
    assert phases.wait_ms is not None
    assert phases.wait_ms >= 95
    assert sum(ms or 0 for ms in measured) <= outcome.elapsed_ms
    assert (again.phases.dns_ms, again.phases.connect_ms, again.phases.tls_ms) == (None,) * 3


def test_a_foreign_timeout_passes_through_and_leaves_the_pool_healthy(
    sender: Sender, receiver: Receiver
) -> None:
    receiver.script("/held", [hold()])
    mine = gevent.Timeout(0.1)
    with pytest.raises(gevent.Timeout) as caught, closing(mine.start() or mine):
        sender.send(order(receiver.url("/held")))
    assert caught.value is mine
    assert sender.send(order(receiver.url("/next"))).ok
    assert len(receiver.connections) == 2
