"""Registering, testing, holding and deleting endpoints in the browser."""

import re
from collections.abc import Callable

import pytest

from relay_web.domain.roles import Role
from relay_web.store import Store
from tests.factories import make_endpoint
from tests.web.conftest import Visitor

URL = "http://127.0.0.1:8080/hooks"
ONCE = {"action_id": "action-00000001"}


def register(ana: Visitor, **form: str) -> str:
    answer = ana.post("/endpoints", {"url": URL, **ONCE, **form})
    assert answer.status_code == 303
    return str(answer.location).partition("#")[0]


def test_after_registering_the_secret_is_shown_exactly_once(ana: Visitor) -> None:
    page = register(ana)
    first, second = ana.get(page), ana.get(page)
    secret = re.search(r"whsec_[A-Za-z0-9+/=]{20,}", first.text)
    assert secret is not None
    assert "Prove it works" in first.text
    assert secret.group() not in second.text
    assert first.headers["Cache-Control"] == "private, no-store"


def test_the_same_form_twice_makes_one_endpoint(ana: Visitor, store: Store) -> None:
    assert register(ana) == register(ana)
    assert store.endpoints.count(ana.team.id) == 1


@pytest.mark.parametrize(
    ("form", "field", "words"),
    [
        ({"url": ""}, "url", ""),
        ({"url": "javascript:window.x=1"}, "url", "http"),
        ({"url": "data:text/html,x"}, "url", "http"),
        ({"url": URL, "rate_per_second": "many"}, "rate_per_second", "whole number"),
        ({"url": URL, "headers": "no colon here"}, "headers", "Name: value"),
        ({"url": URL, "which": "some", "event_types": ""}, "event_types", ""),
        ({"url": URL, "which": "some", "event_types": "a..b"}, "event_types", "a..b"),
    ],
)
def test_a_bad_field_comes_back_with_its_sentence_and_the_focus(
    ana: Visitor, store: Store, form: dict[str, str], field: str, words: str
) -> None:
    answer = ana.post("/endpoints", {**ONCE, **form})
    assert answer.status_code == 422
    place = re.search(rf'<(?:input|textarea)[^>]*name="{field}"[^>]*>', answer.text)
    assert place is not None
    assert 'aria-invalid="true"' in place.group()
    assert "autofocus" in place.group()
    assert f'id="{field}-error"' in answer.text
    assert words in answer.text
    assert store.endpoints.count(ana.team.id) == 0


def test_htmx_gets_the_form_alone_with_422_and_is_sent_on_after_success(ana: Visitor) -> None:
    wants = {"HX_Request": "true", "HX_Target": "endpoint-form"}
    refused = ana.post("/endpoints", {"url": "", **ONCE}, **wants)
    assert refused.status_code == 422
    assert refused.text.lstrip().startswith('<form id="endpoint-form"')
    made = ana.post("/endpoints", {"url": URL, **ONCE}, **wants)
    assert "/endpoints/ep_" in made.headers["HX-Redirect"]


def test_patterns_are_tried_on_the_newest_events(ana: Visitor, store: Store) -> None:
    from tests.factories import publish

    for kind in ("invoice.paid", "invoice.voided", "user.created"):
        publish(store, ana.team.id, type=kind)
    answer = ana.part("/endpoints/match?event_types=invoice.*", "match")
    assert "2 of the last 3 events" in answer.text
    assert "neither" in ana.part("/endpoints/match?event_types=a..b", "match").text


def test_pause_holds_and_resume_lets_go(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    assert ana.post(f"/endpoints/{endpoint.id}/pause").status_code == 303
    assert "held" in ana.get(f"/endpoints/{endpoint.id}").text
    answer = ana.post(f"/endpoints/{endpoint.id}/resume", HX_Request="true", HX_Target="ep-head")
    assert answer.text.lstrip().startswith('<section id="ep-head"')
    assert store.endpoints.get(ana.team.id, endpoint.id).state == "active"


def test_a_test_event_shows_its_row_and_the_row_asks_until_it_ended(
    ana: Visitor, store: Store
) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    wants = {"HX_Request": "true", "HX_Target": "test-result"}
    answer = ana.post(f"/endpoints/{endpoint.id}/test", dict(ONCE), **wants)
    assert answer.status_code == 200
    assert 'hx-trigger="every 1s"' in answer.text
    again = ana.post(f"/endpoints/{endpoint.id}/test", dict(ONCE), **wants)
    assert again.status_code == 200
    (row,) = store.timeline.deliveries(ana.team.id, _all()).items
    store.deliveries.cancel(ana.team.id, row.delivery.id, action_id="action-9", by="ana")
    ended = ana.part(f"/endpoints/{endpoint.id}/test/{row.delivery.id}", "test-row")
    assert ended.status_code == 286
    assert "hx-trigger" not in ended.text


def test_a_test_event_to_a_paused_endpoint_is_refused_in_place(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    store.endpoints.pause(ana.team.id, endpoint.id, "ana")
    answer = ana.post(
        f"/endpoints/{endpoint.id}/test", dict(ONCE), HX_Request="true", HX_Target="test-result"
    )
    assert answer.status_code == 409
    assert "resume it first" in answer.text
    assert not store.timeline.deliveries(ana.team.id, _all()).items


def test_delete_asks_for_the_name(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id)
    wrong = ana.post(f"/endpoints/{endpoint.id}/delete", {"name": "billing"})
    assert wrong.status_code == 422
    assert ana.post(f"/endpoints/{endpoint.id}/delete", {"name": "Billing"}).status_code == 303
    assert ana.get(f"/endpoints/{endpoint.id}").status_code == 404


def test_settings_are_edited_and_a_stale_form_is_told_so(ana: Visitor, store: Store) -> None:
    page = register(ana)
    form = {"url": URL, "name": "Renamed", "which": "some", "event_types": "invoice.*"}
    assert ana.post(f"{page}/edit", {**form, "rev": "0"}).status_code == 303
    assert "invoice.*" in ana.get(page).text
    stale = ana.post(f"{page}/edit", {**form, "rev": "0"})
    assert stale.status_code == 409
    assert "reload" in stale.text


def test_a_secret_is_revealed_to_admins_only_and_leaves_a_mark(
    ana: Visitor, visit: Callable[..., Visitor], store: Store
) -> None:
    page = register(ana)
    ana.get(page)
    shown = ana.post(f"{page}/reveal", HX_Request="true", HX_Target="secret")
    assert re.search(r'value="whsec_[A-Za-z0-9+/=]{20,}"', shown.text)
    assert shown.headers["Cache-Control"] == "private, no-store"
    actions = [entry.action for entry in store.audit.list(ana.team.id).items]
    assert actions.count("endpoint.secret_revealed") == 1
    member = visit(role=Role.MEMBER)
    assert member.post(f"{page}/reveal").status_code == 403
    assert "Reveal</button>" not in member.get(page).text


def test_rotating_shows_the_new_secret_once_and_says_how_long_the_old_one_signs(
    ana: Visitor,
) -> None:
    page = register(ana)
    old = re.search(r"whsec_[A-Za-z0-9+/=]{20,}", ana.get(page).text)
    assert ana.post(f"{page}/rotate", {"overlap": "24"}).status_code == 303
    html = ana.get(page).text
    new = re.search(r"whsec_[A-Za-z0-9+/=]{20,}", html)
    assert old is not None
    assert new is not None
    assert old.group() != new.group()
    assert "An old secret also signs for another" in html


def _all():  # type: ignore[no-untyped-def]
    from relay_web.store.filtering import Filters

    return Filters()
