"""The programs that the documentation shows do what it says, in each language that is here."""

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.serving import make_server

from relay_web.domain.signing import decode_secret, new_secret, sign
from relay_web.web.docs import LANGUAGES, snippet
from tests.api.conftest import Api

RUNS = {
    "sh": ("bash", "{file}"),
    "py": ("python3", "{file}"),
    "mjs": ("node", "{file}"),
    "rb": ("ruby", "{file}"),
    "go": ("go", "run", "{file}"),
    "php": ("php", "{file}"),
}
BODY = b'{"type":"order.paid","timestamp":"2026-12-01T14:02:11.043Z","data":{"n":"\xc3\xa9"}}'

#: What turns each verifier into a program: it reads its case and prints what it found.
MAINS = {
    "sh": """
read -r secret; read -r id; read -r at; read -r signature
verify "$secret" "$id" "$at" "$signature" body.bin && echo true || echo false
""",
    "py": """
secret, id, at, signature = (input() for _ in range(4))
headers = {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature}
print(str(verify(secret, headers, open("body.bin", "rb").read())).lower())
print([is_current({"relay-delivery": "d", "relay-lease-token": t}) for t in "1231"])
""",
    "mjs": """
import { readFileSync } from "node:fs";
const [secret, id, at, signature] = readFileSync(0, "utf8").split("\\n");
const headers = { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature };
console.log(verify(secret, headers, readFileSync("body.bin")));
""",
    "go": """
func main() {
	lines := bufio.NewScanner(os.Stdin)
	read := func() string { lines.Scan(); return lines.Text() }
	secret, headers := read(), http.Header{}
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		headers.Set(name, read())
	}
	body, _ := os.ReadFile("body.bin")
	fmt.Println(Verify(secret, headers, body))
}
""",
    "rb": """
secret, id, at, signature = 4.times.map { gets.chomp }
headers = { "webhook-id" => id, "webhook-timestamp" => at, "webhook-signature" => signature }
puts verify(secret, headers, File.binread("body.bin"))
""",
    "php": """
[$secret, $id, $at, $signature] = array_map(fn() => trim(fgets(STDIN)), range(1, 4));
$headers = ["webhook-id" => $id, "webhook-timestamp" => $at, "webhook-signature" => $signature];
echo verify($secret, $headers, file_get_contents("body.bin")) ? "true" : "false";
""",
}
HERE = [suffix for suffix in LANGUAGES if shutil.which(RUNS[suffix][0])]


def run(suffix: str, text: str, folder: Path, *, given: str = "", **environment: str) -> str:
    """What the program prints; its own complaint where it fails."""
    file = folder / f"program.{suffix}"
    file.write_text(text)
    command = [part.format(file=file) for part in RUNS[suffix]]
    done = subprocess.run(
        command,
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=90,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def served(app: Flask) -> Iterator[str]:
    """The application behind a real socket."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("suffix", HERE)
def test_the_publisher_publishes(
    api: Api, app: Flask, served: str, tmp_path: Path, suffix: str
) -> None:
    with app.test_request_context(base_url=served):
        text = snippet("publish", suffix)
    answer = json.loads(run(suffix, text, tmp_path, RELAY_API_KEY=api.key))
    assert (answer["type"], answer["duplicate"]) == ("order.paid", False)


def verifier(app: Flask, suffix: str) -> str:
    with app.test_request_context():
        text = snippet("verify", suffix)
    if suffix == "go":
        text = text.replace("import (", 'import (\n\t"bufio"\n\t"fmt"\n\t"os"', 1)
    return text + MAINS[suffix]


@pytest.mark.parametrize("suffix", HERE)
def test_the_verifier_tells_true_from_false(app: Flask, tmp_path: Path, suffix: str) -> None:
    secret, other, now = new_secret(), new_secret(), int(time.time())
    keys = [decode_secret(other), decode_secret(secret)]
    (tmp_path / "body.bin").write_bytes(BODY)
    program = verifier(app, suffix)

    def verdict(*, body: bytes = BODY, at: int = now, known: str = secret) -> str:
        signature = sign(keys, "msg_1", at, body)
        given = "\n".join((known, "msg_1", str(at), signature, ""))
        return run(suffix, program, tmp_path, given=given).splitlines()[0]

    assert verdict() == "true"
    assert verdict(body=BODY + b" ") == "false"
    assert verdict(at=now - 400) == "false"
    assert verdict(known=new_secret()) == "false"


def test_a_smaller_lease_token_is_refused(app: Flask, tmp_path: Path) -> None:
    (tmp_path / "body.bin").write_bytes(b"")
    given = "\n".join((new_secret(), "msg_1", "0", "v1,x", ""))
    printed = run("py", verifier(app, "py"), tmp_path, given=given).splitlines()
    assert printed[1] == "[True, True, True, False]"


def test_the_documentation_lists_every_operation(api: Api) -> None:
    page = api.client.get("/docs")
    assert page.status_code == 200
    names = set(re.findall(r'<details class="panel block-tight" id="(\w+)">', page.text))
    described = api.client.get("/api/v1/openapi.json").json["paths"].values()
    assert names == {each["operationId"] for methods in described for each in methods.values()}
