"""Lists: filters beyond the plain ones, files of them, and what hostile input does to both."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta

import pytest
from werkzeug.test import TestResponse

from relay_web.domain.delivery import State
from relay_web.domain.roles import Role
from relay_web.store import Store
from relay_web.web import csv_file
from tests.factories import make_endpoint
from tests.stories import Teller
from tests.web.conftest import Visitor

FILES = ["deliveries", "events", "endpoints", "workers"]
#: Taken over by another worker, whose word counted.
TAKEN_OVER = [
    {"at": 50, "status": 200, "lost": 40, "worker": "worker.2"},
    {"at": 39, "status": 200},
]


def table(answer: TestResponse) -> list[list[str]]:
    assert answer.status_code == 200
    assert answer.mimetype == "text/csv"
    return list(csv.reader(io.StringIO(answer.text)))


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_an_empty_list_is_its_header_alone(ana: Visitor, name: str) -> None:
    answer = ana.get(f"/export/{name}.csv")
    assert len(table(answer)) == 1
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Cache-Control"] == "private, no-store"


def test_a_file_has_the_rows_of_its_page_with_the_same_filters(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    lost = tell.delivery(endpoint, state=State.FAILED, tries=[{"at": 9, "status": 500}])
    for step in range(120):
        tell.delivery(endpoint, ago=100 + step, tries=[{"at": 99, "status": 200}])
    assert len(table(ana.get("/export/deliveries.csv"))) == 122
    (_, row) = table(ana.get("/export/deliveries.csv?state=failed"))
    assert row[0] == lost
    assert row[1] == "failed"
    assert len(table(ana.get("/export/events.csv"))) == 122
    (_, one) = table(ana.get("/export/endpoints.csv"))
    assert one[:2] == [endpoint.id, "Billing"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_no_cell_of_a_file_is_a_formula(ana: Visitor, store: Store, start: str) -> None:
    make_endpoint(store, ana.team.id, name=f'{start}HYPERLINK("http://evil")')
    (_, row) = table(ana.get("/export/endpoints.csv"))
    assert row[1].startswith(f"'{start}")


def test_a_file_that_is_cut_says_so(
    monkeypatch: pytest.MonkeyPatch, ana: Visitor, store: Store
) -> None:
    for number in range(3):
        make_endpoint(store, ana.team.id, name=f"Number {number}")
    monkeypatch.setattr(csv_file, "MOST", 2)
    rows = table(ana.get("/export/endpoints.csv"))
    assert len(rows) == 4
    assert rows[-1] == [csv_file.CUT]


def test_a_file_is_for_the_members_of_its_team_only(visit: Callable[..., Visitor]) -> None:
    ana, ben = visit("Acme"), visit("Other")
    assert ben.get(f"{ana.home}/export/deliveries.csv").status_code == 404
    assert visit("Acme", Role.VIEWER).get("/export/deliveries.csv").status_code == 200


def test_deliveries_that_lost_a_lease_are_a_view_of_the_list(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    twice = tell.delivery(endpoint, tries=TAKEN_OVER)
    once = tell.delivery(endpoint, tries=[{"at": 9, "status": 200}])
    page = ana.get("/deliveries?lost=1").text
    assert twice in page
    assert once not in page
    assert 'lost=1" aria-current="true"' in page


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("code=4xx", "gone"),
        ("code=5xx", "broken"),
        ("code=none", "silent"),
        ("code=2xx", "fine"),
        ("state=failed&state=cancelled&code=4xx", "gone"),
        ("find=fi", "fine"),
    ],
)
def test_a_class_of_answers_or_a_beginning_leaves_its_own(
    ana: Visitor, store: Store, query: str, shown: str
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    failed = State.FAILED
    tell.delivery(
        endpoint, kind="gone.x", state=failed, tries=[{"at": 9, "status": 410, "cause": "gone"}]
    )
    broken = {"at": 9, "status": 503, "cause": "server_error"}
    tell.delivery(endpoint, kind="broken.x", state=failed, tries=[broken])
    tell.delivery(
        endpoint, kind="silent.x", state=failed, tries=[{"at": 9, "cause": "dns_failure"}]
    )
    tell.delivery(endpoint, kind="fine.x", tries=[{"at": 9, "status": 200}])
    page = ana.get(f"/deliveries?{query}").text
    results = page.split('id="results"')[1]
    assert "1 delivery" in results
    assert f">{shown}.x</a>" in results


def test_an_idempotency_key_finds_the_deliveries_of_its_event(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    wanted = tell.delivery(endpoint, tries=[{"at": 9, "status": 200}])
    tell.delivery(endpoint, tries=[{"at": 9, "status": 200}])
    event = store.deliveries.get(ana.team.id, wanted).event
    store.db.events.update_one({"_id": event}, {"$set": {"idempotency_key": "order-17"}})
    page = ana.get("/deliveries?find=order-17").text.split('id="results"')[1]
    assert "1 delivery" in page
    assert wanted in page


def test_an_exact_time_range_leaves_what_was_accepted_in_it(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    old = tell.delivery(endpoint, ago=7200, tries=[{"at": 7000, "status": 200}])
    new = tell.delivery(endpoint, ago=60, tries=[{"at": 50, "status": 200}])
    hour_ago = (tell.now - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    before, after = (
        ana.get(f"/deliveries?{side}={hour_ago}").text.split('id="results"')[1]
        for side in ("until", "since")
    )
    assert old in before
    assert new not in before
    assert new in after
    assert old not in after


@pytest.mark.parametrize(
    "query",
    [
        "code=6xx",
        "lost=maybe",
        "resent[$ne]=1",
        "since=yesterday",
        "until=9999-12-31T23:59",
        "find=%00",
        "state[$ne]=failed",
        "code=" + "x" * 3000,
    ],
)
def test_no_value_in_an_address_breaks_a_list(ana: Visitor, query: str) -> None:
    assert ana.get(f"/deliveries?{query}").status_code == 200
    assert ana.get(f"/export/deliveries.csv?{query}").status_code == 200


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [("delivered", "all.in"), ("undelivered", "one.out"), ("unmatched", "no.body")],
)
def test_events_are_told_apart_by_what_became_of_them(
    ana: Visitor, store: Store, outcome: str, shown: str
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    tell.delivery(endpoint, kind="all.in", tries=[{"at": 9, "status": 200}])
    tell.delivery(endpoint, kind="one.out", state=State.FAILED, tries=[{"at": 9, "status": 500}])
    tell.event("no.body", b"{}", ago=5, targets=[])
    page = ana.get(f"/events?outcome={outcome}").text
    assert f">{shown}</a>" in page
    assert "1 shown" in page
    assert len(table(ana.get(f"/export/events.csv?outcome={outcome}"))) == 2


@pytest.mark.parametrize("outcome", ["delivered", "undelivered"])
def test_events_by_outcome_go_on_to_the_next_page(ana: Visitor, store: Store, outcome: str) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    state = State.DELIVERED if outcome == "delivered" else State.FAILED
    for step in range(60):
        tell.delivery(endpoint, ago=step + 1, state=state, tries=[{"at": 1, "status": 200}])
    page = ana.get(f"/events?outcome={outcome}").text
    assert "50 shown" in page
    older = page.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    assert "10 shown" in ana.get(older).text


def test_endpoints_are_narrowed_to_those_that_fail_or_hold(ana: Visitor, store: Store) -> None:
    fine = make_endpoint(store, ana.team.id, name="Fine")
    bad = make_endpoint(store, ana.team.id, name="Bad")
    make_endpoint(store, ana.team.id, name="Waiting")
    tell = Teller(store, ana.team.id)
    tell.delivery(fine, tries=[{"at": 9, "status": 200}])
    tell.delivery(
        bad, state=State.FAILED, tries=[{"at": 9, "status": 500, "cause": "server_error"}]
    )
    failing = ana.part("/endpoints?show=failing", "results").text
    assert ">Bad</a>" in failing
    assert ">Fine</a>" not in failing
    assert "None suspended." in ana.part("/endpoints?show=suspended", "results").text
    assert ">Fine</a>" in ana.part("/endpoints?show=nonsense", "results").text
