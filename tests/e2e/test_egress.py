"""An address that must not be called is not called, by whatever way a delivery comes about."""

import pytest

from relay_web.domain.causes import Cause
from relay_web.domain.delivery import State
from tests.e2e.stage import Stage
from tests.receiver import Receiver
from tests.tripwire import FORBIDDEN

#: Loopback without the part that stands for forbidden places.
ALLOWED = "127.0.0.0/18"


@pytest.mark.parametrize("host", [str(FORBIDDEN[1]), f"[::ffff:{FORBIDDEN[1]}]", "2130706433"])
def test_an_endpoint_that_was_moved_inside_gets_no_event_no_test_and_no_recovery(
    stage: Stage, host: str
) -> None:
    """S19 at the send, S22: the answer that people read is the same for whatever is there."""
    endpoint = stage.endpoint("/in")
    web = stage.web(RELAY_EGRESS_ALLOW=ALLOWED)
    with Receiver(host=str(FORBIDDEN[1])) as forbidden:
        url = forbidden.url("/secret", host=host)
        stage.store.db.endpoints.update_one({"_id": endpoint.id}, {"$set": {"url": url}})
        stage.worker(RELAY_EGRESS_ALLOW=ALLOWED, RELAY_RETRY_SCHEDULE="100ms")
        stage.publish()
        assert web.call("POST", f"/endpoints/{endpoint.id}/test").status_code == 202
        stage.settled(failed=2)
        since = {"since": "2020-01-01T00:00:00Z"}
        again = web.call("POST", f"/endpoints/{endpoint.id}/recover", since)
        assert again.status_code == 202, again.text
        assert forbidden.connections == []
    for delivery in stage.deliveries(state=State.FAILED.value):
        shown = web.call("GET", f"/deliveries/{delivery.id}").json()["attempts"]
        told = {(one["cause"], one["status"], one["response_body"]) for one in shown}
        assert told <= {(Cause.BLOCKED_ADDRESS, None, None), (Cause.BAD_URL, None, None)}
    assert stage.receiver.requests() == []
