"""A newcomer's path: from nothing to a verified green tick, counted in interactions."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, Site, Watch
from tests.e2e.processes import Process
from tests.receiver import Receiver

#: Fewer than this (a field filled or a button pressed is one).
MOST = 10


@dataclass
class Hands:
    """Counts what a person has to do."""

    page: Page
    used: int = 0

    def fill(self, label: str, text: str) -> None:
        self.used += 1
        self.page.get_by_label(label, exact=True).fill(text)

    def press(self, name: str, role: Any = "button") -> None:
        self.used += 1
        self.page.get_by_role(role, name=name).click()


def test_from_signing_up_to_a_green_tick_in_under_ten_interactions(
    empty: Site, page: Page, watch: Watch, receiver: Receiver, worker: Process
) -> None:
    page.set_default_timeout(PATIENCE)
    watch.follow(page)
    page.goto("/signup")
    hands = Hands(page)
    hands.fill("Email", "new@start.example")
    hands.fill("Password", "four plain words here")
    hands.fill("Team name", "Start")
    hands.press("Sign up")
    hands.press("Register an endpoint", "link")
    hands.fill("URL", receiver.url("/hooks"))
    hands.press("Register endpoint")
    hands.press("Send test event")
    expect(page.locator("#test-row .pill")).to_have_text("delivered")
    receiver.wait(1, "/hooks")
    assert hands.used < MOST
