"""P5 and P6: the web process, one of it under gunicorn, as publishers and browsers meet it."""

import html
import http.client
import re
import time
from collections.abc import Iterator
from urllib.parse import urlencode

from bench.backlog import seed_many
from bench.figures import Figure
from bench.publisher import BATCH_LINES, SINGLE_LINES, Publisher
from bench.run import Run
from bench.sampling import percentile
from bench.seed import TYPE, endpoints
from bench.system import Account


def publishing(run: Run) -> Iterator[Figure]:
    """Events of 1 KB accepted a second, for one endpoint and with no worker running."""
    seconds = run.times(8, 3)
    with run.system.store("p5") as store:
        account = run.system.account(store)
        endpoints(store, run.vault, "http://127.0.0.1:9", 1, team=account.team_id)
        with run.system.web(store) as (web, port):
            publisher = Publisher(port, account.api_key)
            before = web.cpu()
            single = publisher.flood(publisher.single(TYPE), SINGLE_LINES, seconds)
            cost = (web.cpu() - before) / (single * (seconds + 1)) * 1e6
            batches = publisher.flood(publisher.batch(TYPE), BATCH_LINES, seconds)
    yield Figure("P5.single", single, "events_s", 800, at_least=True)
    yield Figure("P5.batches_of_100", batches * 100, "events_s", 8000, at_least=True)
    yield Figure("P5.single_web_cpu", cost, "us")


def pages(run: Run) -> Iterator[Figure]:
    """The list of a team with 1,000,000 deliveries, and its poll while nothing changes."""
    times = run.times(150, 40)
    with run.system.store("p6") as store:
        account = run.system.account(store)
        made = endpoints(store, run.vault, "http://127.0.0.1:9", 100, team=account.team_id)
        ids = [endpoint.id for endpoint in made]
        seed_many(store, ids, run.times(1_000_000, 100_000), account.team_id)
        with run.system.web(store) as (_, port):
            browser = Browser(port)
            browser.sign_in(account)
            listing = f"/t/{account.slug}/deliveries"
            filtered = f"{listing}?{urlencode({'state': 'queued', 'endpoint': ids[7]})}"
            found = re.search(r'hx-get="([^"]*/live\?[^"]*)"', browser.get(listing, 200))
            if found is None:
                raise RuntimeError("the list does not poll")
            poll = html.unescape(found[1])
            took = {
                "list": [browser.timed(listing, 200) for _ in range(times)],
                "filtered": [browser.timed(filtered, 200) for _ in range(times)],
                "poll": [browser.timed(poll, 204) for _ in range(times)],
            }
    yield Figure("P6.list_p95", percentile(took["list"], 0.95), "ms", 50)
    yield Figure("P6.unchanged_poll_p95", percentile(took["poll"], 0.95), "ms", 15)
    yield Figure("P6.filtered_list_p95", percentile(took["filtered"], 0.95), "ms")


class Browser:
    """One person on one keep-alive connection, with cookies."""

    def __init__(self, port: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._cookies: dict[str, str] = {}

    def sign_in(self, account: Account) -> None:
        """By the form, as a person would."""
        token = re.search(r'name="csrf_token" value="([^"]+)"', self.get("/signin", 200))
        fields = {
            "csrf_token": token[1] if token else "",
            "email": account.email,
            "password": account.password,
        }
        self._ask("POST", "/signin", 303, urlencode(fields))

    def get(self, path: str, status: int) -> str:
        """The page, which must come with this status."""
        return self._ask("GET", path, status)

    def timed(self, path: str, status: int) -> float:
        """Milliseconds until the whole page is here."""
        began = time.perf_counter()
        self._ask("GET", path, status)
        return (time.perf_counter() - began) * 1000

    def _ask(self, method: str, path: str, status: int, form: str | None = None) -> str:
        headers = {
            "Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items()),
            "X-Forwarded-For": "192.0.2.1",
            "X-Forwarded-Proto": "https",
            "Referer": f"https://127.0.0.1:{self._line.port}/",
        }
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self._line.request(method, path, form, headers)
        answer = self._line.getresponse()
        text = answer.read().decode()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        if answer.status != status:
            raise RuntimeError(f"{method} {path[:80]} answered {answer.status}, not {status}")
        return text
