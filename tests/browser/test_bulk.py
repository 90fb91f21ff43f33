"""Many at once, as a person does it in a browser: checks 21, 29 and 52 to 55 of the design."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from relay_web.domain.delivery import State
from relay_web.domain.endpoint import Endpoint
from relay_web.domain.vault import Vault
from relay_web.engine.registration import Draft, register
from tests.browser.conftest import Site
from tests.browser.scenery import Scene
from tests.browser.test_pictures import RULES
from tests.e2e.processes import Process
from tests.e2e.waiting import eventually
from tests.receiver import Receiver
from tests.stories import Teller

MANY = 214
LIST = "/t/acme/deliveries?state=failed&type=bulk.test"
_DOWN = {"status": 503, "cause": "server_error", "verdict": "failed"}
_SLOW = {"cause": "response_timeout", "verdict": "failed", "ms": 2000.0}


def failures(tell: Teller, endpoint: Endpoint, count: int, *, ago: float = 3000.0) -> list[str]:
    """So many deliveries that failed, a second apart, by two causes."""
    with tell.together():
        return [
            tell.delivery(
                endpoint, kind="bulk.test", ago=ago - step, state=State.FAILED,
                tries=[(_SLOW if step % 4 == 0 else _DOWN) | {"at": ago - step - 0.5}],
            )
            for step in range(count)
        ]  # fmt: skip


@pytest.fixture
def endpoint(site: Site, scene: Scene, receiver: Receiver) -> Endpoint:
    vault, policy = Vault(site.settings.secrets_keys), site.settings.egress_policy()
    draft = Draft(url=receiver.url("/bulk"), name="Receiver")
    return register(site.store, vault, policy, scene.team, draft).endpoint


@pytest.fixture
def many(site: Site, scene: Scene, endpoint: Endpoint) -> list[str]:
    return failures(Teller(site.store, scene.team), endpoint, MANY)


def select_all(page: Page) -> None:
    """From the list to the preview of everything that matches."""
    page.goto(LIST)
    page.locator("#pick-page").check()
    page.locator("#pick-all").click()
    expect(page.locator("dialog#bulk")).to_be_visible()


def left_out(page: Page) -> int:
    lines = page.locator("#left-out .num").all_inner_texts()
    return sum(int(line.replace(",", "")) for line in lines)


def figure(page: Page, name: str) -> int:
    box = page.locator(".figures > div", has_text=name).locator(".figure")
    return int(box.inner_text().replace(",", ""))


def distinct(receiver: Receiver) -> list[str]:
    return [request.headers["webhook-id"] for request in receiver.requests("/bulk")]


def test_52_selecting_all_that_match_previews_them_by_endpoint_and_cause(
    ana: Page, site: Site, scene: Scene, many: list[str], endpoint: Endpoint
) -> None:
    ana.goto(LIST)
    expect(ana.locator("#pick")).to_be_hidden()
    ana.locator("#pick-page").check()
    expect(ana.locator("#pick")).to_contain_text("50 selected")
    expect(ana.locator("#pick-all")).to_have_text(f"Select all {MANY} that match")
    ana.locator("#pick-all").click()
    dialog = ana.locator("dialog#bulk")
    expect(dialog.get_by_role("heading")).to_have_text(f"Retry {MANY} deliveries?")
    expect(dialog.locator("#bulk-cancel")).to_be_focused()
    expect(dialog.get_by_role("row", name=f"Receiver {MANY} 100")).to_be_visible()
    causes = [int(text) for text in dialog.locator("table").nth(1).locator("td").all_inner_texts()]
    assert sum(causes) == MANY
    expect(dialog).to_contain_text(f"{MANY} match; none is left out.")
    ana.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(ana.locator("#pick-all")).to_be_focused()
    assert site.store.db.bulk_jobs.count_documents({}) == 0


def test_52_what_is_left_out_adds_up_to_what_matches(ana: Page, scene: Scene) -> None:
    ana.goto("/t/acme/deliveries")
    ana.locator("#pick-page").check()
    ana.locator("#pick-all").click()
    dialog = ana.locator("dialog#bulk")
    heading = dialog.get_by_role("heading").inner_text()
    queue = int(re.sub(r"\D", "", heading))
    matched = re.search(r"([\d,]+) match; left out are", dialog.inner_text())
    assert matched is not None
    assert int(matched.group(1).replace(",", "")) == queue + left_out(ana)


def test_53_a_confirmed_job_ends_and_each_delivery_was_sent_once_and_none_that_failed_later(
    ana: Page,
    site: Site,
    scene: Scene,
    many: list[str],
    endpoint: Endpoint,
    receiver: Receiver,
    worker: Process,
) -> None:
    select_all(ana)
    later = failures(Teller(site.store, scene.team), endpoint, 3, ago=-1.0)
    ana.locator("#bulk-confirm").click()
    expect(ana).to_have_url(re.compile("/bulk/job_"))
    expect(ana.locator(".badge")).to_have_text("1 bulk job running")
    card = ana.locator("#job")
    expect(card).to_contain_text(f"{MANY} of {MANY} queued", timeout=60_000)
    expect(card).to_contain_text("each has its answer", timeout=60_000)
    expect(ana.locator("#live")).to_contain_text("Final")
    expect(ana.locator(".badge")).to_have_count(0)
    assert figure(ana, "Delivered") == MANY
    assert ana.locator("progress").evaluate("it => it.value === it.max")
    ids = distinct(receiver)
    assert len(ids) == len(set(ids)) == MANY
    for key in later:
        assert site.store.deliveries.get(scene.team, key).state is State.FAILED
    ana.locator("#touched").click()
    expect(ana.locator(".pager")).to_contain_text(f"{MANY} deliveries")


def test_54_a_stop_at_half_keeps_the_counts_and_sends_no_more(
    ana: Page, site: Site, scene: Scene, many: list[str], receiver: Receiver, worker: Process
) -> None:
    select_all(ana)
    ana.locator("#pace").fill("20")
    ana.locator("#pace").blur()
    expect(ana.locator("#preview")).to_contain_text("20/s")
    ana.locator("#bulk-confirm").click()
    queued = {"jobs": {"$exists": True}}
    eventually(
        lambda: site.store.db.deliveries.count_documents(queued) > MANY // 4, "a part is queued"
    )
    ana.locator("#stop").click()
    expect(ana.locator("#job")).to_contain_text("Stopped by ana@acme.example")
    sent = site.store.db.deliveries.count_documents(queued)
    assert MANY // 4 < sent < MANY
    eventually(lambda: len(distinct(receiver)) == sent, "what was queued is sent")
    expect(ana.locator("#live")).to_contain_text("Final")
    assert figure(ana, "Delivered") == figure(ana, "Queued") == sent
    assert site.store.db.deliveries.count_documents(queued) == sent
    failed = {"type": "bulk.test", "state": "failed"}
    assert site.store.db.deliveries.count_documents(failed) == MANY - sent


def test_55_the_confirmation_sent_twice_is_one_job(
    ana: Page, site: Site, scene: Scene, many: list[str]
) -> None:
    select_all(ana)
    twice = """async form => {
        const send = () => fetch(form.action, {method: "POST", body: new FormData(form)});
        return (await Promise.all([send(), send()])).map((answer) => answer.url);
    }"""
    places = ana.locator("#preview form[method=post]").evaluate(twice)
    assert len(set(places)) == 1
    ana.locator("#bulk-confirm").click()
    expect(ana).to_have_url(places[0])
    assert site.store.db.bulk_jobs.count_documents({}) == 1


def test_55_without_script_the_boxes_the_preview_and_the_job_work_as_well(
    site: Site, scene: Scene, browser: Any, many: list[str], ana: Page
) -> None:
    context = browser.new_context(
        base_url=site.url, java_script_enabled=False, storage_state=ana.context.storage_state()
    )
    page = context.new_page()
    page.goto(LIST)
    boxes = page.locator('input[name="id"]')
    boxes.nth(0).check()
    boxes.nth(2).check()
    page.locator("#pick-retry").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Retry 2 deliveries?")
    page.locator("#bulk-confirm").click()
    expect(page.locator("#job")).to_contain_text("0 of 2 looked at")
    page.locator("#stop").click()
    expect(page.locator("#job")).to_contain_text("Stopped by ana@acme.example after 0 of 2")
    context.close()


def test_29_ticked_boxes_stay_ticked_while_their_rows_change(
    ana: Page, site: Site, scene: Scene, many: list[str]
) -> None:
    ana.clock.install()
    ana.goto(LIST)
    boxes = ana.locator('input[name="id"]')
    boxes.nth(0).check()
    boxes.nth(1).check()
    expect(ana.locator("#pick")).to_contain_text("2 selected")
    newest = many[-1]
    site.store.deliveries.retry(scene.team, newest, action_id="by somebody else", by="Bo")
    for _ in range(3):
        with ana.expect_response(re.compile("/live")):
            ana.clock.run_for(5000)
    expect(ana.locator(f"#st-{newest}")).to_contain_text("retrying")
    expect(boxes.nth(0)).to_be_checked()
    expect(boxes.nth(1)).to_be_checked()
    ana.get_by_role("button", name="Cancel selection").click()
    expect(ana.locator("#pick")).to_be_hidden()


def test_21_recovery_begins_with_the_first_failure_after_the_last_success(
    ana: Page, site: Site, scene: Scene, endpoint: Endpoint
) -> None:
    tell = Teller(site.store, scene.team)
    failures(tell, endpoint, 2, ago=9000)
    tell.delivery(endpoint, kind="bulk.test", ago=7000, tries=[{"at": 6999, "status": 200}])
    first = tell.at(5000)
    failures(tell, endpoint, 5, ago=5000.5)
    site.store.db.endpoints.update_one({"_id": endpoint.id}, {"$set": {"failing_since": first}})
    ana.goto(f"/t/acme/endpoints/{endpoint.id}")
    ana.locator("#recover").click()
    dialog = ana.locator("dialog#bulk")
    expect(dialog.locator("#bulk-cancel")).to_be_focused()
    shown = ana.evaluate("at => new Date(at).toLocaleString('sv').slice(0, 16)", first.isoformat())
    expect(dialog.locator("#since")).to_have_value(shown.replace(" ", "T"))
    expect(dialog.locator("#bulk-confirm")).to_have_text("Queue 5 retries")
    earlier = ana.evaluate(
        "at => new Date(at).toLocaleString('sv').slice(0, 16)",
        (first - timedelta(hours=2)).isoformat(),
    )
    dialog.locator("#since").fill(earlier.replace(" ", "T"))
    dialog.locator("#since").blur()
    expect(dialog.locator("#bulk-confirm")).to_have_text("Queue 7 retries")
    dialog.get_by_role("link", name="Never sent since").click()
    expect(ana.locator('dialog#bulk a[aria-current="page"]')).to_have_text("Never sent since")
    expect(ana.locator("dialog#bulk")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pictures_of_bulk_pages_without_overflow_or_axe_findings(
    ana: Page,
    context: BrowserContext,
    site: Site,
    scene: Scene,
    endpoint: Endpoint,
    many: list[str],
    pictures: Path,
    width: int,
    theme: Any,
) -> None:
    ana.set_viewport_size({"width": width, "height": 740 if width == 360 else 800})
    ana.emulate_media(color_scheme=theme)
    site.store.endpoints.pause(scene.team, scene.endpoints["CRM sync"], "Ana")
    wrong: list[str] = []

    def take(name: str) -> None:
        whole = "dialog" not in name
        ana.screenshot(path=pictures / f"{name}-{width}-{theme}.png", full_page=whole)
        if ana.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{name}: wider than {width} px")
        found = Axe().run(ana, options={"runOnly": {"type": "tag", "values": RULES}})
        wrong.extend(
            f"{name}: {fault['id']}: {[node['target'] for node in fault['nodes'][:3]]}"
            for fault in found.response["violations"]
        )

    ana.goto("/t/acme/deliveries")
    ana.locator("#pick-page").check()
    take("bulk-selection")
    ana.locator("#pick-all").click()
    expect(ana.locator("dialog#bulk")).to_be_visible()
    take("bulk-dialog")
    ana.goto("/t/acme/deliveries/retry?state=failed")
    take("bulk-preview")
    ana.goto(f"/t/acme/endpoints/{endpoint.id}/recover?kind=missed")
    take("bulk-recover")
    ana.goto("/t/acme/deliveries/retry?state=failed")
    ana.locator("#bulk-confirm").click()
    expect(ana.locator("#job")).to_contain_text("looked at")
    take("bulk-running")
    ana.locator("#stop").click()
    expect(ana.locator("#job")).to_contain_text("Stopped by")
    take("bulk-stopped")
    assert not wrong, "\n".join(wrong)
