"""From a URL to a green tick, and from a failure to a retry that lands: with a real worker."""

import re
from collections.abc import Callable

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Site, Watch
from tests.browser.scenery import Scene
from tests.e2e.processes import Process
from tests.e2e.waiting import eventually
from tests.receiver import Receiver, answer, hold


def register(page: Page, scene: Scene, url: str) -> None:
    page.goto(f"/t/{scene.slug}/endpoints/new")
    page.get_by_label("URL").fill(url)
    page.get_by_role("button", name="Register endpoint").click()
    expect(page.get_by_role("heading", name="Prove it works")).to_be_visible()


def polls(page: Page) -> list[str]:
    seen: list[str] = []
    page.on(
        "request", lambda request: seen.append(request.url) if "/test/" in request.url else None
    )
    return seen


def test_from_a_url_to_a_verified_green_tick_on_one_page(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    register(ana, scene, receiver.url("/ok"))
    secret = ana.locator("#new-secret").inner_text()
    assert secret.startswith("whsec_")
    assert secret in ana.locator("#verify-python").inner_text()
    asked = polls(ana)
    ana.get_by_role("button", name="Send test event").click()
    row = ana.locator("#test-row")
    expect(row).to_contain_text("delivered", timeout=10_000)
    expect(row).to_contain_text("it works")
    (request,) = receiver.wait(1, "/ok")
    assert request.headers["webhook-id"].startswith("msg_")
    quiet = len(asked)
    ana.wait_for_timeout(2500)  # nothing may come: that is what is tested
    assert len(asked) == quiet
    ana.reload()
    assert secret not in ana.content()
    ana.get_by_role("link", name="relay.test").first.click()
    expect(ana.get_by_role("heading", name=re.compile("Delivery of relay.test"))).to_be_visible()
    for words in (
        "Event accepted",
        "took the lease · token 1",
        "Attempt 1: answered 200",
        "Delivered",
    ):
        expect(ana.locator("#journal")).to_contain_text(words)


def test_a_hanging_receiver_ends_as_a_timeout_with_its_phase_named(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    receiver.script("/hang", hold())
    register(ana, scene, receiver.url("/hang"))
    ana.get_by_role("button", name="Send test event").click()
    row = ana.locator("#test-row")
    expect(row.locator(".pill")).to_have_text("retrying", timeout=15_000)
    row.get_by_role("link", name="See its timeline").click()
    expect(ana.locator("#diagnosis")).to_contain_text("took the request but did not answer in time")
    receiver.release()


def fail_once(ana: Page, scene: Scene, receiver: Receiver) -> None:
    """Leaves the page on the timeline of a delivery that got 503 and waits."""
    receiver.script("/flaky", answer(503), answer(200, b'{"ok":true}'))
    register(ana, scene, receiver.url("/flaky"))
    ana.get_by_role("button", name="Send test event").click()
    row = ana.locator("#test-row")
    expect(row.locator(".pill")).to_have_text("retrying", timeout=10_000)
    row.get_by_role("link", name="See its timeline").click()
    expect(ana.get_by_text("Will try again in")).to_be_visible()


def test_a_retry_lands_in_place_is_said_once_and_the_focus_stays(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process, site: Site
) -> None:
    fail_once(ana, scene, receiver)
    ana.evaluate("""() => {
      window.heard = [];
      new MutationObserver(() => {
        const text = document.getElementById("say").textContent.trim();
        if (text) window.heard.push(text);
      }).observe(document.getElementById("say"), {childList: true, subtree: true});
    }""")
    ana.locator("#retry").click()
    expect(ana.locator("#card .pill").first).to_have_text("delivered", timeout=10_000)
    expect(ana.locator("#journal")).to_contain_text("Attempt 2: answered 200")
    expect(ana).to_have_title(re.compile("delivered"))
    assert ana.evaluate("document.activeElement.id") == "retry"
    heard = ana.evaluate("window.heard")
    assert [text for text in heard if text.startswith("Attempt 2")] == heard[-1:]
    expect(ana.locator("#live")).to_contain_text("Final")
    ana.get_by_role("link", name="Compare with attempt 1").click()
    expect(ana.get_by_role("cell", name="503").first).to_be_visible()


def test_three_fast_presses_are_one_request(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    fail_once(ana, scene, receiver)
    ana.evaluate("() => { for (let i = 0; i < 3; i++) document.getElementById('retry').click(); }")
    expect(ana.locator("#card .pill").first).to_have_text("delivered", timeout=10_000)
    assert len(receiver.requests("/flaky")) == 2


def test_two_tabs_the_second_press_sends_nothing_and_says_so(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process, watch: Watch
) -> None:
    watch.expect(409)
    fail_once(ana, scene, receiver)
    other = ana.context.new_page()
    watch.follow(other)
    other.goto(ana.url)
    other.locator("#live-pause").click()
    ana.locator("#retry").click()
    expect(ana.locator("#card .pill").first).to_have_text("delivered", timeout=10_000)
    other.locator("#retry").click()
    expect(other.locator("#card")).to_contain_text("Nothing was sent")
    expect(other.locator("#card .pill").first).to_have_text("delivered")
    assert len(receiver.requests("/flaky")) == 2


def test_what_one_opened_stays_open_while_the_page_lives(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    fail_once(ana, scene, receiver)
    details = ana.locator("details.attempt").first
    expect(details).to_have_attribute("open", "")
    details.evaluate("""(it) => {
      it.dataset.mark = "same";
      getSelection().selectAllChildren(it.querySelector("h4"));
    }""")
    ana.locator("#retry").click()
    expect(ana.locator("#journal")).to_contain_text("Attempt 2: answered 200", timeout=10_000)
    expect(ana.locator("details.attempt").first).to_have_attribute("data-mark", "same")
    expect(ana.locator("details.attempt").first).to_have_attribute("open", "")


def test_without_script_everything_but_live_updates_works(
    site: Site,
    scene: Scene,
    browser: Browser,
    sign_in: Callable[..., Page],
    receiver: Receiver,
    worker: Process,
    watch: Watch,
) -> None:
    watch.expect(422)
    context = browser.new_context(base_url=site.url, java_script_enabled=False)
    page = sign_in(context)
    page.goto(f"/t/{scene.slug}/endpoints/new")
    page.get_by_role("button", name="Register endpoint").click()
    expect(page.locator("#url")).to_have_attribute("aria-invalid", "true")
    receiver.script("/plain", answer(503), answer(200))
    register(page, scene, receiver.url("/plain"))
    page.get_by_role("button", name="Send test event").click()
    expect(page.get_by_text("The test event was sent")).to_be_visible()
    eventually(lambda: receiver.requests("/plain"), "the test event arrives")
    eventually(lambda: _reloaded(page, "retrying"), "the page says that it is retried")
    page.locator("#retry").click()
    expect(page.get_by_text("Queued – a worker picks it up now.")).to_be_visible()
    eventually(lambda: _reloaded(page, "delivered"), "the page says that it arrived")
    page.get_by_text("Request and response").first.click()
    page.get_by_role("link", name="Open attempt 1").click()
    expect(page.get_by_role("heading", name="Response", exact=True)).to_be_visible()
    context.close()


def _reloaded(page: Page, word: str) -> bool:
    page.reload()
    return page.locator("#card .pill").first.inner_text() == word
