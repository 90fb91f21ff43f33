"""Figures over a chosen time, what people did, and what went wrong at workers."""

from datetime import timedelta

import pytest

from relay_web.clock import utcnow
from relay_web.domain.delivery import State
from relay_web.domain.endpoint import Endpoint
from relay_web.errors import Unavailable
from relay_web.store import Store
from tests.factories import make_endpoint
from tests.stories import Teller
from tests.web.conftest import Visitor
from tests.web.test_lists import TAKEN_OVER


def attempts(store: Store, endpoint: Endpoint, *, days_ago: float, **counts: int) -> None:
    at = (utcnow() - timedelta(days=days_ago)).replace(minute=0, second=0, microsecond=0)
    store.rollups.add("endpoint", [(endpoint.id, endpoint.team, at, counts)])


@pytest.mark.parametrize(("range_", "arrived"), [("1h", 1), ("24h", 1), ("7d", 3), ("30d", 7)])
def test_a_range_sums_up_its_hours_on_both_pages(
    ana: Visitor, store: Store, range_: str, arrived: int
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    for days_ago, count in ((0, 1), (3, 2), (20, 4)):
        attempts(store, endpoint, days_ago=days_ago, delivered=count, status_200=count, ms_20=count)
    overview = ana.get(f"/?range={range_}").text
    assert f"{arrived} arrived, 0 did not" in overview
    assert "95 % answered within 20 ms" in overview
    page = ana.part(f"/endpoints/{endpoint.id}?range={range_}", "numbers").text
    assert f'id="range-{range_}"' in page
    assert page.split(f'id="range-{range_}"')[1].split(">")[0].endswith('aria-current="true"')
    assert f"range={range_}" in page or range_ == "24h"


@pytest.mark.parametrize("range_", ["1y", "<b>", "24h'", ""])
def test_a_range_that_there_is_not_is_a_day(ana: Visitor, store: Store, range_: str) -> None:
    make_endpoint(store, ana.team.id)
    page = ana.client.get(f"{ana.home}/", query_string={"range": range_})
    assert page.status_code == 200
    assert "last 24 hours" in page.text


def test_the_part_for_a_range_keeps_the_poller_on_it(ana: Visitor, store: Store) -> None:
    make_endpoint(store, ana.team.id)
    part = ana.part("/?range=7d", "stats").text
    assert 'hx-get="/t/acme/?range=7d"' in part.split('id="live"')[1]


def test_an_endpoint_shows_its_day_as_a_sparkline(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    assert "no attempts" in ana.get("/endpoints").text
    attempts(store, endpoint, days_ago=0, delivered=3, errors=1)
    page = ana.get("/endpoints").text
    assert "24 hours: 3 attempts arrived, 1 did not, worst hour" in page
    assert "75.0 %" in page


def test_actions_are_told_on_the_overview_and_in_the_endpoints_history(
    ana: Visitor, store: Store
) -> None:
    endpoint = make_endpoint(store, ana.team.id, name="<Billing>")
    assert "Nobody did anything by hand lately." in ana.get("/").text
    ana.post(f"/endpoints/{endpoint.id}/pause")
    assert "paused" in ana.get("/").text.split('id="deeds-title"')[1]
    assert "&lt;Billing&gt;" in ana.get("/").text.split('id="deeds-title"')[1]
    history = ana.get(f"/endpoints/{endpoint.id}").text.split('id="history-title"')[1]
    assert f"{ana.email} paused it" in history


def test_a_paused_endpoint_says_how_much_it_holds_and_since_when(
    ana: Visitor, store: Store
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    for step in range(3):
        tell.delivery(endpoint, ago=600 + step, state=State.PENDING)
    store.endpoints.pause(ana.team.id, endpoint.id, "ana")
    page = ana.get(f"/endpoints/{endpoint.id}").text
    assert "3 held, the oldest accepted" in page
    assert "3 held deliveries go out, oldest first." in page


@pytest.mark.parametrize(
    ("pace", "step", "said"),
    [("ramp", 0, "1 % of its pace"), ("whole", None, ""), ("$ne", 0, "1 % of its pace")],
)
def test_resume_goes_slowly_at_first_unless_told_otherwise(
    ana: Visitor, store: Store, pace: str, step: int | None, said: str
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    store.endpoints.pause(ana.team.id, endpoint.id, "ana")
    ana.post(f"/endpoints/{endpoint.id}/resume", {"pace": pace})
    found = store.endpoints.get(ana.team.id, endpoint.id)
    assert not found.state.holds
    assert found.ramp_step == step
    page = ana.get(f"/endpoints/{endpoint.id}").text
    assert said in page
    assert ("Resumed a moment ago" in page) is bool(said)


def test_a_cool_down_is_told_in_words(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    store.endpoint_pace.cool(endpoint.id, 60)
    assert "busy several times in a row" in ana.get(f"/endpoints/{endpoint.id}").text


def test_the_zombie_meter_counts_by_worker_and_links_what_was_taken_over(
    ana: Visitor, store: Store
) -> None:
    quiet = ana.get("/workers").text
    assert "None: no worker stalled" in quiet
    assert "No delivery of this team lost a lease" in quiet
    hour = utcnow().replace(minute=0, second=0, microsecond=0)
    store.rollups.add("worker", [("worker.2", "", hour, {"lost": 2, "fenced": 1, "stalls": 4})])
    key = Teller(store, ana.team.id).delivery(make_endpoint(store, ana.team.id), tries=TAKEN_OVER)
    page = ana.part("/workers", "live").text
    zombies = page.split('id="zombies"')[1]
    assert "worker.2" in zombies
    assert f"/deliveries/{key}" in zombies
    assert "taken over from worker.2, token 1" in zombies


def test_a_block_that_fails_is_a_page_that_says_so_not_a_traceback(
    ana: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise Unavailable

    monkeypatch.setattr(type(store.rollups), "endpoints", away)
    for path in ("/", "/endpoints"):
        answer = ana.get(path)
        assert answer.status_code == 503
        assert "Traceback" not in answer.text
