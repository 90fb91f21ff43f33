"""Addresses are checked at the moment of connecting, whatever was saved (reliability §3.5)."""

from collections.abc import Callable, Iterator

import pytest

from relay_web.domain.causes import Cause
from relay_web.domain.target import EgressPolicy
from relay_web.engine.outcome import Outcome
from relay_web.engine.resolver import Resolver
from relay_web.engine.sender import Sender
from tests import tripwire
from tests.bypasses import INSIDE, URLS, urls
from tests.nameserver import NameServer
from tests.receiver import Receiver, answer
from tests.sender.conftest import order

PUBLIC = EgressPolicy(allow_http=True)


@pytest.fixture
def names() -> Iterator[NameServer]:
    with NameServer() as names:
        yield names


@pytest.fixture
def ask(names: NameServer, make_sender: Callable[..., Sender]) -> Callable[..., Sender]:
    """A sender that asks `names` afresh for every connection."""

    def make(**more: object) -> Sender:
        resolver = Resolver(servers="127.0.0.1", port=names.port, keep=0)
        return make_sender(resolver=resolver, **more)

    return make


def is_blocked(outcome: Outcome) -> bool:
    """Blocked, and nothing else is told (S22)."""
    assert outcome.cause is Cause.BLOCKED_ADDRESS
    assert outcome.reason == "blocked by address policy"
    assert (outcome.status, outcome.remote_ip, outcome.tls_version) == (None, None, None)
    assert (outcome.response_headers, outcome.response_body, outcome.started) == ((), b"", False)
    assert set(vars_of(outcome.phases)) == {None}
    return True


def vars_of(phases: object) -> list[object]:
    return [getattr(phases, name) for name in phases.__slots__]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "localhost",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:a9fe:a9fe]",
        "169.254.169.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "[fe80::1]",
        "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    ],
)  # fmt: skip
def test_case_c25_is_blocked_at_the_send_too(make_sender: Callable[..., Sender], host: str) -> None:
    sender = make_sender(policy=PUBLIC)
    assert is_blocked(sender.send(order(f"http://{host}/")))
    assert is_blocked(sender.send(order(f"http://{host}:8080/")))


@pytest.mark.parametrize("row", [*INSIDE, *URLS])
def test_a_url_that_was_forced_past_the_saving_is_not_called_either(
    make_sender: Callable[..., Sender], row: str
) -> None:
    """S1, S3 to S6, S8, S11 to S14 and S17 at the send; `tests.tripwire` sees to the connects."""
    own = EgressPolicy(allow_http=True, own_hosts=frozenset({"relay.example"}))
    sender = make_sender(policy=own)
    for url in urls(row):
        outcome = sender.send(order(url))
        assert outcome.cause in (Cause.BLOCKED_ADDRESS, Cause.BAD_URL), url
        assert (outcome.started, outcome.remote_ip, outcome.status) == (False, None, None)
        assert set(vars_of(outcome.phases)) == {None}


def test_open_and_closed_ports_of_a_blocked_address_look_the_same(
    make_sender: Callable[..., Sender],
) -> None:
    sender = make_sender(policy=PUBLIC)
    with Receiver(host="127.0.0.1", port=8080) as receiver:
        assert is_blocked(sender.send(order("http://127.0.0.1:8080/")))
        assert receiver.connections == []
    assert is_blocked(sender.send(order("http://127.0.0.1:8080/")))


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.66.0.1"], ["10.0.0.1"], ["169.254.169.254"], ["::1", "127.66.0.1"],
        ["::ffff:a9fe:a9fe"], ["fd00:ec2::254"], ["100.64.0.1", "0.0.0.0"],
    ],
    ids=str,
)  # fmt: skip
def test_a_public_name_that_leads_inside_is_blocked(
    names: NameServer, ask: Callable[..., Sender], addresses: list[str]
) -> None:
    """S7: nip.io and its like."""
    names.zone["inside.test"] = addresses
    assert is_blocked(ask(policy=PUBLIC).send(order("http://inside.test/")))


@pytest.mark.parametrize("order_of", ["good first", "bad first"])
def test_a_rebinding_name_never_gets_a_connection_to_a_forbidden_address(
    names: NameServer,
    ask: Callable[..., Sender],
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    order_of: str,
) -> None:
    """S9, 1,000 look-ups in each order: the address that is checked is the one that is called."""
    flips = [["127.0.0.1"], ["127.66.0.1"]] * 500
    names.zone["flip.test"] = flips if order_of == "good first" else flips[::-1]
    receiver.script("/", answer(200, headers=[("Connection", "close")]))
    sender = ask()
    causes = [sender.send(order(receiver.url("/", host="flip.test"))).cause for _ in range(1000)]
    assert causes.count(None) == causes.count(Cause.BLOCKED_ADDRESS) == 500
    assert len(receiver.connections) == 500
    assert tripwire.tripped == []


def test_of_mixed_answers_only_the_allowed_are_called(
    names: NameServer, ask: Callable[..., Sender], receiver: Receiver
) -> None:
    names.zone["mixed.test"] = ["127.66.0.1", "::ffff:a9fe:a9fe", "127.0.0.1"]
    sender = ask()
    outcome = sender.send(order(receiver.url("/", host="mixed.test")))
    assert outcome.ok
    assert outcome.remote_ip == "127.0.0.1"
    assert sender.transport.mixed_answers == 1


def test_a_name_that_moved_inside_is_blocked_at_the_next_connect(
    names: NameServer, ask: Callable[..., Sender], receiver: Receiver
) -> None:
    """S20."""
    names.zone["moved.test"] = ["127.0.0.1"]
    receiver.script("/", answer(200, headers=[("Connection", "close")]))
    sender = ask()
    assert sender.send(order(receiver.url("/", host="moved.test"))).ok
    names.zone["moved.test"] = ["10.0.0.1"]
    assert is_blocked(sender.send(order(receiver.url("/", host="moved.test"))))


def test_a_second_address_is_tried_where_the_first_is_dead(
    names: NameServer, ask: Callable[..., Sender], receiver: Receiver
) -> None:
    names.zone["two.test"] = ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    assert ask().send(order(receiver.url("/", host="two.test"))).ok


def test_forty_dead_addresses_are_not_all_tried(
    names: NameServer, ask: Callable[..., Sender]
) -> None:
    names.zone["many.test"] = [f"127.0.0.{number}" for number in range(2, 42)]
    outcome = ask().send(order("http://many.test:5001/"))
    assert outcome.cause is Cause.CONNECTION_REFUSED
    assert outcome.elapsed_ms < 1000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location",
    [
        "http://127.66.0.1/", "http://169.254.169.254/latest/", "file:///etc/passwd",
        "gopher://127.0.0.1/", "/elsewhere", "//127.66.0.1/",
    ],
)  # fmt: skip
def test_a_redirect_is_a_failure_and_its_target_is_text(
    sender: Sender, receiver: Receiver, status: int, location: str
) -> None:
    """Cases C24 and S10: one request, no other connection."""
    receiver.script("/", answer(status, b"moved", [("Location", location), ("Refresh", "0")]))
    outcome = sender.send(order(receiver.url()))
    assert (outcome.ok, outcome.cause, outcome.status) == (False, Cause.REDIRECT, status)
    assert ("Location", location) in outcome.response_headers
    assert len(receiver.requests()) == len(receiver.connections) == 1


def test_requests_own_way_of_sending_follows_no_redirect_either(
    sender: Sender, receiver: Receiver
) -> None:
    receiver.script("/", answer(302, headers=[("Location", "/two"), ("Set-Cookie", "a=1")]))
    response = sender.session.post(receiver.url(), data=b"{}", timeout=3)
    assert response.status_code == 302
    assert response.headers["location"] == "/two"
    assert not sender.session.cookies
    assert [request.path for request in receiver.requests()] == ["/"]
