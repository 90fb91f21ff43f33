"""One event: what became of it everywhere, sending it again, sending it where it did not go."""

from collections.abc import Callable

import pytest

from relay_web.domain.delivery import State, delivery_id
from relay_web.domain.roles import Role
from relay_web.store import Store
from tests.factories import make_endpoint
from tests.stories import Teller
from tests.web.conftest import Visitor

FAILED = {"state": State.FAILED, "tries": [{"at": 9, "status": 500, "cause": "server_error"}]}


def event_of(store: Store, visitor: Visitor, delivery: str) -> str:
    return store.deliveries.get(visitor.team.id, delivery).event


def test_resend_queues_the_failed_delivery_once_for_each_form(ana: Visitor, store: Store) -> None:
    tell = Teller(store, ana.team.id)
    key = tell.delivery(make_endpoint(store, ana.team.id), **FAILED)
    event = event_of(store, ana, key)
    assert "Resend to the one that failed" in ana.get(f"/events/{event}").text
    for _ in range(2):
        assert ana.post(f"/events/{event}/resend", {"action_id": "a1"}).status_code == 303
    found = store.deliveries.get(ana.team.id, key)
    assert found.state is State.PENDING
    assert len(found.actions) == 1
    assert store.audit.list(ana.team.id, action="event.replayed").items[0].target == event


def test_resend_of_what_arrived_sends_nothing_and_says_so(ana: Visitor, store: Store) -> None:
    tell = Teller(store, ana.team.id)
    key = tell.delivery(make_endpoint(store, ana.team.id), tries=[{"at": 9, "status": 200}])
    event = event_of(store, ana, key)
    page = ana.get(f"/events/{event}").text
    assert "Resend" not in page
    answer = ana.post(f"/events/{event}/resend", {"action_id": "a1"})
    assert "Nothing was sent" in ana.client.get(answer.location).text
    assert store.deliveries.get(ana.team.id, key).state is State.DELIVERED


def test_an_event_is_sent_to_an_endpoint_that_missed_it_once(ana: Visitor, store: Store) -> None:
    late = make_endpoint(store, ana.team.id, name="Late")
    event = Teller(store, ana.team.id).event("a.b", b"{}", ago=60, targets=[])["_id"]
    page = ana.get(f"/events/{event}").text
    assert "Registered after this event." in page
    assert 'aria-label="Send it to Late"' in page
    for _ in range(2):
        answer = ana.post(f"/events/{event}/send", {"endpoint": late.id})
        assert answer.location.endswith(f"/deliveries/{delivery_id(event, late.id)}")
    assert store.db.deliveries.count_documents({"event": event}) == 1


def test_it_is_not_sent_to_an_endpoint_that_holds_or_is_not_there(
    ana: Visitor, visit: Callable[..., Visitor], store: Store
) -> None:
    paused = make_endpoint(store, ana.team.id, name="Paused")
    store.endpoints.pause(ana.team.id, paused.id, "ana")
    foreign = make_endpoint(store, visit("Other").team.id)
    event = Teller(store, ana.team.id).event("a.b", b"{}", ago=60, targets=[])["_id"]
    answer = ana.post(f"/events/{event}/send", {"endpoint": paused.id})
    assert "Paused is paused; resume it first." in ana.client.get(answer.location).text
    for endpoint in (foreign.id, "ep_$ne", ""):
        assert ana.post(f"/events/{event}/send", {"endpoint": endpoint}).status_code == 404
    assert store.db.deliveries.count_documents({"event": event}) == 0


@pytest.mark.parametrize("deed", ["resend", "send"])
def test_a_viewer_sees_no_button_and_is_refused(
    visit: Callable[..., Visitor], store: Store, deed: str
) -> None:
    vera = visit("Acme", Role.VIEWER)
    endpoint = make_endpoint(store, vera.team.id)
    key = Teller(store, vera.team.id).delivery(endpoint, **FAILED)
    event = event_of(store, vera, key)
    assert f'/events/{event}/{deed}"' not in vera.get(f"/events/{event}").text
    assert vera.post(f"/events/{event}/{deed}", {"endpoint": endpoint.id}).status_code == 403


def test_the_page_polls_while_something_is_under_way_and_ends_with_286(
    ana: Visitor, store: Store
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    tell = Teller(store, ana.team.id)
    key = tell.delivery(endpoint, state=State.PENDING)
    event = event_of(store, ana, key)
    page = ana.get(f"/events/{event}").text
    url = page.split('id="live"')[1].split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert ana.part(url, "live").status_code == 204
    store.deliveries.cancel(ana.team.id, key, action_id="a", by="ana")
    ended = ana.part(url, "live")
    assert ended.status_code == 286
    assert "every 2s" not in ended.text
    assert "cancelled" in ended.text


def test_many_endpoints_that_got_nothing_are_listed_when_asked_for(
    ana: Visitor, store: Store
) -> None:
    for number in range(25):
        make_endpoint(store, ana.team.id, name=f"Number {number}")
    event = Teller(store, ana.team.id).event("a.b", b"{}", ago=60, targets=[])["_id"]
    folded = ana.get(f"/events/{event}").text
    assert "25 endpoints got nothing" in folded
    assert "Number 7" not in folded
    assert "Number 7" in ana.part(f"/events/{event}?missed=1", "missed").text
    assert "Number 7" in ana.get(f"/events/{event}?missed=1").text
