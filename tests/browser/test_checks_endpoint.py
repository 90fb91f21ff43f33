"""One endpoint: checks 16–20, 22, 23."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from relay_web.domain.event import Publish
from relay_web.domain.roles import Role
from relay_web.engine.intake import Intake
from tests.browser import crowds
from tests.browser.conftest import Site, Watch
from tests.browser.deeds import register, send_test
from tests.browser.scenery import Scene
from tests.e2e.processes import Process
from tests.receiver import Receiver


def page_of(page: Page, scene: Scene, name: str) -> str:
    """Open the endpoint's page; its address."""
    path = f"/t/{scene.slug}/endpoints/{scene.endpoints[name]}"
    page.goto(path)
    return path


def csrf(page: Page) -> str:
    return page.locator("[name=csrf_token]").first.get_attribute("value") or ""


def test_16_a_pause_holds_and_resume_sends_oldest_first(
    ana: Page, scene: Scene, site: Site, receiver: Receiver, worker: Process
) -> None:
    register(ana, scene, receiver.url("/held"))
    endpoint = ana.locator("#endpoint-id").inner_text()
    ana.locator("#hold").click()
    expect(ana.locator("#ep-head .pill")).to_have_text("paused")
    intake = Intake(site.store)
    for n in range(3):
        wish = Publish(type="invoice.paid", data=b'{"n":%d}' % n, only_endpoint=endpoint)
        intake.accept(scene.team, wish)
    expect(ana.locator("#ep-head")).to_contain_text("3 held")
    assert not receiver.requests("/held")
    ana.locator("#hold").click()
    expect(ana.locator("#ep-head .pill")).to_have_text("active")
    got = [json.loads(one.body)["data"]["n"] for one in receiver.wait(3, "/held")]
    assert got == [0, 1, 2]


def test_17_a_revealed_secret_hides_itself_and_leaves_one_line_in_the_audit_log(
    ana: Page, scene: Scene, site: Site
) -> None:
    ana.clock.install()
    page_of(ana, scene, "CRM sync")
    with ana.expect_response(re.compile("/reveal$")) as answer:
        ana.get_by_role("button", name="Reveal").click()
    assert "no-store" in answer.value.headers["cache-control"]
    shown = ana.get_by_label("Signing secret, read only, hides in 30 seconds")
    expect(shown).to_have_value(re.compile("^whsec_"))
    secret = shown.input_value()
    expect(shown).to_be_focused()
    ana.clock.run_for(29_000)
    expect(shown).to_be_visible()
    ana.clock.run_for(2_000)
    expect(shown).to_have_count(0)
    assert secret not in ana.content()
    rows = site.store.db.audit.count_documents({"action": "endpoint.secret_revealed"})
    assert rows == 1


def test_18_a_member_has_no_reveal_button_and_a_crafted_request_is_refused(
    someone: Callable[..., Page], scene: Scene, site: Site
) -> None:
    page = someone(Role.MEMBER)
    path = page_of(page, scene, "CRM sync")
    expect(page.locator("#secret")).to_contain_text("Admins and owners can reveal or rotate it.")
    expect(page.get_by_role("button", name="Reveal")).to_have_count(0)
    answer = page.request.post(f"{path}/reveal", form={"csrf_token": csrf(page)})
    assert answer.status == 403
    assert "whsec_" not in answer.text()
    assert not site.store.db.audit.count_documents({"action": "endpoint.secret_revealed"})


def test_19_a_rotation_signs_twice_until_the_old_secret_is_ended(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    register(ana, scene, receiver.url("/rotated"))
    ana.get_by_text("Rotate the secret").click()
    ana.get_by_label("The old secret stops").select_option("after 24 hours")
    ana.get_by_role("button", name="Rotate", exact=True).click()
    left = ana.locator("#secret [role=timer]")
    expect(left).to_have_text(re.compile("^23 h 59 min|^24 h"))
    before = left.get_attribute("data-until")
    assert before is not None
    send_test(ana, "delivered")
    (first,) = receiver.wait(1, "/rotated")
    assert len(first.headers["webhook-signature"].split(" ")) == 2
    ana.get_by_role("button", name="End now").click()
    expect(left).to_have_count(0)
    send_test(ana, "delivered")
    second = receiver.wait(2, "/rotated")[1]
    assert len(second.headers["webhook-signature"].split(" ")) == 1


def test_20_an_expired_certificate_is_one_problem_with_its_date(
    ana: Page, scene: Scene, site: Site
) -> None:
    crowds.expired(site.store, scene)
    page_of(ana, scene, "Billing")
    problem = ana.locator("#problems li").filter(has_text="certificate")
    expect(problem).to_have_count(1)
    expect(problem).to_contain_text(f"{crowds.EXPIRED} deliveries")
    expect(problem).to_contain_text("certificate of hooks.acme.example")
    expect(problem).to_contain_text("2026-12-01 02:10 UTC")


def test_22_a_deletion_waits_for_the_name(ana: Page, scene: Scene, site: Site) -> None:
    page_of(ana, scene, "CRM sync")
    ana.get_by_text("Delete this endpoint").click()
    button = ana.get_by_role("button", name="Delete endpoint")
    name = ana.get_by_label("Type “CRM sync” to delete it")
    for text in ("", "CRM", "crm sync"):
        name.fill(text)
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_accessible_description("The name does not match yet.")
        button.click(force=True)
        name.press("Enter")
    assert site.store.endpoints.get(scene.team, scene.endpoints["CRM sync"])
    name.fill("CRM sync")
    expect(ana.locator("#delete-why")).to_be_hidden()
    button.click()
    ana.wait_for_url("**/endpoints")
    expect(ana.get_by_role("main")).to_contain_text("CRM sync was deleted")


def test_23_a_test_event_to_a_paused_endpoint_is_refused_in_place(
    ana: Page, scene: Scene, site: Site, watch: Watch
) -> None:
    watch.expect(409)
    page_of(ana, scene, "Ledger")
    count = site.store.db.events.count_documents({})
    ana.get_by_role("button", name="Send test event").click()
    expect(ana.locator("#test-result")).to_contain_text("resume", ignore_case=True)
    assert site.store.db.events.count_documents({}) == count
