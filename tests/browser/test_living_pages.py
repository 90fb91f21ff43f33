"""What a page does while one looks at it: polls, errors, history, keys, foreign text."""

import re
from datetime import timedelta

from playwright.sync_api import Page, Route, expect

from relay_web.clock import utcnow
from relay_web.domain.delivery import State
from tests.browser.conftest import Site, Watch
from tests.browser.scenery import Scene
from tests.stories import Teller


def open_delivery(page: Page, scene: Scene, story: str) -> None:
    page.goto(f"/t/{scene.slug}/deliveries/{scene.deliveries[story]}")


def polled(page: Page) -> list[str]:
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url) if "/live" in request.url else None)
    return seen


def test_a_countdown_follows_the_servers_clock_though_the_laptops_is_wrong(
    ana: Page, scene: Scene
) -> None:
    ana.clock.install(time=utcnow() + timedelta(minutes=10))
    open_delivery(ana, scene, "retrying")
    timer = ana.locator("[data-until]").first
    minutes = re.match(r"(\d+) min", timer.inner_text())
    assert minutes is not None
    assert int(minutes.group(1)) in (3, 4)
    before = timer.inner_text()
    ana.clock.run_for(3000)
    expect(timer).not_to_have_text(before)


def test_paused_or_hidden_pages_ask_nothing_and_catch_up_at_once(ana: Page, scene: Scene) -> None:
    ana.clock.install()
    open_delivery(ana, scene, "sending")
    seen = polled(ana)
    ana.clock.run_for(2500)
    ana.wait_for_timeout(200)
    assert seen
    ana.get_by_role("button", name="Pause").click()
    expect(ana.locator("#live")).to_contain_text("Paused")
    ana.wait_for_timeout(200)
    quiet = len(seen)
    ana.clock.run_for(30_000)
    assert len(seen) == quiet
    with ana.expect_request(re.compile("/live")):
        ana.get_by_role("button", name="Resume").click()


def test_filtering_pushes_its_address_and_back_restores_whole_pages(
    ana: Page, scene: Scene
) -> None:
    ana.goto(f"/t/{scene.slug}/deliveries")
    ana.get_by_label("State").select_option("failed")
    expect(ana).to_have_url(re.compile(r"/deliveries\?state=failed$"))
    expect(ana).to_have_title(re.compile("^state: failed – Deliveries"))
    rows = ana.locator("tbody tr").count()
    ana.get_by_label("Endpoint").select_option(label="Billing")
    expect(ana).to_have_url(re.compile(r"endpoint=ep_\w+&state=failed$"))
    ana.go_back()
    expect(ana).to_have_url(re.compile(r"/deliveries\?state=failed$"))
    expect(ana.get_by_role("navigation", name="Main")).to_be_visible()
    expect(ana).to_have_title(re.compile("^state: failed – Deliveries"))
    assert ana.locator("tbody tr").count() == rows
    assert ana.evaluate("Object.values(sessionStorage).join('').includes('<')") is False


def test_after_signing_out_back_shows_no_data(ana: Page, scene: Scene) -> None:
    open_delivery(ana, scene, "fenced")
    ana.get_by_role("button", name="Account").click()
    ana.get_by_role("button", name="Sign out").click()
    expect(ana.get_by_role("heading", name="Sign in")).to_be_visible()
    ana.go_back()
    expect(ana.get_by_role("heading", name="Sign in")).to_be_visible()
    assert "CRM sync" not in ana.content()


def test_rows_stay_where_they_are_and_new_ones_wait_behind_a_button(
    ana: Page, scene: Scene, site: Site
) -> None:
    ana.goto(f"/t/{scene.slug}/deliveries")
    first = ana.locator("tbody tr").first.inner_text()
    endpoint = site.store.endpoints.get(scene.team, scene.endpoints["CRM sync"])
    Teller(site.store, scene.team).delivery(endpoint, kind="brand.new", ago=-5, state=State.PENDING)
    button = ana.get_by_role("link", name="1 new – show")
    expect(button).to_be_visible(timeout=12_000)
    assert ana.locator("tbody tr").first.inner_text().split("\n")[0] == first.split("\n")[0]
    button.click()
    expect(ana.locator("tbody tr").first).to_contain_text("brand.new")


def test_keys_move_through_a_list_and_are_letters_in_a_field(ana: Page, scene: Scene) -> None:
    ana.goto(f"/t/{scene.slug}/deliveries")
    second = ana.locator("tbody tr").nth(1).locator("a").first.get_attribute("href")
    ana.keyboard.press("/")
    ana.keyboard.type("jj")
    expect(ana.get_by_label("Find a delivery")).to_have_value("jj")
    ana.locator("h1").click()
    ana.keyboard.press("j")
    ana.keyboard.press("j")
    ana.keyboard.press("Enter")
    ana.wait_for_url(f"**{second}")
    ana.keyboard.press("g")
    ana.keyboard.press("w")
    ana.wait_for_url("**/workers")


def test_a_server_that_is_away_leaves_the_page_standing_and_says_so(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(503, 502)
    open_delivery(ana, scene, "failed")

    def router_page(route: Route) -> None:
        route.fulfill(status=503, content_type="text/html", body="<h1>Application error</h1>")

    ana.route("**/retry", router_page)
    ana.locator("#retry").click()
    expect(ana.locator("#problem")).to_contain_text("Relay did not answer (503)")
    assert "Application error" not in ana.content()
    ana.unroute("**/retry")
    ana.locator("#retry").click()
    expect(ana.locator("#card")).to_contain_text("Queued")
    expect(ana.locator("#problem")).to_be_empty()


def test_lost_updates_are_said_in_the_live_line_and_end_by_themselves(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(0)
    open_delivery(ana, scene, "sending")
    ana.route("**/live?**", lambda route: route.abort())
    expect(ana.locator("#live")).to_contain_text("Updates lost – retrying", timeout=10_000)
    ana.unroute("**/live?**")
    expect(ana.locator("#live")).to_contain_text("Live", timeout=10_000)


def test_an_ended_sign_in_leads_to_the_sign_in_page_and_back_to_the_whole_page(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(401)
    open_delivery(ana, scene, "sending")
    address = ana.url
    ana.context.clear_cookies()
    ana.wait_for_url("**/signin?next=**", timeout=10_000)
    ana.get_by_label("Email").fill("ana@acme.example")
    ana.get_by_label("Password").fill("correct horse battery")
    ana.get_by_role("button", name="Sign in").click()
    ana.wait_for_url(address)


def test_text_of_strangers_does_nothing_wherever_it_is_shown(
    ana: Page, scene: Scene, site: Site
) -> None:
    evil = '"><script>window.x=1</script><img src=x onerror=window.x=1>'
    team = scene.team
    endpoint = site.store.endpoints.get(team, scene.endpoints["CRM sync"])
    site.store.endpoints.update(team, endpoint.id, None, {"name": evil[:90]})
    body = b"<script>window.x=1</script><div hx-get='/' hx-trigger='load' hx-target='body'>x</div>"
    key = Teller(site.store, team).delivery(
        endpoint,
        data=b'{"t":"</pre><script>window.x=1</script><img src=x onerror=window.x=1>"}',
        tries=[
            {"at": 9, "status": 500, "cause": "server_error", "body": body,
             "headers": [["X-A", "<b onmouseover=window.x=1>"]]},
            {"at": 5, "status": 200, "body": body},
        ],
    )  # fmt: skip
    home = f"/t/{scene.slug}"
    for path in (
        "/",
        "/endpoints",
        f"/endpoints/{endpoint.id}",
        "/deliveries",
        f"/deliveries/{key}",
    ):
        ana.goto(f"{home}{path}")
        ana.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
        for thing in ana.locator("main :is(a, td, pre):visible").all()[:25]:
            thing.hover(force=True)
        assert ana.evaluate("window.x") is None
    expect(ana.get_by_text("hx-trigger='load'").first).to_be_visible()


def test_the_payload_is_copied_byte_for_byte(ana: Page, scene: Scene, site: Site) -> None:
    ana.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_delivery(ana, scene, "odd-payload")
    expect(ana.locator("#payload-text")).to_contain_text("9007199254740993")
    assert ana.locator("#payload-text").inner_text().count('"a":') == 2
    ana.get_by_role("link", name="Raw").click()
    expect(ana.get_by_role("link", name="Raw")).to_have_attribute("aria-current", "true")
    ana.get_by_role("button", name="Copy the payload").click()
    copied = ana.evaluate("navigator.clipboard.readText()")
    event = site.store.deliveries.get(scene.team, scene.deliveries["odd-payload"]).event
    assert copied.encode() == site.store.events.bodies([event])[event]


def test_a_fetched_hint_leaves_field_and_focus_alone(ana: Page, scene: Scene) -> None:
    ana.goto(f"/t/{scene.slug}/endpoints/new")
    ana.get_by_label("URL").fill("https://10.0.0.5/")
    ana.keyboard.press("Tab")
    expect(ana.locator("#url-hint")).to_contain_text("internal addresses")
    assert ana.evaluate("document.activeElement.id") == "name"
    expect(ana.get_by_label("URL")).to_have_value("https://10.0.0.5/")
