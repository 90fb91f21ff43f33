"""The official Node library, asked to verify many requests at once."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

LIBRARY = "standardwebhooks@1"
#: Seconds for a few thousand verifications on a busy machine.
PATIENCE = 90.0
#: Reads [{secret, headers, body}, …], and prints for each what the library reads in it, or how it
#: refuses; with a `whpk_` key, node's own Ed25519 checks the `v1a` entry instead.
VERIFY = """
const { Webhook } = require("standardwebhooks");
const crypto = require("crypto");

function ed25519(key, headers, body) {
  const raw = Buffer.from(key.slice("whpk_".length), "base64");
  const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const publicKey = crypto.createPublicKey({ key: spki, format: "der", type: "spki" });
  const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`;
  const entry = headers["webhook-signature"].split(" ").find((each) => each.startsWith("v1a,"));
  const signature = Buffer.from(entry.slice("v1a,".length), "base64");
  const message = Buffer.concat([Buffer.from(text), body]);
  if (!crypto.verify(null, message, publicKey, signature)) throw new Error("v1a does not verify");
  return JSON.parse(body.toString());
}

const answers = JSON.parse(require("fs").readFileSync(0, "utf8")).map((each) => {
  const body = Buffer.from(each.body, "base64");
  try {
    const verify = each.secret.startsWith("whpk_")
      ? ed25519
      : (secret, headers, raw) => new Webhook(secret).verify(raw, headers);
    return { read: verify(each.secret, each.headers, body) };
  } catch (error) {
    return { refused: error.constructor.name };
  }
});
console.log(JSON.stringify(answers));
"""


@dataclass(frozen=True, slots=True)
class Signed:
    """A request as it arrived, and the secret (or public key) to hold it against."""

    secret: str
    headers: Mapping[str, str]
    body: bytes


def installed() -> Path:
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


def verify(folder: Path, requests: Sequence[Signed]) -> list[dict[str, object]]:
    """For each request `{"read": …}`, or `{"refused": …}` with the kind of error."""
    asked = [
        {
            "secret": one.secret,
            "headers": dict(one.headers),
            "body": base64.b64encode(one.body).decode(),
        }
        for one in requests
    ]
    ran = subprocess.run(
        ["node", "-e", VERIFY],
        cwd=folder,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    answers: list[dict[str, object]] = json.loads(ran.stdout)
    return answers
