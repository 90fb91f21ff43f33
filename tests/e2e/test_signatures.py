"""What arrives verifies with the official Standard Webhooks libraries, in Python and in Node."""

import base64
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from relay_web.domain.event import Publish
from relay_web.domain.signing import decode_secret, sign
from relay_web.engine.intake import Intake
from relay_web.engine.registration import rotate_secret
from tests.e2e import invariants, node
from tests.e2e.node import Signed
from tests.e2e.stage import Stage
from tests.e2e.waiting import SOON
from tests.receiver import Request, answer

#: Not ASCII, and not how a serialiser would write it: only the exact bytes verify.
DATA = {"id": "in_1", "total": 12.50, "note": "Grüße, 世界 🎉", "nested": {"a": [1, None, True]}}
BODIES = 500
BATCH = 50

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)
_EDGES = [
    b"{}",
    b"9007199254740991",
    b"9007199254740992",
    b"9007199254740993",
    b"-9007199254740993",
    b"1e400",
    b'"\\u00e9\\/\\n\\u0000\\ud83d\\ude00"',
    '"é \u2028\u2029 😀 \x7f"'.encode(),
    b'{ "spaced" :\t[ 1 , 2.50 ] }',
    b'"' + b"x" * (255 * 1024) + b'"',
    ('"' + "😀" * (60 * 1024) + '"').encode(),
]


@pytest.fixture(scope="module")
def node_library() -> Path:
    return node.installed()


def test_an_event_published_over_http_verifies_in_python_and_in_node(
    stage: Stage, node_library: Path
) -> None:
    # Given an event that was published over HTTP and has arrived
    secret = stage.register("/in").secret
    stage.worker()
    published = stage.web().publish(DATA)
    assert published.status_code == 202, published.text
    (request,) = stage.receiver.wait(1, "/in", within=SOON)
    assert request.headers["webhook-id"] == published.json()["id"]

    # Then both libraries take it for genuine, and read the same in it
    verified = Webhook(secret).verify(request.body, request.headers)
    assert verified["type"] == "invoice.paid"
    assert verified["data"] == DATA
    (in_node,) = node.verify(node_library, [Signed(secret, request.headers, request.body)])
    assert in_node == {"read": verified}


def test_500_bodies_verify_in_both_languages_through_two_rotations_and_retries(
    stage: Stage, node_library: Path
) -> None:
    """G1 to G3, G5 to G8, G11: each attempt is signed anew, over the stored bytes, by every key."""
    # Given a receiver that refuses every third request, so that retries cross the rotations
    stage.receiver.script("/in", *[answer(200), answer(500), answer(200)] * BODIES, answer(200))
    endpoint, secret = stage.register("/in", ed25519=True)
    assert endpoint.key_pair is not None
    secrets = [secret]
    stage.worker(RELAY_RETRY_SCHEDULE=",".join(["300ms"] * 30))

    # When the secret is rotated twice while they go out
    bodies, intake = _bodies(), Intake(stage.store)
    for number in range(0, BODIES, BATCH):
        wishes = [Publish(type="a.b", data=data) for data in bodies[number : number + BATCH]]
        intake.accept_many(stage.team, wishes)
        stage.receiver.wait(number + BATCH, "/in", within=SOON)
        if number in (3 * BATCH, 6 * BATCH):
            secrets.append(rotate_secret(stage.store, stage.vault, stage.team, endpoint.id).secret)
    stage.settled(delivered=BODIES)

    # Then every request verifies with every secret that had been made by then
    requests = stage.receiver.requests("/in")
    assert len(requests) > BODIES
    signed = [one for request in requests for one in _by_every_secret(request, secrets)]
    assert {one.secret for one in signed} == set(secrets)
    for one in signed:
        assert Webhook(one.secret).verify(one.body, dict(one.headers)) == json.loads(one.body)
    for request in requests:
        _verify_v1a(endpoint.key_pair.public, request)
    public = [Signed(endpoint.key_pair.public, one.headers, one.body) for one in requests]
    answers = node.verify(node_library, signed + public)
    assert [each["refused"] for each in answers if "refused" in each] == []

    # And what arrived is what was published, under one id on every attempt
    arrived = {request.body.split(b'"data":', 1)[1][:-1] for request in requests}
    assert arrived == set(bodies)
    assert len({request.headers["webhook-id"] for request in requests}) == BODIES
    invariants.hold(stage)


def test_what_was_changed_in_any_part_is_refused_in_both_languages(
    stage: Stage, node_library: Path
) -> None:
    """G2, G4, G6, G7, G11: the negatives."""
    endpoint, secret = stage.register("/in")
    stage.worker()
    stage.publish()
    (request,) = stage.receiver.wait(1, "/in", within=SOON)
    renewed = rotate_secret(
        stage.store, stage.vault, stage.team, endpoint.id, overlap=timedelta(0)
    ).secret
    last = _until_signed_by(stage, renewed)

    for one in (Signed(secret, request.headers, request.body), _signed(last, renewed)):
        assert Webhook(one.secret).verify(one.body, dict(one.headers))
    wrong = [*_changed(Signed(secret, request.headers, request.body)), _signed(last, secret)]
    for one in wrong:
        with pytest.raises(WebhookVerificationError):
            Webhook(one.secret).verify(one.body, dict(one.headers))
    answers = node.verify(node_library, wrong)
    assert answers == [{"refused": "WebhookVerificationError"}] * len(wrong)


def _bodies() -> list[bytes]:
    """`BODIES` different JSON texts: the edges, then what Hypothesis thinks of."""
    found = dict.fromkeys(_EDGES)

    @settings(
        max_examples=BODIES * 3,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_VALUES, st.booleans())
    def collect(value: object, escaped: bool) -> None:
        found[json.dumps(value, ensure_ascii=escaped).encode()] = None

    collect()
    assert len(found) >= BODIES
    return list(found)[:BODIES]


def _by_every_secret(request: Request, secrets: list[str]) -> Iterator[Signed]:
    """The request once for each secret that signed it, with that secret's signature alone."""
    entries = request.headers["webhook-signature"].split(" ")
    assert [entry.split(",")[0] for entry in entries] == ["v1"] * (len(entries) - 1) + ["v1a"]
    made_by_then = reversed(secrets[: len(entries) - 1])
    for secret, entry in zip(made_by_then, entries, strict=False):
        yield Signed(secret, {**request.headers, "webhook-signature": entry}, request.body)
        yield _signed(request, secret)


def _signed(request: Request, secret: str) -> Signed:
    return Signed(secret, request.headers, request.body)


def _verify_v1a(public: str, request: Request) -> None:
    """Raises where the Ed25519 signature is not of this request."""
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public.removeprefix("whpk_")))
    headers = request.headers
    entry = headers["webhook-signature"].rpartition("v1a,")[2]
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode()
    key.verify(base64.b64decode(entry), text + request.body)


def _until_signed_by(stage: Stage, secret: str) -> Request:
    """Publish until a request is signed by `secret` alone; the worker learns it in a second."""
    give_up = time.monotonic() + SOON
    while time.monotonic() < give_up:
        before = len(stage.receiver.requests("/in"))
        stage.publish()
        request = stage.receiver.wait(before + 1, "/in", within=SOON)[-1]
        headers = request.headers
        timestamp = int(headers["webhook-timestamp"])
        keys = [decode_secret(secret)]
        own = sign(keys, headers["webhook-id"], timestamp, request.body)
        if headers["webhook-signature"] == own:
            return request
    raise AssertionError("no request is signed by the new secret alone")


def _changed(good: Signed) -> Iterator[Signed]:
    """The request with one thing wrong in it."""
    flipped = bytes([good.body[0], good.body[1] ^ 1]) + good.body[2:]
    yield Signed(good.secret, good.headers, flipped)
    yield Signed(good.secret, good.headers, good.body + b" ")
    key = bytearray(decode_secret(good.secret))
    key[0] ^= 1
    yield Signed("whsec_" + base64.b64encode(key).decode(), good.headers, good.body)
    identity, timestamp = good.headers["webhook-id"], int(good.headers["webhook-timestamp"])
    yield Signed(good.secret, {**good.headers, "webhook-id": identity[:-1] + "~"}, good.body)
    yield Signed(good.secret, {**good.headers, "webhook-timestamp": str(timestamp + 1)}, good.body)
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        rest = {key: value for key, value in good.headers.items() if key != name}
        yield Signed(good.secret, rest, good.body)
    now = int(time.time())
    for late in (now - 301, now + 360):  # the one ahead must still be so when node has started
        own = sign([decode_secret(good.secret)], identity, late, good.body)
        headers = {"webhook-timestamp": str(late), "webhook-signature": own}
        yield Signed(good.secret, {**good.headers, **headers}, good.body)
