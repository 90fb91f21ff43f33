import base64
import hmac
import time


def verify(secret, headers, body):
    """True if Relay sent these bytes within the last five minutes. `headers` by lower-case name."""
    sent_at = headers["webhook-timestamp"]
    if abs(time.time() - int(sent_at)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{sent_at}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return any(hmac.compare_digest(one, expected) for one in headers["webhook-signature"].split())


seen = {}  # keep this in your database, and change it in one step


def is_current(headers):
    """False for a request whose worker has lost its lease to another one."""
    delivery, token = headers["relay-delivery"], int(headers["relay-lease-token"])
    if token < seen.get(delivery, 0):
        return False
    seen[delivery] = token
    return True
