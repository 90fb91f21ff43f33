"""Lists of deliveries: checks 24–34."""

import re
import time
from typing import Any

import pymongo.monitoring
import pytest
from playwright.sync_api import Page, Route, expect

from relay_web.domain.delivery import State
from relay_web.store.filtering import Filters
from tests.browser import crowds
from tests.browser.conftest import Site, Watch
from tests.browser.deeds import asked
from tests.browser.scenery import Scene
from tests.stories import Teller

PAGE = 50


def deliveries(page: Page, scene: Scene, query: str = "") -> None:
    page.goto(f"/t/{scene.slug}/deliveries{query}")


def ids(page: Page) -> list[str]:
    """The deliveries on the page, from the top."""
    links = page.locator("#results tbody th a")
    found = links.evaluate_all("all => all.map(a => a.getAttribute('href').split('/').pop())")
    assert isinstance(found, list)
    return found


def arrive(site: Site, scene: Scene, count: int, kind: str = "brand.new") -> None:
    """So many deliveries that are newer than any other."""
    endpoint = site.store.endpoints.get(scene.team, scene.endpoints["CRM sync"])
    tell = Teller(site.store, scene.team)
    with tell.together():
        for _ in range(count):
            tell.delivery(endpoint, kind=kind, ago=-5, state=State.PENDING)


def test_24_filters_are_in_the_address_and_survive_a_reload(ana: Page, scene: Scene) -> None:
    deliveries(ana, scene)
    title = ana.title()
    ana.get_by_role("checkbox", name="failed", exact=True).check()
    expect(ana).to_have_url(re.compile(r"/deliveries\?state=failed$"))
    ana.get_by_label("Endpoint").select_option(label="Billing")
    expect(ana).to_have_url(re.compile(r"endpoint=ep_\w+&state=failed$"))
    expect(ana).to_have_title(re.compile("endpoint: Billing, state: failed – Deliveries"))
    assert ana.title() != title
    rows = ids(ana)
    assert scene.deliveries["failed"] in rows
    ana.reload()
    assert ids(ana) == rows


def test_25_back_after_two_filters_is_the_whole_page_with_the_rows_of_before(
    ana: Page, scene: Scene
) -> None:
    deliveries(ana, scene)
    ana.get_by_role("checkbox", name="failed", exact=True).check()
    expect(ana).to_have_url(re.compile(r"/deliveries\?state=failed$"))
    expect(ana).to_have_title(re.compile("^state: failed – Deliveries"))
    rows = ids(ana)
    ana.get_by_label("Endpoint").select_option(label="Billing")
    expect(ana).to_have_url(re.compile(r"endpoint=ep_\w+&state=failed$"))
    ana.go_back()
    expect(ana).to_have_url(re.compile(r"/deliveries\?state=failed$"))
    expect(ana.get_by_role("navigation", name="Main")).to_be_visible()
    expect(ana).to_have_title(re.compile("^state: failed – Deliveries"))
    assert ids(ana) == rows


def test_26_pages_show_each_delivery_once_both_ways_while_others_arrive(
    ana: Page, scene: Scene, site: Site
) -> None:
    crowds.mixed(site.store, scene)
    wanted = {"team": scene.team}
    known = [doc["_id"] for doc in site.store.db.deliveries.find(wanted).sort("_id", -1)]
    assert len(known) > 3 * PAGE
    deliveries(ana, scene)
    there = ids(ana)
    while (older := ana.get_by_role("link", name="Older")).count():
        arrive(site, scene, 7)
        older.click()
        expect(ana.locator("#results tbody th a").first).not_to_have_attribute(
            "href", re.compile(there[-PAGE])
        )
        there += ids(ana)
    assert there == known
    back = ids(ana)
    while (newer := ana.get_by_role("link", name="Newer")).count():
        first = ids(ana)[0]
        newer.click()
        expect(ana.locator("#results tbody th a").first).not_to_have_attribute(
            "href", re.compile(first)
        )
        back = ids(ana) + back
    new = len(back) - len(known)
    assert new >= 20
    assert back[new:] == known


class Reads(pymongo.monitoring.CommandListener):
    """Sees every read that this process sends while `watching`."""

    watching = False

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        if self.watching and event.command_name in ("find", "aggregate"):
            self.seen.append(dict(event.command))

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None: ...


reads = Reads()
# Clients take the listeners that there are when they open; the site's opens after this import.
pymongo.monitoring.register(reads)


def test_27_page_40_takes_no_longer_than_page_1_and_nothing_uses_an_offset(
    ana: Page, scene: Scene, site: Site
) -> None:
    crowds.archive(site.store, scene)
    cursor: str | None = None
    for _ in range(39):
        cursor = site.store.timeline.deliveries(scene.team, Filters(), after=cursor).next
    first, fortieth = f"/t/{scene.slug}/deliveries", f"/t/{scene.slug}/deliveries?after={cursor}"
    times: dict[str, list[float]] = {first: [], fortieth: []}
    reads.watching = True
    for _ in range(12):
        for address, taken in times.items():
            began = time.perf_counter()
            assert ana.request.get(address).ok
            taken.append(time.perf_counter() - began)
    reads.watching = False
    # The best of each: what the machine does beside only ever adds.
    assert min(times[fortieth]) <= 1.5 * min(times[first])
    assert reads.seen
    assert not [read for read in reads.seen if "skip" in str(read).lower()]


def test_28_rows_stay_where_they_are_and_new_ones_wait_behind_a_button(
    ana: Page, scene: Scene, site: Site
) -> None:
    deliveries(ana, scene)
    rows = ids(ana)
    arrive(site, scene, 3)
    button = ana.get_by_role("link", name="3 new – show")
    expect(button).to_be_visible()
    assert ids(ana) == rows
    button.click()
    expect(ana.locator("tbody tr").first).to_contain_text("brand.new")
    assert ids(ana)[3:] == rows[: PAGE - 3]


def test_30_of_fast_typing_only_the_last_answer_shows(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(0)  # htmx tells of each request that a newer one replaced
    deliveries(ana, scene)
    depth = ana.evaluate("history.length")
    held: list[Route] = []

    def first_one_waits(route: Route) -> None:
        if re.search(r"find=inv(&|$)", route.request.url):
            held.append(route)
        else:
            route.continue_()

    ana.route(re.compile("find="), first_one_waits)
    field = ana.get_by_label("Type or id begins with")
    with ana.expect_request(re.compile(r"find=inv(&|$)")):
        field.press_sequentially("inv")
    with ana.expect_response(re.compile("find=invoice")):
        field.press_sequentially("oice.vo", delay=20)
    expect(ana).to_have_url(re.compile(r"find=invoice\.vo$"))
    for route in held:
        route.abort()
    expect(ana.locator("#results .chip")).to_have_text("begins with invoice.vo")
    assert ids(ana) == [scene.deliveries["failed"]]
    assert ana.evaluate("history.length") - depth <= 1


def test_31_two_characters_ask_for_nothing(ana: Page, scene: Scene) -> None:
    deliveries(ana, scene)
    asks = asked(ana, "find=")
    field = ana.get_by_label("Type or id begins with")
    field.press_sequentially("in")
    ana.wait_for_timeout(700)  # nothing may come: that is what is tested
    assert not asks
    with ana.expect_request(re.compile("find=inv")):
        field.press_sequentially("v")


def test_32_counting_stops_at_ten_thousand(ana: Page, scene: Scene, site: Site) -> None:
    crowds.archive(site.store, scene)
    deliveries(ana, scene, "?type=archive.kept")
    expect(ana.locator(".pager")).to_contain_text("10,000+ deliveries, showing 50")
    expect(ana.get_by_role("table")).to_have_accessible_name(re.compile(r"10,000\+"))


def test_33_what_matches_nothing_can_be_cleared(ana: Page, scene: Scene) -> None:
    deliveries(ana, scene, "?type=nothing.here")
    expect(ana.get_by_role("heading", name="No delivery matches")).to_be_visible()
    ana.get_by_role("main").get_by_role("link", name="Clear filters").last.click()
    expect(ana).to_have_url(re.compile("/deliveries$"))
    assert len(ids(ana)) == PAGE


def test_34_rows_open_by_key_and_keys_are_letters_in_a_field(ana: Page, scene: Scene) -> None:
    deliveries(ana, scene)
    rows = ids(ana)
    first = ana.locator(f"#results tbody a[href$='{rows[0]}']")
    ana.locator("#pick-page").focus()
    tab_to(ana, first)
    ana.keyboard.press("Enter")
    ana.wait_for_url(f"**{rows[0]}")
    deliveries(ana, scene)
    ana.keyboard.press("/")
    ana.keyboard.type("jj")
    expect(ana.locator("#find")).to_have_value("jj")
    ana.locator("h1").click()
    ana.keyboard.press("j")
    ana.keyboard.press("j")
    ana.keyboard.press("Enter")
    ana.wait_for_url(f"**{rows[1]}")
    ana.keyboard.press("g")
    ana.keyboard.press("w")
    ana.wait_for_url("**/workers")


def tab_to(page: Page, link: Any) -> None:
    """Press Tab until the link has the focus; a few steps at most."""
    for _ in range(4):
        page.keyboard.press("Tab")
        if link.evaluate("it => it === document.activeElement"):
            return
    pytest.fail("Tab does not lead to the row's link")
