"""Every list page, with every filter it offers: no read walks a collection or sorts one in memory.

The pages are asked as a browser asks them; what they send to the database is explained by it.
"""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

import pymongo.monitoring
import pytest
from flask import Flask
from flask.testing import FlaskClient

from relay_web.domain.delivery import Word
from relay_web.settings import Settings
from relay_web.store import Store
from relay_web.web import create_app
from tests.browser.scenery import EMAIL, PASSWORD, Scene, build

Doc = dict[str, Any]

#: Collections that grow with traffic. The others hold a team's own few things.
GROWING: Final = frozenset({"deliveries", "events", "attempts", "audit", "rollups"})
_READS: Final = frozenset({"find", "aggregate", "count", "distinct"})
#: Not part of a question to the planner.
_OURS: Final = frozenset({"lsid", "$clusterTime", "$db", "$readPreference", "txnNumber"})


class Reads(pymongo.monitoring.CommandListener):
    """Keeps the reads of growing collections, one of each shape."""

    def __init__(self) -> None:
        self.shapes: dict[str, Doc] = {}

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        command = dict(event.command)
        if event.command_name in _READS and command[event.command_name] in GROWING:
            asked = {key: value for key, value in command.items() if key not in _OURS}
            self.shapes.setdefault(_shape(asked), asked)

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None: ...


@pytest.fixture
def reads(mongo_uri: str, store: Store) -> Iterator[tuple[Reads, Store]]:
    """A store of its own, on the emptied database, that is listened to."""
    listener = Reads()
    pymongo.monitoring.register(listener)
    watched = Store.open(mongo_uri)
    pymongo.monitoring._LISTENERS.command_listeners.remove(listener)
    yield listener, watched
    watched.close()


@pytest.fixture
def scene(store: Store, settings: Settings) -> Scene:
    return build(store, settings)


def filters(scene: Scene) -> list[str]:
    """Each filter that the form offers, and each two of them together."""
    single = [f"state={word}" for word in Word] + [
        f"endpoint={scene.endpoints['Billing']}",
        "type=invoice.paid",
        "cause=tls_expired",
        "code=5xx",
        "period=24h",
        "since=2026-01-01T00:00",
        "until=2036-01-01T00:00",
        "lost=1",
        "resent=1",
        "find=invoice",
        "find=msg_0",
        "find=dlv_0",
        "job=job_0",
    ]
    return ["", *single, *map("&".join, combinations(single, 2))]


def test_every_list_and_filter_reads_by_an_index(
    settings: Settings, scene: Scene, reads: tuple[Reads, Store], store: Store
) -> None:
    listener, watched = reads
    client = signed_in(create_app(settings, watched))
    home = f"/t/{scene.slug}"
    for query in filters(scene):
        for path in (f"/deliveries?{query}", f"/deliveries/live?newest=dlv_0&ids=dlv_0&{query}"):
            answer = client.get(f"{home}{path}", headers=PART)
            assert answer.status_code in (200, 204), path
    listed = client.get(f"{home}/deliveries").text
    older = re.search(r'href="([^"]+after=[^"]+)"', listed)
    assert older is not None
    billing, one = scene.endpoints["Billing"], scene.deliveries["retrying"]
    for path in (
        older[1].replace("&amp;", "&").removeprefix(home),
        "/",
        "/endpoints",
        f"/endpoints/{billing}",
        "/events",
        "/events?type=invoice.paid",
        f"/events/{scene.event}",
        f"/deliveries/{one}",
        f"/deliveries/{one}/compare",
        "/workers",
        "/settings/audit",
        f"/settings/audit?target={billing}",
    ):
        assert client.get(f"{home}{path}").status_code == 200, path
    bad = [
        f"{'+'.join(sorted(wrong))}: {asked}"
        for asked in listener.shapes.values()
        if (wrong := stages(store, asked) & {"COLLSCAN", "SORT"})
    ]
    assert len(listener.shapes) > 20
    assert not bad, "\n".join(bad)


PART: Final = {"HX-Request": "true", "HX-Target": "results"}


def signed_in(app: Flask) -> FlaskClient:
    client = app.test_client()
    token = re.search(r'name="csrf_token" value="([^"]+)"', client.get("/signin").text)
    assert token is not None
    form = {"csrf_token": token[1], "email": EMAIL, "password": PASSWORD}
    assert client.post("/signin", data=form).status_code == 303
    return client


def stages(store: Store, asked: Doc) -> set[str]:
    """The stages of the plan that the database chose; none where it looked at nothing at all.

    Two filters that exclude each other leave it no key to look at, and nothing to sort.
    """
    told = store.db.command("explain", asked, verbosity="executionStats")
    found = set(_stages(told))
    return found if "COLLSCAN" in found or _looked_at(told) else set()


def _looked_at(told: Any) -> int:
    """Keys and documents that the chosen plan examined."""
    if isinstance(told, dict):
        own = told.get("totalKeysExamined", 0) + told.get("totalDocsExamined", 0)
        return own + sum(map(_looked_at, told.values()))
    return sum(map(_looked_at, told)) if isinstance(told, list) else 0


def _stages(told: Any) -> Iterator[str]:
    if isinstance(told, dict):
        if isinstance(told.get("stage"), str):
            yield told["stage"]
        for key, value in told.items():
            if key not in ("rejectedPlans", "command", "parsedQuery"):
                yield from _stages(value)
    elif isinstance(told, list):
        for value in told:
            yield from _stages(value)


def _shape(value: Any) -> str:
    """The question with its values left out."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_shape(kept)}" for key, kept in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(sorted({_shape(kept) for kept in value})) + "]"
    return value if isinstance(value, str) and value in GROWING else type(value).__name__
