"""The same sender in a process that gevent has patched, as the worker is."""

import json
import subprocess
import sys

from tests.certificates import Authority
from tests.receiver import Receiver, hold
from tests.sender.conftest import LOOPBACK

SCRIPT = """
from gevent import monkey

monkey.patch_all()

import json, sys
import gevent
from relay_web.domain.target import EgressPolicy
from relay_web.engine.sender import Sender, SendOrder

ca_file, allow, *urls = sys.argv[1:]
policy = EgressPolicy(allow_http=True, allow=EgressPolicy.parse_allow(allow))
sender = Sender(policy, 1.0, "Relay/test", ca_file=ca_file)


def send(url):
    outcome = sender.send(
        SendOrder(
            endpoint_id=url, url=url, secrets=(bytes(32),), webhook_id="msg_1",
            delivery_id="dlv_1", attempt=1, lease_token=1, body=b"{}", timestamp=1764600000,
        )
    )
    return outcome.status or outcome.cause


jobs = [gevent.spawn(send, url) for url in urls for _ in range(5)]
gevent.joinall(jobs, raise_error=True)
print(json.dumps(sorted({(job.value) for job in jobs}, key=str)))
sender.close()
"""


def test_a_patched_process_sends_over_http_and_https_and_keeps_its_deadline(
    receiver: Receiver, authority: Authority
) -> None:
    receiver.script("/held", [hold()])
    with Receiver(tls=authority.good()) as secure:
        urls = [receiver.url(), receiver.url("/held"), secure.url("/", host="localhost")]
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT, str(authority.file), LOOPBACK, *urls],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == [200, "response_timeout"]
        assert len(secure.requests()) == 5
