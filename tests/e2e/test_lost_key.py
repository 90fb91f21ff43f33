"""A signing secret that no key opens holds its endpoint, in words, until the key is back."""

import subprocess
import sys

from relay_web.domain.vault import Vault
from tests.e2e.processes import ROOT, environment
from tests.e2e.stage import KEY, Stage
from tests.e2e.waiting import SOON

LOST = "a key that nobody wrote down"


def test_a_lost_key_holds_its_endpoint_alone_and_rekeying_lets_it_go(stage: Stage) -> None:
    # Given an endpoint whose secret was sealed under another key, and one beside it
    stage.vault = Vault([LOST])
    held = stage.endpoint("/held", headers={"X-Token": "a-credential"}, ed25519=True)
    stage.vault = Vault([KEY])
    stage.endpoint("/fine")
    stage.worker()
    stage.publish()
    stage.publish()

    # Then the other one gets everything, and this one loses nothing and says what to do
    stage.settled(delivered=2, pending=2)
    (waiting, _) = stage.deliveries(endpoint=held.id)
    assert (waiting.tries, waiting.lease_token) == (0, 0)
    web = stage.web()
    shown = web.call("GET", f"/deliveries/{waiting.id}").json()["waits"]
    assert "RELAY_SECRETS_KEY" in shown["sentence"]

    # When both keys are given to `relay rekey`, the worker that knows only one goes on by itself
    refused = _rekey(stage, KEY)
    assert refused.returncode == 1
    assert held.id in refused.stdout
    done = _rekey(stage, f"{KEY},{LOST}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "under the newest key" in done.stdout
    stage.settled(delivered=4)
    assert {one.headers["x-token"] for one in stage.receiver.requests("/held")} == {"a-credential"}


def _rekey(stage: Stage, keys: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "relay_web", "rekey"],
        cwd=ROOT,
        env=environment(stage.settings | {"RELAY_SECRETS_KEY": keys}),
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )
