"""Each page in its shapes: for a browser, for htmx, for a browser that restores its history."""

from collections.abc import Callable

import pytest
from flask import Flask

from relay_web.domain.delivery import State
from relay_web.store import Store
from tests.factories import make_endpoint
from tests.stories import Teller
from tests.web.conftest import Visitor

AREAS = ["/", "/endpoints", "/endpoints/new", "/events", "/deliveries", "/workers"]
#: Pages that answer htmx with a part, and for which element.
PARTS = [
    ("/", "live"),
    ("/endpoints", "live"),
    ("/endpoints", "results"),
    ("/deliveries", "results"),
    ("/workers", "live"),
]


def is_whole(html: str) -> bool:
    return html.lstrip().startswith("<!doctype html>") and "<main" in html and "</html>" in html


@pytest.mark.parametrize("path", AREAS)
def test_every_area_is_a_whole_page_while_the_team_is_empty(ana: Visitor, path: str) -> None:
    answer = ana.get(path)
    assert answer.status_code == 200
    assert is_whole(answer.text)
    assert answer.text.count("<h1") == 1


@pytest.mark.parametrize(("path", "target"), PARTS)
def test_htmx_gets_a_part_for_an_element_on_the_list(ana: Visitor, path: str, target: str) -> None:
    answer = ana.part(path, target)
    assert answer.status_code == 200
    assert not is_whole(answer.text)
    assert f'id="{target}"' in answer.text
    assert answer.headers["X-Relay-Fragment"] == "1"
    assert "HX-Request" in answer.headers["Vary"]


@pytest.mark.parametrize(("path", "target"), PARTS)
def test_a_history_restore_gets_the_whole_page(ana: Visitor, path: str, target: str) -> None:
    answer = ana.get(path, HX_Request="true", HX_Target=target, HX_History_Restore_Request="true")
    assert is_whole(answer.text)
    assert "HX-Request" in answer.headers["Vary"]


@pytest.mark.parametrize("path", AREAS)
def test_an_element_that_is_not_on_the_list_gets_the_whole_page(ana: Visitor, path: str) -> None:
    assert is_whole(ana.part(path, "somewhere-else").text)


@pytest.mark.parametrize("path", AREAS)
def test_a_signed_in_page_is_kept_in_no_cache(ana: Visitor, path: str) -> None:
    assert ana.get(path).headers["Cache-Control"] == "private, no-store"


def test_nobody_else_gets_in_and_what_exists_cannot_be_told(
    visit: Callable[..., Visitor], store: Store
) -> None:
    ana, ben = visit("Acme"), visit("Other")
    endpoint = make_endpoint(store, ana.team.id)
    for path in (ana.home + "/", f"{ana.home}/endpoints/{endpoint.id}", "/t/no-such-team/"):
        assert ben.get(path).status_code == 404
    own = ben.get(f"/endpoints/{endpoint.id}")
    missing = ben.get("/endpoints/ep_00000000000000000000")
    assert own.status_code == missing.status_code == 404


def test_without_a_sign_in_a_page_leads_to_it_and_back(app: Flask, ana: Visitor) -> None:
    stranger = app.test_client()
    answer = stranger.get(f"{ana.home}/deliveries?state=failed")
    assert answer.status_code == 303
    assert answer.location == "/signin?next=%2Ft%2Facme%2Fdeliveries%3Fstate%3Dfailed"


@pytest.mark.parametrize("method", ["get", "post"])
def test_without_a_sign_in_htmx_is_sent_to_it_and_never_swaps_it_in(
    app: Flask, ana: Visitor, method: str
) -> None:
    ana.client.delete_cookie("relay")
    here = f"http://localhost{ana.home}/deliveries"
    headers = {"HX-Request": "true", "HX-Target": "results", "HX-Current-URL": here}
    answer = getattr(ana.client, method)(f"{ana.home}/deliveries", headers=headers)
    if method == "get":
        assert answer.status_code == 401
        assert answer.headers["HX-Redirect"] == "/signin?next=%2Ft%2Facme%2Fdeliveries"
    else:  # no page of ours posts there; the forgery check or the route refuses it first
        assert answer.status_code in (401, 403, 405)
    assert "<form" not in answer.text


def test_an_old_slug_leads_to_the_same_page_under_the_new_one(ana: Visitor, store: Store) -> None:
    store.accounts.teams.rename(ana.team.id, "Renamed")
    answer = ana.get("/deliveries?state=failed")
    assert answer.status_code == 301
    assert answer.location == "/t/renamed/deliveries?state=failed"


def test_a_list_says_what_it_left_out_of_the_address(ana: Visitor) -> None:
    page = ana.get("/deliveries?state=nonsense&type=a%20b&after=rubbish", HX_Dummy="1")
    assert page.status_code == 303
    page = ana.get("/deliveries?state=nonsense&type=a%20b")
    assert page.status_code == 200
    assert "Ignored state “nonsense”" in page.text


def test_the_list_counts_filters_and_leads_on(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    for step in range(55):
        tell.delivery(endpoint, ago=100 - step, tries=[{"at": 50, "status": 200}])
    tell.delivery(endpoint, ago=1, state=State.PENDING)
    page = ana.get("/deliveries").text
    assert "56 deliveries, showing 50" in page
    assert 'rel="next"' in page
    only = ana.get("/deliveries?state=queued").text
    assert "1 delivery" in only
    assert "No delivery matches" in ana.get("/deliveries?state=cancelled").text


def test_a_poll_of_an_unchanged_list_answers_204_and_names_what_is_new(
    ana: Visitor, store: Store
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    tell.delivery(endpoint, ago=10, tries=[{"at": 9, "status": 200}])
    page = ana.get("/deliveries").text
    url = page.split('id="live"')[1].split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert ana.part(url, "live").status_code == 204
    tell.delivery(endpoint, ago=1, state=State.PENDING)
    changed = ana.part(url, "live")
    assert changed.status_code == 200
    assert "1 new – show" in changed.text
    assert "<tr" not in changed.text


def test_the_search_leads_to_what_it_names(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    key = Teller(store, ana.team.id).delivery(endpoint, tries=[{"at": 9, "status": 200}])
    event = store.deliveries.get(ana.team.id, key).event
    for text, place in (
        (key, f"/deliveries/{key}"),
        (event, f"/events/{event}"),
        (endpoint.id, f"/endpoints/{endpoint.id}"),
        ("invoice.paid", "/deliveries?type=invoice.paid"),
        ("what is this?", "/deliveries"),
    ):
        answer = ana.client.get(f"{ana.home}/deliveries", query_string={"q": text})
        assert answer.location == f"{ana.home}{place}"


def test_an_event_page_says_why_an_endpoint_got_nothing(ana: Visitor, store: Store) -> None:
    billing = make_endpoint(store, ana.team.id, event_types=("user.*",), name="Users only")
    tell = Teller(store, ana.team.id)
    event = tell.event("invoice.paid", b"{}", ago=-1, targets=[])
    page = ana.get(f"/events/{event['_id']}").text
    assert billing.name in page
    assert "Not subscribed to invoice.paid." in page


def test_a_payload_is_downloaded_as_bytes_that_no_browser_interprets(
    ana: Visitor, store: Store
) -> None:
    event = Teller(store, ana.team.id).event("a.b", b'"<script>"', ago=1, targets=[])
    answer = ana.get(f"/events/{event['_id']}/payload")
    assert answer.data == event["body"]
    assert answer.mimetype == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_every_page_warns_while_no_worker_reports(ana: Visitor, store: Store) -> None:
    assert "No worker is reporting" in ana.get("/endpoints").text
    store.workers.beat(
        "worker.1", state="beating", version="0", host="h", pid=1, slots=1, in_flight=0,
        stall_ms=0.0, clock_offset_ms=0.0, fenced=0,
    )  # fmt: skip
    assert "No worker is reporting" not in ana.get("/endpoints").text
