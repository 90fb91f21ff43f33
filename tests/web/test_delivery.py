"""A delivery's page and what a person does there."""

import re
import shlex
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from standardwebhooks import Webhook

from relay_web.domain.delivery import State
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.roles import Role
from relay_web.store import Store
from tests.factories import claim, make_endpoint
from tests.stories import Teller
from tests.web.conftest import Visitor

DOWN = {"status": 503, "cause": "server_error", "ms": 812.0}


@pytest.fixture
def endpoint(ana: Visitor, store: Store) -> Endpoint:
    return make_endpoint(store, ana.team.id)


@pytest.fixture
def tell(ana: Visitor, store: Store) -> Teller:
    return Teller(store, ana.team.id)


def failed(tell: Teller, endpoint: Endpoint) -> str:
    tries = [DOWN | {"at": 90, "verdict": "failed", "rule": "no tries left"}]
    return tell.delivery(endpoint, ago=100, state=State.FAILED, tries=tries)


def action(number: int = 1, **more: Any) -> dict[str, Any]:
    return {"action_id": f"action-{number:08}", **more}


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_page_tells_what_happened_and_what_comes_next(
    ana: Visitor, tell: Teller, endpoint: Endpoint
) -> None:
    tries = [DOWN | {"at": 90, "delay": 300.0}]
    key = tell.delivery(endpoint, ago=100, state=State.PENDING, tries=tries, due_at=tell.at(-240))
    page = text_of(ana.get(f"/deliveries/{key}").text)
    assert "Delivery of invoice.paid to Billing" in page
    assert "Will try again in" in page
    assert "attempt 2 of 8" in page
    assert "hooks.example.com answered 503" in page
    assert "Attempt 1: answered 503 in 812 ms" in page
    assert "worker.1 took the lease · token 1" in page


def test_a_fenced_result_is_told_and_drawn(ana: Visitor, tell: Teller, endpoint: Endpoint) -> None:
    key = tell.delivery(
        endpoint,
        ago=240,
        tries=[
            {"at": 239, "status": 200, "ms": 41200.0, "worker": "worker.2", "lost": 209},
            {"at": 208, "status": 200, "worker": "worker.1"},
        ],
    )
    html = ana.get(f"/deliveries/{key}").text
    page = text_of(html)
    assert "Late result fenced off" in page
    assert "with token 1" in page
    assert 'aria-label="2 attempts, 1 fenced"' in html
    assert html.count('class="mark fenced"') == 1
    assert html.count('class="lane-line"') == 2


def test_retry_queues_it_and_the_same_press_counts_once(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = failed(tell, endpoint)
    for _ in range(2):
        answer = ana.post(f"/deliveries/{key}/retry", action())
        assert answer.status_code == 303
    stored = store.deliveries.get(ana.team.id, key)
    assert stored.state is State.PENDING
    assert len(stored.actions) == 1
    assert stored.actions[0].by == ana.email
    assert "Queued – a worker picks it up now." in ana.get(f"/deliveries/{key}").text


def test_htmx_gets_the_new_card_the_faster_poller_and_one_message(
    ana: Visitor, tell: Teller, endpoint: Endpoint
) -> None:
    key = failed(tell, endpoint)
    answer = ana.post(f"/deliveries/{key}/retry", action(), HX_Request="true", HX_Target="card")
    assert answer.status_code == 200
    assert answer.text.lstrip().startswith('<div id="card"')
    assert re.search(r'<div id="live"[^>]*hx-swap-oob="true"[^>]*every 1s', answer.text)
    assert answer.text.count('id="say"') == 1
    assert 'id="retry"' in answer.text


def test_a_delivered_one_is_not_sent_again_by_an_old_page(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = tell.delivery(endpoint, tries=[{"at": 50, "status": 200}])
    before = store.deliveries.get(ana.team.id, key)
    stale = ana.post(f"/deliveries/{key}/retry", action(rev=0), HX_Request="true", HX_Target="card")
    assert stale.status_code == 409
    assert "Nothing was sent" in stale.text
    assert store.deliveries.get(ana.team.id, key) == before


def test_a_delivered_one_is_sent_again_once_that_was_confirmed(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = tell.delivery(endpoint, tries=[{"at": 50, "status": 200}])
    rev = store.deliveries.get(ana.team.id, key).rev
    assert ana.post(f"/deliveries/{key}/retry", action(rev=rev, again=1)).status_code == 303
    assert store.deliveries.get(ana.team.id, key).state is State.PENDING


def test_a_held_one_says_to_resume_the_endpoint_first(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = tell.delivery(endpoint, state=State.PENDING)
    store.endpoints.pause(ana.team.id, endpoint.id, "ana")
    answer = ana.post(f"/deliveries/{key}/retry", action())
    assert answer.status_code == 409
    assert "Resume the endpoint first" in answer.text
    assert store.deliveries.get(ana.team.id, key).actions == ()


def test_one_that_is_being_sent_can_be_taken_over_or_cancelled_but_not_retried(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = tell.delivery(endpoint, state=State.PENDING)
    held = claim(store, store.deliveries.get(ana.team.id, key))
    html = ana.get(f"/deliveries/{key}").text
    assert "In flight on worker.1 until" in html
    assert ana.post(f"/deliveries/{key}/retry", action()).status_code == 409
    assert ana.post(f"/deliveries/{key}/take-over", action(2)).status_code == 303
    assert store.deliveries.get(ana.team.id, key).lease_token == held.lease_token + 1


def test_cancel_ends_it_and_names_who_did(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = tell.delivery(endpoint, state=State.PENDING)
    assert ana.post(f"/deliveries/{key}/cancel", action()).status_code == 303
    assert store.deliveries.get(ana.team.id, key).state is State.CANCELLED
    assert f"Cancel by {ana.email}" in ana.get(f"/deliveries/{key}").text
    assert ana.post(f"/deliveries/{key}/cancel", action(2)).status_code == 409


def test_a_form_without_its_one_time_id_is_refused(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = failed(tell, endpoint)
    assert ana.post(f"/deliveries/{key}/retry").status_code == 409
    assert store.deliveries.get(ana.team.id, key).state is State.FAILED


def test_a_viewer_reads_everything_and_changes_nothing(
    ana: Visitor, visit: Callable[..., Visitor], tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = failed(tell, endpoint)
    viewer = visit(role=Role.VIEWER)
    page = viewer.get(f"/deliveries/{key}").text
    assert "Retry now</button>" not in page
    answer = viewer.post(f"/deliveries/{key}/retry", action())
    assert answer.status_code == 403
    assert "Ask a member of Acme" in answer.text
    assert store.deliveries.get(ana.team.id, key).state is State.FAILED


def live_url(html: str) -> str:
    own = html.split('id="live"')[1]
    return own.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")


def test_a_poll_answers_204_then_what_changed_then_286(
    ana: Visitor, tell: Teller, endpoint: Endpoint, store: Store
) -> None:
    key = tell.delivery(endpoint, state=State.PENDING)
    url = live_url(ana.get(f"/deliveries/{key}").text)
    assert ana.part(url, "live").status_code == 204
    claim(store, store.deliveries.get(ana.team.id, key))
    moved = ana.part(url, "live")
    assert moved.status_code == 200
    assert "every 1s" in moved.text
    assert 'hx-swap-oob="beforeend:#journal"' in moved.text
    assert "took the lease" in moved.text
    assert "Event accepted" not in moved.text
    store.deliveries.cancel(ana.team.id, key, action_id="action-1", by="ana")
    ended = ana.part(live_url(moved.text), "live")
    assert ended.status_code == 286
    assert "hx-trigger" not in ended.text.split('id="card"')[0]


def test_attempts_can_be_opened_and_compared_without_script(
    ana: Visitor, tell: Teller, endpoint: Endpoint
) -> None:
    key = tell.delivery(
        endpoint,
        ago=100,
        tries=[DOWN | {"at": 90, "worker": "worker.2"}, {"at": 50, "status": 200}],
    )
    page = ana.get(f"/deliveries/{key}/attempts/1").text
    assert "upstream down" in page
    assert "v1,K5oZ" not in page
    difference = text_of(ana.get(f"/deliveries/{key}/compare").text)
    assert "worker.2 worker.1" in difference
    assert "Same payload Yes" in difference
    assert ana.get(f"/deliveries/{key}/attempts/9").status_code == 404
    assert ana.get(f"/deliveries/{key}/compare?a=1&b=9").status_code == 404


def test_a_copied_command_sends_the_same_bytes_and_holds_no_secret(
    ana: Visitor, visit: Callable[..., Visitor], tell: Teller, endpoint: Endpoint
) -> None:
    data = b'{"text":"it\'s $HOME \\"quoted\\""}'
    key = tell.delivery(endpoint, data=data, tries=[{"at": 50, "status": 200}])
    viewer = visit(role=Role.VIEWER)
    command = unescape(viewer.get(f"/deliveries/{key}/attempts/1/curl").text)
    text = command.split('aria-label="Command">')[1].split("</pre>")[0]
    words = shlex.split(text)
    event = ana.get(f"/deliveries/{key}").text
    assert words[:4] == ["curl", "-X", "POST", "https://hooks.example.com/in"]
    assert words[words.index("--data-binary") + 1].endswith(data.decode() + "}")
    assert not any("signature" in word for word in words)
    assert "With a signature made now" not in command
    assert viewer.post(f"/deliveries/{key}/attempts/1/curl").status_code == 403
    assert "As cURL" in event


def test_an_admin_gets_a_signature_that_verifies(ana: Visitor, tell: Teller, store: Store) -> None:
    page = ana.post("/endpoints", {"url": "http://127.0.0.1:8080/hook", "action_id": "a" * 12})
    (made,) = store.endpoints.list(ana.team.id).items
    secret = re.search(r"whsec_[A-Za-z0-9+/=]{20,}", ana.get(page.location.split("#")[0]).text)
    assert secret is not None
    key = tell.delivery(made, tries=[{"at": 50, "status": 200}])
    command = unescape(ana.post(f"/deliveries/{key}/attempts/1/curl").text)
    words = shlex.split(command.split('aria-label="Command">')[1].split("</pre>")[0])
    headers = dict(word.split(": ", 1) for word in words if word.startswith("webhook-"))
    headers["webhook-id"] = store.deliveries.get(ana.team.id, key).webhook_id
    body = words[words.index("--data-binary") + 1]
    assert Webhook(secret.group()).verify(body, headers)["type"] == "invoice.paid"


def test_the_timeline_is_read_newest_first_by_those_who_chose_so(
    ana: Visitor, store: Store
) -> None:
    key = Teller(store, ana.team.id).delivery(
        make_endpoint(store, ana.team.id), tries=[{"at": 9, "status": 200}]
    )
    lines = re.compile(r'<li id="j-(\d+)"')
    oldest_first = lines.findall(ana.get(f"/deliveries/{key}").text)
    assert oldest_first == [str(number) for number in range(1, len(oldest_first) + 1)]
    assert ana.post("/account", {"order": "newest"}).status_code == 303
    assert lines.findall(ana.get(f"/deliveries/{key}").text) == oldest_first[::-1]
    assert ana.post("/account", {"order": "$ne"}).status_code == 303
    assert lines.findall(ana.get(f"/deliveries/{key}").text) == oldest_first
