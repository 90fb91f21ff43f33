"""What people do on the pages again and again."""

from playwright.sync_api import Page, expect

from tests.browser.scenery import Scene
from tests.receiver import Receiver, answer


def register(page: Page, scene: Scene, url: str) -> None:
    """Leaves the page at "Prove it works"."""
    page.goto(f"/t/{scene.slug}/endpoints/new")
    page.get_by_label("URL").fill(url)
    page.get_by_role("button", name="Register endpoint").click()
    expect(page.get_by_role("heading", name="Prove it works")).to_be_visible()


def send_test(page: Page, word: str) -> None:
    """Send a test event and wait until its row ends with that word."""
    page.get_by_role("button", name="Send test event").click()
    expect(page.locator("#test-row .pill")).to_have_text(word)


def fail_once(page: Page, scene: Scene, receiver: Receiver) -> None:
    """Leaves the page on the timeline of a delivery that got 503; its next attempt gets 200."""
    receiver.script("/flaky", answer(503), answer(200, b'{"ok":true}'))
    register(page, scene, receiver.url("/flaky"))
    send_test(page, "retrying")
    page.get_by_role("link", name="See its timeline").click()
    expect(page.get_by_text("Will try again in")).to_be_visible()


def open_delivery(page: Page, scene: Scene, story: str) -> None:
    page.goto(f"/t/{scene.slug}/deliveries/{scene.deliveries[story]}")


def asked(page: Page, part: str) -> list[str]:
    """Addresses with `part` in them that the page asks for from now on."""
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url) if part in request.url else None)
    return seen
