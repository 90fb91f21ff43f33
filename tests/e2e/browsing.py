"""A person in front of a real web process, behind a platform's router that ends TLS."""

import re
from dataclasses import dataclass, field
from typing import Any

import requests

from tests.e2e.web import PATIENCE, ROUTED, Web

_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


@dataclass
class Person:
    """Keeps the session's cookie by hand: it is Secure, and the router's inner side is not."""

    web: Web
    _cookie: str = field(default="", repr=False)

    def get(self, path: str) -> str:
        """A page that must be there."""
        answer = self._send("GET", path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:500])
        return answer.text

    def post(self, path: str, form: dict[str, Any], *, page: str) -> requests.Response:
        """Send the form of `page`, with its token."""
        found = _TOKEN.search(self.get(page))
        assert found is not None, page
        return self._send("POST", path, {**form, "csrf_token": found.group(1)})

    def follow(self, answer: requests.Response) -> str:
        """The page that a redirect leads to, and its own redirect."""
        assert answer.status_code == 303, (answer.status_code, answer.text[:2000])
        while answer.status_code == 303:
            answer = self._send("GET", answer.headers["Location"].partition("#")[0])
        assert answer.status_code == 200, (answer.status_code, answer.text[:500])
        return answer.text

    def _send(self, method: str, path: str, form: Any = None) -> requests.Response:
        address = f"http://127.0.0.1:{self.web.port}"
        headers = {**ROUTED, "Referer": f"https://127.0.0.1:{self.web.port}/"}
        if self._cookie:
            headers["Cookie"] = self._cookie
        answer = requests.request(
            method, address + path, data=form, headers=headers, timeout=PATIENCE,
            allow_redirects=False,
        )  # fmt: skip
        if "Set-Cookie" in answer.headers:
            self._cookie = answer.headers["Set-Cookie"].split(";", 1)[0]
        return answer
