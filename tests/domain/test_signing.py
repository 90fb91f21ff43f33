"""Standard Webhooks signatures (reliability §5, G1-G9), checked by the official library."""

import base64
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from relay_web.domain.signing import (
    decode_private_key,
    decode_secret,
    new_private_key,
    new_secret,
    public_key,
    sign,
)
from relay_web.errors import Invalid

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
VECTOR = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')


def verify(
    secret: str, signature: str, body: bytes, *, now: int, webhook_id: str = "msg_1"
) -> None:
    Webhook(secret).verify(
        body,
        {
            "webhook-id": webhook_id,
            "webhook-timestamp": str(now),
            "webhook-signature": signature,
        },
    )


def test_the_published_vector() -> None:
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sign([decode_secret(SECRET)], *VECTOR) == expected


def test_several_keys_sign_newest_first_with_single_spaces() -> None:
    """G5."""
    keys = [bytes([number]) * 32 for number in range(7)]
    signature = sign(keys, *VECTOR)
    assert signature.split(" ") == [sign([key], *VECTOR) for key in keys[:5]]


@given(st.binary(max_size=2000))
def test_the_official_library_verifies_any_utf_8_body(raw: bytes) -> None:
    """G10."""
    body = b'{"x":"' + raw.hex().encode() + "é☃😀".encode() + b'"}'
    now = int(datetime.now(UTC).timestamp())
    old, new = new_secret(), new_secret()
    signature = sign([decode_secret(new), decode_secret(old)], "msg_1", now, body)
    for secret in (old, new):
        verify(secret, signature, body, now=now)


@pytest.mark.parametrize("change", ["body", "id", "time", "secret"])
def test_a_changed_part_does_not_verify(change: str) -> None:
    now = int(datetime.now(UTC).timestamp())
    secret = new_secret()
    signature = sign([decode_secret(secret)], "msg_1", now, b'{"a":1}')
    with pytest.raises(WebhookVerificationError):
        verify(
            new_secret() if change == "secret" else secret,
            signature,
            b'{"a":2}' if change == "body" else b'{"a":1}',
            now=now + 1 if change == "time" else now,
            webhook_id="msg_2" if change == "id" else "msg_1",
        )


def test_a_new_secret_is_32_random_bytes() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    assert len(decode_secret(first)) == 32


@pytest.mark.parametrize("size", [24, 32, 64])
def test_a_secret_from_elsewhere_is_taken(size: int) -> None:
    """G4."""
    key = bytes(range(size))
    assert decode_secret("whsec_" + base64.b64encode(key).decode()) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "whsec_",
        "whsec_!!!!",
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        "whsec_" + base64.urlsafe_b64encode(b"\xff" * 32).decode(),
        "whsec_" + base64.b64encode(bytes(32)).decode().rstrip("="),
        "whsec_" + base64.b64encode(bytes(32)).decode() + "\n",
        "whsk_" + base64.b64encode(bytes(64)).decode(),
        "whsec_é" + base64.b64encode(bytes(32)).decode(),
        " " + SECRET,
    ],
)
def test_what_is_no_secret_is_refused_with_the_rule(text: str) -> None:
    with pytest.raises(Invalid, match="24 to 64 random bytes") as caught:
        decode_secret(text)
    assert caught.value.field == "secret"


def test_ed25519_signatures_verify_with_the_shown_public_key() -> None:
    private = new_private_key()
    seed = decode_private_key(private)
    v1, v1a = sign([bytes(32)], *VECTOR, private_key=seed).split(" ")
    assert v1.startswith("v1,")
    name, encoded = v1a.split(",")
    shown = public_key(seed).removeprefix("whpk_")
    assert name == "v1a"
    message = b"%s.%d.%s" % (VECTOR[0].encode(), VECTOR[1], VECTOR[2])
    Ed25519PublicKey.from_public_bytes(base64.b64decode(shown)).verify(
        base64.b64decode(encoded), message
    )


def test_the_official_library_skips_v1a() -> None:
    now = int(datetime.now(UTC).timestamp())
    secret, seed = new_secret(), decode_private_key(new_private_key())
    signature = sign([decode_secret(secret)], "msg_1", now, b"{}", private_key=seed)
    verify(secret, signature, b"{}", now=now)


@pytest.mark.parametrize(
    "text", ["", "whsk_", "whsk_!!", "whsec_x", "whsk_" + base64.b64encode(bytes(64)).decode()]
)
def test_what_is_no_private_key_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        decode_private_key(text)
