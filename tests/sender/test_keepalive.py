"""Connections are used again, never across endpoints, and never at the price of a false failure."""

from collections.abc import Callable

import gevent
import pytest

from relay_web.domain.causes import Cause
from relay_web.engine.connection import Connection
from relay_web.engine.sender import Sender
from tests.receiver import Receiver, Step, answer, close, fin, hold, reset, send
from tests.sender.conftest import order


def test_one_connection_carries_many_requests(sender: Sender, receiver: Receiver) -> None:
    receiver.script("/", answer(200, b"a"), answer(500, b"b"), answer(204), answer(200))
    statuses = [sender.send(order(receiver.url())).status for _ in range(4)]
    assert statuses == [200, 500, 204, 200]
    assert len(receiver.connections) == 1


def test_endpoints_do_not_share_a_connection(sender: Sender, receiver: Receiver) -> None:
    for endpoint in ("ep_1", "ep_2", "ep_1"):
        assert sender.send(order(receiver.url(), endpoint_id=endpoint)).ok
    assert len(receiver.connections) == 2


@pytest.mark.parametrize(
    "script",
    [
        [answer(200, headers=[("Connection", "close")])],
        [send(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")],
        [send(b"HTTP/1.1 205 Reset Content\r\n\r\n")],
        [send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), close()],
        [answer(200, b"x" * 100_000)],
        [send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")],
        [send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\ngarbage")],
        [answer(200, headers=[("Keep-Alive", "timeout=1, max=100")])],
        [close()],
        [send(b"nonsense")],
    ],
    ids=[
        "connection-close", "http-1.0", "205", "cut", "capped", "second-answer", "garbage-after",
        "keep-alive-1", "no-answer", "not-http",
    ],
)  # fmt: skip
def test_a_connection_is_dropped_after_anything_but_a_whole_plain_answer(
    sender: Sender, receiver: Receiver, script: list[Step]
) -> None:
    receiver.script("/", script, answer(200))
    sender.send(order(receiver.url()))
    assert sender.send(order(receiver.url())).ok
    assert len(receiver.connections) == 2


def test_bytes_that_come_while_idle_are_no_answer_to_the_next_request(
    sender: Sender, receiver: Receiver
) -> None:
    late = send(b"HTTP/1.1 500 Planted\r\nContent-Length: 0\r\n\r\n")
    receiver.script("/", [answer(200), hold(), late], answer(200))
    assert sender.send(order(receiver.url())).ok
    sent = receiver.connections[0].sent
    receiver.release()
    _until(lambda: receiver.connections[0].sent > sent)
    assert sender.send(order(receiver.url())).ok
    assert len(receiver.connections) == 2


@pytest.mark.parametrize("ending", [close(), fin(), reset()], ids=["close", "fin", "reset"])
def test_an_idle_connection_that_the_receiver_dropped_is_noticed(
    make_sender: Callable[..., Sender], ending: Step
) -> None:
    sender = make_sender()
    with Receiver(idle=0.1, idle_step=ending) as receiver:
        for _ in range(3):
            assert sender.send(order(receiver.url())).ok
            gevent.sleep(0.2)
        assert len(receiver.requests()) == len(receiver.connections) == 3


def test_receivers_that_hang_up_after_a_second_never_cause_a_failed_attempt(
    sender: Sender,
) -> None:
    """Case C16: gaps around the very moment at which the receiver hangs up, in three ways."""
    with (
        Receiver(idle=1.0, idle_step=close()) as closing,
        Receiver(idle=1.0, idle_step=fin()) as ending,
        Receiver(idle=1.0, idle_step=reset()) as resetting,
    ):
        receivers = (closing, ending, resetting)
        jobs = [
            gevent.spawn(_five_gaps, sender, receiver, f"ep_{number}")
            for receiver in receivers
            for number in range(8)
        ]
        causes = [cause for job in gevent.joinall(jobs, raise_error=True) for cause in job.value]
        arrived = [
            [request.headers["webhook-id"] for request in receiver.requests()]
            for receiver in receivers
        ]
    assert causes == [None] * 120
    assert [len(ids) == len(set(ids)) == 40 for ids in arrived] == [True] * 3


def _five_gaps(sender: Sender, receiver: Receiver, endpoint: str) -> list[Cause | None]:
    causes = []
    for gap in (0.90, 0.95, 1.00, 1.05, 1.10):
        outcome = sender.send(
            order(receiver.url(), endpoint_id=endpoint, webhook_id=f"{endpoint} {gap}")
        )
        causes.append(outcome.cause)
        gevent.sleep(gap)
    return causes


@pytest.mark.parametrize("ending", [close(), reset()], ids=["close", "reset"])
def test_a_request_that_met_a_closed_connection_is_sent_again_once(
    sender: Sender, receiver: Receiver, ending: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an idle connection that the receiver has closed, and a check that came too early to see
    receiver.script("/", [answer(200), ending], answer(200))
    assert sender.send(order(receiver.url())).ok
    gevent.sleep(0.05)
    monkeypatch.setattr(Connection, "is_fresh", lambda self: True)

    # When the next request is written into it
    outcome = sender.send(order(receiver.url(), webhook_id="msg_2"))

    # Then it goes over a fresh one, and the receiver saw it once
    assert outcome.ok
    assert [r.headers["webhook-id"] for r in receiver.requests()] == ["msg_1", "msg_2"]


@pytest.mark.parametrize(
    ("ending", "cause"), [(close(), Cause.CLOSED_EARLY), (reset(), Cause.RESET)]
)
def test_a_request_that_was_taken_and_then_dropped_is_a_failed_attempt_not_a_hidden_repeat(
    sender: Sender, receiver: Receiver, ending: Step, cause: Cause
) -> None:
    receiver.script("/", answer(200), [ending], answer(200))
    assert sender.send(order(receiver.url())).ok
    outcome = sender.send(order(receiver.url()))
    assert (outcome.ok, outcome.cause, outcome.started) == (False, cause, True)
    assert len(receiver.requests()) == 2


def test_a_killed_send_leaves_the_pool_healthy(sender: Sender, receiver: Receiver) -> None:
    receiver.script("/held", answer(200), [hold(), answer(500)])
    assert sender.send(order(receiver.url("/held"))).ok
    job = gevent.spawn(sender.send, order(receiver.url("/held")))
    _until(lambda: len(receiver.requests("/held")) == 2)
    job.kill()
    assert isinstance(job.value, gevent.GreenletExit)
    assert sender.send(order(receiver.url("/next"))).status == 200
    assert len(receiver.connections) == 2


def test_idle_connections_are_closed_when_their_time_is_up(
    sender: Sender, receiver: Receiver
) -> None:
    assert sender.send(order(receiver.url())).ok
    connection = receiver.connections[0]
    _until(lambda: connection.sock.fileno() == -1, within=5)


def _until(condition: Callable[[], bool], within: float = 5) -> None:
    with gevent.Timeout(within):
        while not condition():
            gevent.sleep(0.005)
