"""Secrets that went through everything are found nowhere but where they were shown on purpose."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import bson
import pytest
import requests

from tests.e2e.browsing import Person
from tests.e2e.stage import Stage
from tests.e2e.waiting import eventually
from tests.e2e.web import PATIENCE, ROUTED, Web
from tests.receiver import answer

#: What the operator sets.
SETTINGS = {
    "SECRET_KEY": "canary-of-the-session-key-0123456789",
    "RELAY_SECRETS_KEY": "canary-of-the-vault-key-0123456789",
    "RELAY_SETUP_TOKEN": "canary-of-the-setup-token",
    "RELAY_METRICS_TOKEN": "canary-of-the-metrics-token",
    "SMTP_URL": "smtp://relay:canary-of-the-mail-password@127.0.0.1:9",
}
PASSWORD = "canary of the password"
WRONG_PASSWORD = "canary of a mistyped one"
WRONG_KEY = "rk_canaryofakeythatneverwas0000000000000000"
OWN_SECRET = "whsec_Y2FuYXJ5LW9mLW9uZXMtb3duLXNlY3JldC0wMDAw"
HEADER, OTHER_HEADER = "canary-of-a-bearer-header", "canary-of-a-key-header"
#: Pages and the database hold these two on purpose; logs and metrics must not.
URL_TOKEN, PAYLOAD = "canary-of-a-url-token", "canary-of-a-payload"


@dataclass
class Told:
    """What was made on the way, each shown once to the person who made it."""

    secrets: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)

    def keep(self, name: str, pattern: str, page: str) -> str:
        found = re.search(pattern, page)
        assert found is not None, (name, page[:3000])
        self.secrets[name] = found.group(0)
        return found.group(0)


@pytest.mark.timeout(240)
def test_no_secret_is_found_in_logs_pages_metrics_or_the_database(stage: Stage) -> None:
    """W19, C44: every kind of secret there is, through every way that uses it."""
    web, told = stage.web(**SETTINGS), Told()
    stage.worker(**SETTINGS)
    ana = _signs_up(web)
    web = replace(web, key=_makes_a_key(ana, told))
    endpoints = _registers(ana, web, told, stage)
    _publishes_until_it_fails(web, endpoints, stage)
    _rotates_reveals_and_invites(ana, web, endpoints, told)
    for path in _every_page(ana, stage, endpoints):
        told.pages[path] = ana.get(path)
    metrics = requests.get(
        f"http://127.0.0.1:{web.port}/metrics",
        headers={**ROUTED, "Authorization": f"Bearer {SETTINGS['RELAY_METRICS_TOKEN']}"},
        timeout=PATIENCE,
    ).text
    assert "relay_deliveries" in metrics

    logs = "".join(process.output() for process in stage.processes)
    assert logs.count("event=request ") > 40
    assert "event=delivery." in logs
    places = {"the logs": logs, "the metrics": metrics, "the database": _dump(stage)} | told.pages
    only_in_logs = {"URL token": URL_TOKEN, "payload": PAYLOAD}
    secret = {**SETTINGS, **told.secrets, "password": PASSWORD, "mistyped": WRONG_PASSWORD,
              "wrong key": WRONG_KEY, "own secret": OWN_SECRET, "header": HEADER,
              "other header": OTHER_HEADER, "mail": "canary-of-the-mail-password"}  # fmt: skip
    leaks = [(name, place) for name, value in secret.items()
             for place, text in places.items() if value in text]  # fmt: skip
    leaks += [(name, place) for name, value in only_in_logs.items()
              for place in ("the logs", "the metrics") if value in places[place]]  # fmt: skip
    assert leaks == []
    assert PAYLOAD in places["the database"]  # the dump is one that could tell


def _signs_up(web: Web) -> Person:
    ana = Person(web)
    account = {"email": "ana@example.com", "password": PASSWORD, "team": "Canaries"}
    token = {"token": SETTINGS["RELAY_SETUP_TOKEN"]}
    for wrong in ({"token": "canary-of-the-setup-token?"}, {"password": "short", **token}):
        assert ana.post("/signup", account | wrong, page="/signup").status_code == 422
    ana.follow(ana.post("/signup", account | token, page="/signup"))
    ana.post("/signout", {}, page="/account")
    for password in (WRONG_PASSWORD, PASSWORD):
        sent = {"email": account["email"], "password": password}
        last = ana.post("/signin", sent, page="/signin")
    ana.follow(last)
    assert ana.post("/forgot", {"email": account["email"]}, page="/account").status_code == 200
    return ana


def _makes_a_key(ana: Person, told: Told) -> str:
    form = {"name": "shop", "scope": ["publish", "read", "admin"], "life": ""}
    made = ana.post("/t/canaries/settings/keys", form, page="/t/canaries/settings/keys")
    return told.keep("API key", r"rk_[0-9A-Za-z]{40}", made.text)


def _registers(ana: Person, web: Web, told: Told, stage: Stage) -> list[str]:
    """An endpoint by the form and one by the API; both fail, and both hold credentials."""
    path = f"/fail?token={URL_TOKEN}"
    stage.receiver.script(path, answer(500))
    url = stage.receiver.url(path)
    form = {"url": url, "which": "all", "headers": f"Authorization: Bearer {HEADER}"}
    page = "/t/canaries/endpoints/new"
    shown = ana.follow(ana.post("/t/canaries/endpoints", form, page=page))
    told.keep("signing secret", r"whsec_[A-Za-z0-9+/=]{20,}", shown)
    own = {"url": url, "secret": OWN_SECRET, "ed25519": True, "headers": {"X-Key": OTHER_HEADER}}
    assert web.call("POST", "/endpoints", own).status_code == 201
    return [each["id"] for each in web.call("GET", "/endpoints").json()["items"]]


def _publishes_until_it_fails(web: Web, endpoints: list[str], stage: Stage) -> None:
    assert web.publish({"note": PAYLOAD}).json()["deliveries"] == len(endpoints)
    eventually(
        lambda: stage.states() == {"failed": 2}, "both deliveries have failed", seen=stage.states
    )
    sent = stage.receiver.requests()
    assert {request.headers.get("authorization") for request in sent} == {f"Bearer {HEADER}", None}
    assert {request.headers.get("x-key") for request in sent} == {OTHER_HEADER, None}
    for address in (f"/events?api_key={WRONG_KEY}", f"/events?after={PAYLOAD}"):
        assert web.call("GET", address).status_code == 400
    wrong = {**ROUTED, "Authorization": f"Bearer {WRONG_KEY}"}
    refused = requests.get(
        f"http://127.0.0.1:{web.port}/api/v1/events", headers=wrong, timeout=PATIENCE
    )
    assert refused.status_code == 401


def _rotates_reveals_and_invites(ana: Person, web: Web, endpoints: list[str], told: Told) -> None:
    answered = web.call("POST", f"/endpoints/{endpoints[0]}/rotate-secret").json()
    told.secrets["rotated by the API"] = answered["secret"]
    page = f"/t/canaries/endpoints/{endpoints[1]}"
    shown = ana.follow(ana.post(f"{page}/rotate", {"overlap": "24"}, page=page))
    rotated = told.keep("rotated by the form", r"whsec_[A-Za-z0-9+/=]{20,}", shown)
    assert rotated in ana.post(f"{page}/reveal", {"password": PASSWORD}, page=page).text
    people = "/t/canaries/settings"
    invite = {"email": "eva@example.com", "role": "member"}
    link = ana.post(f"{people}/invites", invite, page=people).text
    told.keep("invitation", r"(?<=/invites/)[\w-]{40,}", link)
    ana.get(f"/invites/{told.secrets['invitation']}")


def _every_page(ana: Person, stage: Stage, endpoints: list[str]) -> Iterator[str]:
    """Every page that shows something stored."""
    home = "/t/canaries"
    delivery = stage.store.db.deliveries.find_one({"endpoint": endpoints[1]})
    assert delivery is not None
    one = f"{home}/deliveries/{delivery['_id']}"
    yield from ("/account", "/account/devices", "/docs", f"{home}/", f"{home}/workers")
    yield from (f"{home}/endpoints", f"{home}/events", f"{home}/deliveries", one)
    yield from (f"{one}/attempts/1", f"{one}/attempts/1/curl", f"{home}/events/{delivery['event']}")
    yield from (f"{home}/endpoints/{each}" for each in endpoints)
    yield from (f"{home}/endpoints/{each}/edit" for each in endpoints)
    settings = f"{home}/settings"
    yield from (settings, f"{settings}/keys", f"{settings}/audit", f"{settings}/audit.csv")


def _dump(stage: Stage) -> str:
    """Every document of every collection, as the bytes that a backup would hold."""
    database = stage.store.db
    return "".join(
        bson.encode(document).decode("utf-8", "replace")
        for name in database.list_collection_names()
        for document in database[name].find()
    )
