"""TLS 1.2 or newer, always verified, by the name in the URL (S18)."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from relay_web.domain.causes import Cause
from relay_web.engine.sender import Sender
from tests.certificates import Authority
from tests.receiver import Receiver, flood, reset, send
from tests.sender.conftest import order


@pytest.fixture
def sender(make_sender: Callable[..., Sender], authority: Authority) -> Sender:
    return make_sender(ca_file=str(authority.file))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_good_certificate_delivers_and_the_connection_is_used_again(
    sender: Sender, authority: Authority, host: str
) -> None:
    with Receiver(tls=authority.good()) as receiver:
        first = sender.send(order(receiver.url("/", host=host)))
        second = sender.send(order(receiver.url("/", host=host)))
        assert first.ok
        assert second.ok
        assert first.tls_version == second.tls_version == "TLSv1.3"
        assert len(receiver.connections) == 1


def test_a_large_body_over_tls_arrives_whole(sender: Sender, authority: Authority) -> None:
    body = bytes(range(256)) * 4096  # 1 MiB
    with Receiver(tls=authority.good()) as receiver:
        assert sender.send(order(receiver.url(), body=body)).ok
        assert receiver.requests()[0].body == body


def test_a_flood_over_tls_is_capped(sender: Sender, authority: Authority) -> None:
    with Receiver(tls=authority.good()) as receiver:
        receiver.script("/", [send(b"HTTP/1.1 200 OK\r\n\r\n"), flood(b"x")])
        outcome = sender.send(order(receiver.url()))
    assert (outcome.ok, outcome.body_truncated) == (True, True)
    assert outcome.elapsed_ms < 2000


@pytest.mark.parametrize(
    ("kind", "cause", "words"),
    [
        ("wrong_name", Cause.TLS_WRONG_NAME, "mismatch"),
        ("expired", Cause.TLS_EXPIRED, "expired on 2020-01-02 03:04 UTC"),
        ("unknown_issuer", Cause.TLS_UNKNOWN_ISSUER, "issuer"),
        ("self_signed", Cause.TLS_UNKNOWN_ISSUER, "self-signed"),
        ("old_version", Cause.TLS_VERSION, "TLS"),
    ],
)
def test_each_bad_certificate_has_its_cause_and_gets_no_request(
    sender: Sender, authority: Authority, tmp_path: Path, kind: str, cause: Cause, words: str
) -> None:
    """S18."""
    make = getattr(authority, kind)
    context: ssl.SSLContext = make(tmp_path) if kind == "self_signed" else make()
    with Receiver(tls=context) as receiver:
        outcome = sender.send(order(receiver.url("/", host="localhost")))
        assert receiver.requests() == []
    assert (outcome.ok, outcome.cause, outcome.started) == (False, cause, False)
    assert words in outcome.reason


def test_a_certificate_without_the_address_does_not_do_for_an_address(
    sender: Sender, authority: Authority
) -> None:
    with Receiver(tls=authority.good("localhost")) as receiver:
        outcome = sender.send(order(receiver.url("/")))
    assert outcome.cause is Cause.TLS_WRONG_NAME


def test_a_private_authority_is_not_trusted_unless_it_was_given(
    make_sender: Callable[..., Sender], authority: Authority
) -> None:
    with Receiver(tls=authority.good()) as receiver:
        outcome = make_sender().send(order(receiver.url("/", host="localhost")))
    assert outcome.cause is Cause.TLS_UNKNOWN_ISSUER


def test_https_to_a_port_without_tls_is_a_version_failure(
    sender: Sender, receiver: Receiver
) -> None:
    receiver.on_connect(send(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    outcome = sender.send(order(receiver.url().replace("http:", "https:")))
    assert outcome.cause is Cause.TLS_VERSION


def test_a_reset_in_the_handshake_is_a_tls_failure(sender: Sender, receiver: Receiver) -> None:
    receiver.on_connect(reset())
    outcome = sender.send(order(receiver.url().replace("http:", "https:")))
    assert outcome.cause in (Cause.TLS_FAILURE, Cause.RESET)


def test_the_name_is_sent_and_an_address_is_not(sender: Sender, authority: Authority) -> None:
    asked: list[str | None] = []
    context = authority.good()
    context.sni_callback = lambda sock, name, _: asked.append(name)
    with Receiver(tls=context) as receiver:
        sender.send(order(receiver.url("/", host="localhost")))
        sender.send(order(receiver.url("/")))
    assert asked == ["localhost", None]
