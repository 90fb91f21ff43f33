"""On the wire, and when the network fails: checks 59–62."""

import re

from playwright.sync_api import Page, expect

from relay_web.domain.delivery import State
from tests.browser.conftest import Site, Watch
from tests.browser.deeds import asked, open_delivery
from tests.browser.scenery import EMAIL, Scene


def test_59_answers_with_two_forms_vary_and_no_page_is_kept_in_the_session_storage(
    ana: Page, scene: Scene
) -> None:
    home = f"/t/{scene.slug}"
    for path in ("/", "/endpoints", "/deliveries", f"/deliveries/{scene.deliveries['sending']}"):
        for headers in ({}, {"HX-Request": "true", "HX-Target": "results"}):
            answer = ana.request.get(f"{home}{path}", headers=headers)
            assert "HX-Request" in answer.headers["vary"], path
            assert answer.headers["cache-control"] == "private, no-store", path
    ana.goto(f"{home}/deliveries")
    ana.get_by_role("checkbox", name="failed", exact=True).check()
    expect(ana).to_have_url(re.compile("state=failed"))
    ana.locator("#results tbody th a").first.click()
    ana.go_back()
    ana.go_back()
    assert ana.evaluate("Object.values(sessionStorage).join('').includes('<')") is False


def test_60_a_forged_post_is_refused_and_changes_nothing(
    ana: Page, scene: Scene, site: Site
) -> None:
    open_delivery(ana, scene, "retrying")
    token = ana.locator("[name=csrf_token]").first.get_attribute("value") or ""
    address, form = f"{ana.url}/cancel", {"action_id": "a-crafted-one"}
    for more, headers in (
        ({}, {}),
        ({"csrf_token": "made up"}, {}),
        ({"csrf_token": token}, {"Sec-Fetch-Site": "cross-site"}),
        ({"csrf_token": token}, {"Sec-Fetch-Site": "same-site"}),
    ):
        assert ana.request.post(address, form=form | more, headers=headers).status == 403
    kept = site.store.deliveries.get(scene.team, scene.deliveries["retrying"])
    assert kept.state is State.PENDING
    assert ana.request.post(address, form=form | {"csrf_token": token}).ok


def test_61_a_server_or_a_network_that_is_away_leaves_the_page_standing_and_says_so(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(503, 502, 0)
    open_delivery(ana, scene, "failed")
    pages = iter(
        (
            {"status": 503, "content_type": "text/html", "body": "<h1>Application error</h1>"},
            {"status": 502, "content_type": "text/html", "body": "<h1>Bad gateway</h1>"},
        )
    )
    ana.route("**/retry", lambda route: route.fulfill(**next(pages)))
    for status in (503, 502):
        ana.locator("#retry").click()
        expect(ana.locator("#problem")).to_contain_text(f"Relay did not answer ({status})")
        expect(ana.get_by_role("heading", level=1)).to_contain_text("Delivery of invoice.voided")
    assert "Application error" not in ana.content()
    ana.unroute("**/retry")
    ana.locator("#retry").click()
    expect(ana.locator("#card")).to_contain_text("Queued")
    expect(ana.locator("#problem")).to_be_empty()


def test_61_offline_is_said_with_the_age_of_the_page_and_caught_up_with_at_once(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(0)
    open_delivery(ana, scene, "sending")
    ana.context.set_offline(True)
    expect(ana.locator("#live")).to_contain_text(re.compile(r"Offline · as of \d\d:\d\d:\d\d"))
    polls = asked(ana, "/live")
    with ana.expect_response(re.compile("/live"), timeout=2000):
        ana.context.set_offline(False)
    expect(ana.locator("#live")).to_contain_text("Live")
    assert polls


def test_updates_that_stay_away_are_said_in_the_live_line_and_end_by_themselves(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(0)
    open_delivery(ana, scene, "sending")
    ana.route("**/live?**", lambda route: route.abort())
    expect(ana.locator("#live")).to_contain_text("Updates lost – retrying")
    ana.unroute("**/live?**")
    expect(ana.locator("#live")).to_contain_text("Live")


def test_an_ended_sign_in_leads_to_the_sign_in_page_and_back_to_the_whole_page(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(401)
    open_delivery(ana, scene, "sending")
    address = ana.url
    ana.context.clear_cookies()
    ana.wait_for_url("**/signin?next=**")
    ana.get_by_label("Email").fill(EMAIL)
    ana.get_by_label("Password").fill("correct horse battery")
    ana.get_by_role("button", name="Sign in").click()
    ana.wait_for_url(address)


def test_62_a_hidden_or_paused_page_asks_nothing_and_catches_up_at_once(
    ana: Page, scene: Scene
) -> None:
    ana.clock.install()
    open_delivery(ana, scene, "sending")
    polls = asked(ana, "/live")
    with ana.expect_request(re.compile("/live")):
        ana.clock.run_for(1500)
    hide(ana, True)
    quiet = settled(ana, polls)
    ana.clock.run_for(30_000)
    assert settled(ana, polls) == quiet
    with ana.expect_request(re.compile("/live")):
        hide(ana, False)
    ana.get_by_role("button", name="Pause").click()
    expect(ana.locator("#live")).to_contain_text("Paused")
    quiet = settled(ana, polls)
    ana.clock.run_for(30_000)
    assert settled(ana, polls) == quiet
    with ana.expect_request(re.compile("/live")):
        ana.get_by_role("button", name="Resume").click()


def hide(page: Page, hidden: bool) -> None:
    """What a browser tells a page whose tab goes behind another one, or comes back."""
    page.evaluate(
        """(hidden) => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def settled(page: Page, polls: list[str]) -> int:
    """How many polls there were once those under way are over."""
    page.evaluate("fetch('/healthz').then((answer) => answer.text())")
    return len(polls)
