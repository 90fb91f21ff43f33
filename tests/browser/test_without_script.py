"""The whole way of a delivery, with a real worker and no script in the browser."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.deeds import register
from tests.browser.scenery import Scene
from tests.e2e.processes import Process
from tests.e2e.waiting import eventually
from tests.receiver import Receiver, answer


def test_without_script_everything_but_live_updates_works(
    scene: Scene, someone: Callable[..., Page], receiver: Receiver, worker: Process
) -> None:
    page = someone(script=False)
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


def _reloaded(page: Page, word: str) -> bool:
    page.reload()
    return page.locator("#card .pill").first.inner_text() == word
