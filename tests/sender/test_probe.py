"""The hint below the URL field: quick, polite, and it sends no request."""

import time
from collections.abc import Iterator

import pytest

from relay_web.domain.target import EgressPolicy
from relay_web.engine import connection
from relay_web.engine.probe import hint
from tests.certificates import Authority
from tests.receiver import Receiver, hold


@pytest.fixture(autouse=True)
def trusting(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The run's authority in the place of the public ones."""
    monkeypatch.setattr(connection, "DEFAULT_CA_BUNDLE_PATH", str(authority.file))
    connection.tls_context.cache_clear()
    yield
    connection.tls_context.cache_clear()


def test_a_good_receiver_looks_good_and_gets_no_request(
    policy: EgressPolicy, authority: Authority
) -> None:
    with Receiver(tls=authority.good()) as receiver:
        found = hint(receiver.url("/", host="localhost"), policy)
        assert receiver.requests() == []
    assert found.level == "ok"
    assert found.sentence.startswith("Looks good: resolves, HTTPS, certificate valid until ")


def test_plain_http_says_that_there_is_no_tls(policy: EgressPolicy, receiver: Receiver) -> None:
    found = hint(receiver.url(), policy)
    assert (found.level, found.sentence) == ("ok", "Looks good: takes connections, without TLS.")


def test_an_expired_certificate_is_told_with_its_date(
    policy: EgressPolicy, authority: Authority
) -> None:
    with Receiver(tls=authority.expired()) as receiver:
        found = hint(receiver.url("/", host="localhost"), policy)
    assert found.level == "warn"
    assert "expired on 2020-01-02 03:04 UTC" in found.sentence


@pytest.mark.parametrize(
    ("url", "level", "words"),
    [
        ("example.com", "bad", "Start with https://"),
        ("http://10.0.0.1/", "bad", "not allowed"),
        ("http://127.0.0.1:5009/", "warn", "refused the connection"),
        ("http://does-not-exist.invalid/", "warn", "does not resolve"),
    ],
)
def test_what_is_wrong_is_said_in_words(
    policy: EgressPolicy, url: str, level: str, words: str
) -> None:
    found = hint(url, policy)
    assert found.level == level
    assert words in found.sentence


def test_a_name_that_leads_inside_says_so_and_no_more() -> None:
    found = hint("http://localhost.:8080/", EgressPolicy(allow_http=True))
    assert (found.level, "not allowed" in found.sentence) == ("bad", True)
    inward = EgressPolicy(allow_http=True, allow=EgressPolicy.parse_allow("10.0.0.0/8"))
    found = hint("http://localhost:8080/", inward)
    assert found.level == "warn"
    assert "does not call internal addresses" in found.sentence


def test_a_slow_receiver_does_not_keep_the_form_waiting(
    policy: EgressPolicy, receiver: Receiver
) -> None:
    receiver.on_connect(hold())
    began = time.monotonic()
    found = hint(receiver.url().replace("http:", "https:"), policy, within=0.3)
    assert found.level == "warn"
    assert "you can save anyway" in found.sentence
    assert time.monotonic() - began < 1
