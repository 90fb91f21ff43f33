"""The pages of bulk retry and recovery, without script: preview, confirmation, job, stop."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from relay_web.domain.delivery import State
from relay_web.domain.roles import Role
from relay_web.engine.bulk import Bulk
from relay_web.store import Store
from tests.factories import make_endpoint
from tests.stories import Teller
from tests.web.conftest import Visitor

HIDDEN = re.compile(r'type="hidden" name="(action_id|as_of|pace)" value="([^"]*)"')


@pytest.fixture
def tell(ana: Visitor, store: Store) -> Teller:
    return Teller(store, ana.team.id)


@pytest.fixture
def failed(tell: Teller, store: Store) -> list[str]:
    """Three failed deliveries and one that arrived, of one endpoint."""
    endpoint = make_endpoint(store, tell.team)
    tell.delivery(endpoint, ago=90, tries=[{"at": 89, "status": 200}])
    down = {"status": 503, "cause": "server_error", "verdict": "failed"}
    return [
        tell.delivery(endpoint, ago=ago, state=State.FAILED, tries=[down | {"at": ago - 1}])
        for ago in (80, 70, 60)
    ]


def form_of(page: str) -> dict[str, str]:
    """What the confirmation would send."""
    return dict(HIDDEN.findall(page.split('method="post" action="/t/')[-1]))


def confirmed(ana: Visitor, path: str) -> str:
    """The address of the job that the preview at `path` leads to."""
    answer = ana.post(path, form_of(ana.get(path).text))
    assert answer.status_code == 303, answer.text
    return answer.location


def work_off(store: Store) -> None:
    job = store.bulk_jobs.take(15.0)
    assert job is not None
    assert Bulk(store).work(job)


def test_the_preview_tells_how_many_where_why_and_what_is_left_out(
    ana: Visitor, failed: list[str]
) -> None:
    page = ana.get("/deliveries/retry").text
    assert "Retry 3 deliveries?" in page
    assert "4 match; left out are:" in page
    assert re.search(r"1</span> delivered already", page)
    assert "server error" in page
    assert "Queue 3 retries" in page
    assert "hx-get" in page


def test_confirming_twice_is_one_job_and_leads_to_its_page(
    ana: Visitor, failed: list[str], store: Store
) -> None:
    path = "/deliveries/retry?state=failed"
    form = form_of(ana.get(path).text)
    places = {ana.post(path, form).location for _ in range(2)}
    assert len(places) == store.db.bulk_jobs.count_documents({}) == 1
    (place,) = places
    page = ana.get(place).text
    assert "0 of 3 looked at" in page
    assert " bulk job running" in re.sub("<[^>]+>", "", page)
    work_off(store)
    page = ana.get(place).text
    assert "3 of 3 queued" in page
    assert " bulk job running" not in re.sub("<[^>]+>", "", page)
    assert ana.get("/deliveries?job=" + place.rpartition("/")[2]).text.count('id="st-dlv_') == 3


def test_ticked_boxes_are_retried_and_nothing_else(
    ana: Visitor, failed: list[str], store: Store
) -> None:
    confirmed(ana, f"/deliveries/retry?id={failed[0]}&id={failed[1]}")
    work_off(store)
    states = {key: store.deliveries.get(ana.team.id, key).state for key in failed}
    assert list(states.values()) == ["pending", "pending", "failed"]


def test_a_chosen_pace_is_kept_and_a_wrong_one_is_told(
    ana: Visitor, failed: list[str], store: Store
) -> None:
    confirmed(ana, "/deliveries/retry?state=failed&pace=7")
    assert store.db.bulk_jobs.find_one()["pace"] == 7  # type: ignore[index]
    page = ana.get("/deliveries/retry?state=failed&pace=fast").text
    assert "Send a whole number." in page
    assert "Queue 3 retries" not in page


def test_nothing_to_send_has_no_button_and_no_job(ana: Visitor, store: Store) -> None:
    page = ana.get("/deliveries/retry?state=failed").text
    assert "Nothing matches." in page
    assert "bulk-confirm" not in page
    answer = ana.post("/deliveries/retry?state=failed", form_of(page))
    assert answer.status_code == 303
    assert store.db.bulk_jobs.count_documents({}) == 0


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"action_id": "x"},
        {"action_id": "long-enough", "as_of": "2020-01-01T00:00:00Z"},
        {"action_id": "long-enough", "as_of": "2999-01-01T00:00:00Z"},
        {"action_id": "long-enough", "as_of": "soon"},
        {"action_id": "long-enough", "pace": "-1"},
    ],
)
def test_a_confirmation_that_is_not_ours_starts_nothing(
    ana: Visitor, failed: list[str], store: Store, form: dict[str, str]
) -> None:
    answer = ana.post("/deliveries/retry?state=failed", form)
    assert answer.status_code in (409, 422)
    assert store.db.bulk_jobs.count_documents({}) == 0


def test_a_jobs_poll_is_204_until_something_changed_and_286_at_the_end(
    ana: Visitor, failed: list[str], store: Store
) -> None:
    place = confirmed(ana, "/deliveries/retry?state=failed")
    page = ana.get(place).text
    url = re.search(r'hx-get="([^"]+/live[^"]+)"', page)
    assert url is not None
    live = url.group(1).replace("&amp;", "&")
    assert 'hx-trigger="every 2s' in page
    assert ana.part(live, "live").status_code == 204
    work_off(store)
    changed = ana.part(live, "live")
    assert changed.status_code == 200
    assert 'id="say"' in changed.text
    for key in failed:
        store.deliveries.cancel(ana.team.id, key, action_id=key, by="Ana")
    ended = ana.part(live, "live")
    assert ended.status_code == 286
    assert "every 2s" not in ended.text
    assert ana.get(live).status_code == 303


def test_stopping_names_who_did_it_and_a_second_press_says_it_had_ended(
    ana: Visitor, failed: list[str]
) -> None:
    place = confirmed(ana, "/deliveries/retry?state=failed")
    assert ana.post(f"{place}/stop").status_code == 303
    page = ana.get(place).text
    assert f"Stopped by {ana.email} after 0 of 3" in page
    assert "What is queued already stays." in page
    ana.post(f"{place}/stop")
    assert "It had ended already." in ana.get(place).text


def test_recovery_offers_two_tabs_and_the_first_failure_after_the_last_success(
    ana: Visitor, failed: list[str], store: Store, tell: Teller
) -> None:
    delivery = store.deliveries.get(ana.team.id, failed[0])
    assert delivery.last is not None
    page = ana.get(f"/endpoints/{delivery.endpoint}/recover").text
    assert "Failed since" in page
    assert "Never sent since" in page
    minute = delivery.last.at.strftime("%Y-%m-%dT%H:%M")
    assert f'value="{minute}"' in page
    assert "Queue 3 retries" in page


def test_recovery_of_what_was_never_sent_makes_its_deliveries(
    ana: Visitor, failed: list[str], store: Store
) -> None:
    late = make_endpoint(store, ana.team.id, name="Late")
    since = (store.now() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    path = f"/endpoints/{late.id}/recover?kind=missed&since={since}"
    assert "Queue 4 deliveries" in ana.get(path).text
    confirmed(ana, path)
    work_off(store)
    assert store.db.deliveries.count_documents({"endpoint": late.id}) == 4


@pytest.mark.parametrize("since", ["yesterday", "2999-01-01T00:00", "0001-01-01T00:00", "%00"])
def test_a_time_that_makes_no_sense_is_told_in_its_field(
    ana: Visitor, failed: list[str], store: Store, since: str
) -> None:
    endpoint = store.deliveries.get(ana.team.id, failed[0]).endpoint
    page = ana.get(f"/endpoints/{endpoint}/recover?since={since}")
    assert page.status_code == 200
    if since != "0001-01-01T00:00":
        assert 'id="since-error"' in page.text


def test_viewers_see_jobs_but_no_boxes_and_no_buttons(
    visit: Callable[..., Visitor], ana: Visitor, failed: list[str]
) -> None:
    place = confirmed(ana, "/deliveries/retry?state=failed")
    viewer = visit(role=Role.VIEWER)
    page: Any = viewer.get("/deliveries").text
    assert 'form="pick"' not in page
    assert 'id="stop"' not in viewer.get(place).text
    assert viewer.get("/deliveries/retry").status_code == 403
    assert viewer.post(f"{place}/stop").status_code == 403
