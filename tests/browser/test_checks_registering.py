"""Registering an endpoint and proving that it works: checks 8–15."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, Watch
from tests.browser.deeds import asked, register, send_test
from tests.browser.scenery import Scene
from tests.e2e.processes import Process
from tests.receiver import Receiver, hold


def endpoints_at(site: Site, scene: Scene, url: str) -> int:
    return site.store.endpoints.same_url(scene.team, url)


def test_08_an_internal_address_is_hinted_at_and_focus_moves_on(ana: Page, scene: Scene) -> None:
    ana.goto(f"/t/{scene.slug}/endpoints/new")
    ana.get_by_label("URL").fill("http://10.0.0.5/")
    ana.keyboard.press("Tab")
    expect(ana.locator("#url-hint")).to_contain_text(
        "This address is not allowed; Relay does not call internal addresses."
    )
    expect(ana.get_by_label("Name")).to_be_focused()
    expect(ana.get_by_label("URL")).to_have_value("http://10.0.0.5/")


def test_09_an_empty_form_comes_back_with_the_error_tied_to_its_field(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(422)
    ana.goto(f"/t/{scene.slug}/endpoints/new")
    with ana.expect_response(re.compile("/endpoints$")) as answer:
        ana.get_by_role("button", name="Register endpoint").click()
    assert answer.value.status == 422
    url = ana.get_by_label("URL")
    expect(url).to_be_focused()
    expect(url).to_have_attribute("aria-invalid", "true")
    expect(url).to_have_accessible_description(re.compile("https"))
    described = url.get_attribute("aria-describedby")
    assert described is not None
    assert "url-error" in described.split()
    expect(ana.locator("#url-error")).to_be_visible()


def test_10_without_script_the_same_error_and_then_the_endpoints_page(
    someone: Callable[..., Page], scene: Scene, watch: Watch, receiver: Receiver
) -> None:
    watch.expect(422)
    page = someone(script=False)
    page.goto(f"/t/{scene.slug}/endpoints/new")
    page.get_by_role("button", name="Register endpoint").click()
    expect(page.locator("#url")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#url-error")).to_be_visible()
    page.get_by_label("URL").fill(receiver.url("/plain"))
    page.get_by_role("button", name="Register endpoint").click()
    expect(page.get_by_role("heading", name="Prove it works")).to_be_visible()


def test_11_a_double_click_registers_once(
    ana: Page, scene: Scene, site: Site, receiver: Receiver
) -> None:
    ana.goto(f"/t/{scene.slug}/endpoints/new")
    ana.get_by_label("URL").fill(receiver.url("/twice"))
    ana.get_by_role("button", name="Register endpoint").dblclick()
    expect(ana.get_by_role("heading", name="Prove it works")).to_be_visible()
    assert endpoints_at(site, scene, receiver.url("/twice")) == 1


def test_12_a_pattern_tells_how_many_events_it_would_have_matched(
    ana: Page, scene: Scene, site: Site
) -> None:
    events = list(site.store.db.events.find({"team": scene.team}))
    count = sum(event["type"].startswith("invoice.") for event in events)
    assert 0 < count < len(events) < 1000
    ana.goto(f"/t/{scene.slug}/endpoints/new")
    ana.get_by_label("Only these").check()
    ana.get_by_label("Event types and patterns").press_sequentially("invoice.*")
    expect(ana.locator("#match")).to_have_text(
        f"Would have matched {count} of the last {len(events)} events."
    )


def test_13_the_secret_is_on_the_page_once_and_never_in_a_reload(
    ana: Page, scene: Scene, receiver: Receiver
) -> None:
    register(ana, scene, receiver.url("/ok"))
    secret = ana.locator("#new-secret").inner_text()
    assert secret.startswith("whsec_")
    assert secret in ana.locator("#verify-python").inner_text()
    ana.reload()
    expect(ana.locator("#new-secret")).to_have_count(0)
    expect(ana.locator("#secret")).to_contain_text("whsec_•••")
    assert secret not in ana.content()


def test_14_a_test_event_goes_from_sending_to_delivered_and_polls_no_more(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    register(ana, scene, receiver.url("/ok"))
    polls = asked(ana, "/test/")
    send_test(ana, "delivered")
    expect(ana.locator("#test-row")).to_contain_text("it works")
    (request,) = receiver.wait(1, "/ok")
    assert request.headers["webhook-id"].startswith("msg_")
    quiet = len(polls)
    ana.wait_for_timeout(2500)  # nothing may come: that is what is tested
    assert len(polls) == quiet


def test_15_a_hanging_receiver_ends_as_a_timeout_with_its_phase_named(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    receiver.script("/hang", hold())
    register(ana, scene, receiver.url("/hang"))
    send_test(ana, "retrying")
    expect(ana.locator("#test-row")).to_contain_text(
        re.compile("timed out waiting for the answer", re.IGNORECASE)
    )
    ana.get_by_role("link", name="See its timeline").click()
    expect(ana.locator("#diagnosis")).to_contain_text("took the request but did not answer in time")
    expect(ana.locator(".phase-list")).to_contain_text("wait for the answer")
    receiver.release()
