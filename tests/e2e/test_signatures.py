"""What arrives verifies with the official Standard Webhooks libraries, in Python and in Node."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from tests.e2e.stage import Stage
from tests.e2e.waiting import SOON

LIBRARY = "standardwebhooks@1"
#: Reads {secret, headers, body} from stdin and prints what the library makes of it, or throws.
VERIFY = """
const { Webhook } = require("standardwebhooks");
const { secret, headers, body } = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(new Webhook(secret).verify(body, headers)));
"""
#: Not ASCII, and not how a serialiser would write it: only the exact bytes verify.
DATA = {"id": "in_1", "total": 12.50, "note": "Grüße, 世界 🎉", "nested": {"a": [1, None, True]}}


@pytest.fixture(scope="module")
def node_library() -> Path:
    """A folder where `require("standardwebhooks")` works; installed once, kept for later runs."""
    folder = Path(tempfile.gettempdir()) / f"relay-node-{os.getuid()}"
    if (folder / "node_modules" / "standardwebhooks").is_dir():
        return folder
    npm = shutil.which("npm")
    if npm is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs node and npm: the Node library has to verify what Relay signs.")
        pytest.skip("needs node and npm")
    with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
        command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run([*command, "--prefix", fresh, LIBRARY], check=True, capture_output=True)
        shutil.copytree(fresh, folder, dirs_exist_ok=True)
    return folder


def test_an_event_published_over_http_verifies_in_python_and_in_node(
    stage: Stage, node_library: Path
) -> None:
    # Given an event that was published over HTTP and has arrived
    secret = stage.register("/in").secret
    stage.worker()
    answer = stage.web().publish(DATA)
    assert answer.status_code == 202, answer.text
    (request,) = stage.receiver.wait(1, "/in", within=SOON)
    assert request.headers["webhook-id"] == answer.json()["id"]

    # Then both libraries take it for genuine, and read the same in it
    verified = Webhook(secret).verify(request.body, request.headers)
    assert verified["type"] == "invoice.paid"
    assert verified["data"] == DATA
    in_node = _node(node_library, secret, request.headers, request.body.decode())
    assert in_node.returncode == 0, in_node.stderr
    assert json.loads(in_node.stdout) == verified

    # And not with one more space in it
    changed = _node(node_library, secret, request.headers, request.body.decode() + " ")
    assert "WebhookVerificationError" in changed.stderr


def _node(
    library: Path, secret: str, headers: dict[str, str], body: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", "-e", VERIFY],
        cwd=library,
        input=json.dumps({"secret": secret, "headers": headers, "body": body}),
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )
