"""What is sent, what is reported, and that nothing a stored record holds can break the worker."""

import base64
import hashlib
import hmac
import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relay_web.clock import utcnow
from relay_web.domain.causes import Cause
from relay_web.domain.signing import decode_private_key, decode_secret, new_private_key, new_secret
from relay_web.domain.target import EgressPolicy
from relay_web.engine import sender as sender_module
from relay_web.engine.sender import Sender
from tests.receiver import Receiver, Request, answer
from tests.sender.conftest import order


def test_the_headers_are_those_of_standard_webhooks_and_relay_s_own(
    sender: Sender, receiver: Receiver
) -> None:
    """G1."""
    body = b'{"a":1}'
    outcome = sender.send(
        order(
            receiver.url("/hook?x=1"),
            headers=(("X-Tenant", "acme"), ("Authorization", "Bearer t")),
            body=body,
            attempt=3,
            lease_token=7,
        )
    )
    (request,) = receiver.requests()
    signature = request.headers.pop("webhook-signature")
    assert signature.startswith("v1,")
    assert request.head.startswith(b"POST /hook?x=1 HTTP/1.1\r\n")
    assert request.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "content-type": "application/json",
        "content-length": str(len(body)),
        "user-agent": "Relay/test",
        "accept-encoding": "identity",
        "webhook-id": "msg_1",
        "webhook-timestamp": "1764600000",
        "relay-delivery": "dlv_1",
        "relay-attempt": "3",
        "relay-lease-token": "7",
        "x-tenant": "acme",
        "authorization": "Bearer t",
    }
    sent = {name.lower(): value for name, value in outcome.request_headers}
    assert sent == request.headers | {"webhook-signature": signature}
    assert (outcome.remote_ip, outcome.started) == ("127.0.0.1", True)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
def test_the_signature_covers_the_bytes_on_the_wire(
    sender: Sender, receiver: Receiver, text: str
) -> None:
    """Case C30: whatever was published arrives unchanged and verifies with both live secrets."""
    body = b'{"big":12345678901234567890,"f":1.0,"z":-0.0,"x":1e3,"u":"' + (
        text.encode("utf-8", "replace").replace(b'"', b"'") + b'"}'
    )
    secrets = (new_secret(), new_secret())
    now = int(utcnow().timestamp())
    keys = tuple(map(decode_secret, secrets))
    assert sender.send(order(receiver.url(), body=body, secrets=keys, timestamp=now)).ok
    request = receiver.requests()[-1]
    assert hashlib.sha256(request.body).digest() == hashlib.sha256(body).digest()
    for secret in secrets:
        assert signed_by(secret, request)


def signed_by(secret: str, request: Request) -> bool:
    """The recipe of case C30, with nothing but the standard library."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    stamp = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}."
    mine = hmac.new(key, stamp.encode() + request.body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(mine).decode()}" in request.headers["webhook-signature"].split(
        " "
    )


def test_an_endpoint_may_get_an_ed25519_signature_as_well(
    sender: Sender, receiver: Receiver
) -> None:
    seed = decode_private_key(new_private_key())
    sender.send(order(receiver.url(), private_key=seed))
    names = [entry[:4] for entry in receiver.requests()[0].headers["webhook-signature"].split(" ")]
    assert names[0].startswith("v1,")
    assert names[1] == "v1a,"


def test_hosts_are_named_as_the_url_names_them(sender: Sender, receiver: Receiver) -> None:
    assert sender.send(order(receiver.url("/", host="localhost"))).ok
    assert receiver.requests()[0].headers["host"] == f"localhost:{receiver.port}"


def test_ipv6_is_called_and_named_in_brackets(sender: Sender) -> None:
    with Receiver(host="::1") as receiver:
        outcome = sender.send(order(receiver.url()))
        assert outcome.ok
        assert outcome.remote_ip == "::1"
        assert receiver.requests()[0].headers["host"] == f"[::1]:{receiver.port}"


@pytest.mark.parametrize(
    "url",
    [
        "", "ftp://127.0.0.1/", "http://a..b/", "http://" + "a" * 64 + ".example/", "http://[::1",
        "http://127.0.0.1:99999/", "http://exa mple.com/", "http://ok.test\r\nX-Evil: 1/", "http://",
        "http://u:p@127.0.0.1/", "\x00", "http://127.0.0.1:22/",
    ],
)  # fmt: skip
def test_a_bad_url_that_got_into_the_store_is_a_failed_attempt(sender: Sender, url: str) -> None:
    """S11, S12 and S13 at the send."""
    outcome = sender.send(order(url))
    assert (outcome.ok, outcome.cause, outcome.started) == (False, Cause.BAD_URL, False)


@pytest.mark.parametrize(
    "pair",
    [
        ("X-A", "✓"), ("X-A", "a\r\nX-Evil: 1"), ("X-A", " leading"), ("X A:", "v"), ("", "v"),
        ("Host", "127.0.0.1"), ("Content-Length", "1"), ("Transfer-Encoding", "chunked"),
        ("webhook-id", "x"), ("relay-lease-token", "9"), ("X-A\r\nX-Evil", "1"), ("X-A", "\x00"),
    ],
)  # fmt: skip
def test_a_bad_header_that_got_into_the_store_is_a_failed_attempt(
    sender: Sender, receiver: Receiver, pair: tuple[str, str]
) -> None:
    """S16 at the send."""
    outcome = sender.send(order(receiver.url(), headers=(pair,)))
    assert (outcome.ok, outcome.cause) == (False, Cause.BAD_REQUEST_HEADER)
    assert receiver.connections == []


def test_a_line_break_in_relay_s_own_headers_never_reaches_the_wire(
    sender: Sender, receiver: Receiver
) -> None:
    """S16."""
    outcome = sender.send(order(receiver.url(), webhook_id="msg_1\r\nX-Evil: 1"))
    assert outcome.cause is Cause.BAD_REQUEST_HEADER
    assert receiver.requests() == []


def test_a_fault_of_relay_s_own_costs_one_attempt_and_is_logged(
    sender: Sender,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(sender_module, "sign", lambda *_, **__: 1 // 0)
        outcome = sender.send(order(receiver.url("/?token=tok98765")))
    assert (outcome.ok, outcome.cause) == (False, Cause.INTERNAL)
    assert "send failed on Relay's side" in caplog.text
    assert "tok98765" not in caplog.text
    assert sender.send(order(receiver.url())).ok


def test_nothing_in_the_environment_changes_where_or_how_a_request_goes(
    make_sender: Callable[..., Sender],
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: os.PathLike[str],
) -> None:
    """S15: proxies, netrc, authority bundles and TLS key logs are other people's settings."""
    for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.66.0.1:9")
    netrc = os.path.join(tmp_path, "netrc")
    with open(netrc, "w") as file:
        file.write("machine 127.0.0.1 login u password s3cr3tpw\n")
    monkeypatch.setenv("NETRC", netrc)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    monkeypatch.setenv("SSLKEYLOGFILE", os.path.join(tmp_path, "keys"))
    assert make_sender().send(order(receiver.url())).ok
    assert "authorization" not in receiver.requests()[0].headers
    assert os.listdir(tmp_path) == ["netrc"]


def test_no_cookie_is_ever_sent_back(sender: Sender, receiver: Receiver) -> None:
    """M12: one team's session at a receiver is not another's."""
    receiver.script("/", answer(200, headers=[("Set-Cookie", "a=1; Path=/")]))
    for endpoint in ("ep_1", "ep_1", "ep_2"):
        assert sender.send(order(receiver.url(), endpoint_id=endpoint)).ok
    assert all("cookie" not in request.headers for request in receiver.requests())


def test_a_refused_connection_is_told_apart(sender: Sender, receiver: Receiver) -> None:
    url = receiver.url()
    receiver.close()
    outcome = sender.send(order(url))
    assert (outcome.cause, outcome.started) == (Cause.CONNECTION_REFUSED, False)


def test_an_edited_endpoint_is_called_at_its_new_address_at_once(sender: Sender) -> None:
    """Case C11 (a): neither the template nor a kept connection leads back to the old one."""
    with Receiver() as old, Receiver() as new:
        for receiver in (old, new, new):
            assert sender.send(order(receiver.url())).ok
        assert (len(old.requests()), len(new.requests())) == (1, 2)


def test_thousands_of_endpoints_do_not_grow_the_sender(
    sender: Sender, policy: EgressPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "MAX_TEMPLATES", 10)
    for number in range(50):
        sender.prepared(order("http://127.0.0.1:5001/", endpoint_id=f"ep_{number}"))
    assert len(sender._templates) == 10
