"""Workers, roles and settings: checks 56–58."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from relay_web.domain.event import Publish
from relay_web.domain.roles import Role
from relay_web.engine.intake import Intake
from tests.browser.conftest import Site
from tests.browser.deeds import register
from tests.browser.scenery import EMAIL, Scene
from tests.browser.tour import stops
from tests.e2e.processes import Process
from tests.guard import BY_HAND
from tests.receiver import Receiver, answer, hold


def test_56_without_a_worker_every_page_says_so_and_stops_when_one_returns(
    ana: Page, scene: Scene, site: Site, start_worker: Callable[..., Process]
) -> None:
    site.store.db.workers.delete_many({}, comment=BY_HAND)
    worker = start_worker()
    ana.goto(f"/t/{scene.slug}/workers")
    banner = ana.get_by_text("No worker is reporting.")
    expect(ana.get_by_role("heading", name="Workers")).to_be_visible()
    expect(banner).to_have_count(0)
    worker.stop()
    expect(banner).to_be_visible()  # the page is open: nobody reloads it
    for name, address in stops(scene).items():
        if address.startswith(f"/t/{scene.slug}/") and name != "not-found":
            ana.goto(address)
            expect(banner, name).to_be_visible()
    ana.goto(f"/t/{scene.slug}/settings")
    start_worker()
    expect(banner).to_have_count(0)


def test_57_what_is_in_flight_shows_at_once_under_its_own_token(
    ana: Page, scene: Scene, site: Site, receiver: Receiver, start_worker: Callable[..., Process]
) -> None:
    worker = start_worker(RELAY_SEND_DEADLINE="20s", RELAY_LEASE="30s")
    site.store.db.workers.delete_many({"pid": {"$ne": worker.pid}}, comment=BY_HAND)
    receiver.script("/slow", [hold(), answer(200)])
    register(ana, scene, receiver.url("/slow"))
    endpoint = ana.locator("#endpoint-id").inner_text()
    theirs = site.store.endpoints.get(scene.other.team, scene.other.endpoint)
    moved = {"url": receiver.url("/slow")}
    site.store.endpoints.update(scene.other.team, theirs.id, None, moved)
    intake = Intake(site.store)
    for team, key in ((scene.team, endpoint), (scene.other.team, theirs.id)):
        intake.accept(team, Publish(type="now.flying", data=b"{}", only_endpoint=key))
    receiver.wait(2, "/slow")
    ana.goto(f"/t/{scene.slug}/workers")
    row = ana.get_by_role("row").filter(has_text="now.flying")
    expect(row).to_have_count(1)
    expect(ana.get_by_text(re.compile("1 of other teams"))).to_be_visible()
    token = row.get_by_role("cell").nth(1).inner_text()
    row.get_by_role("link").click()
    expect(ana.locator("#card")).to_contain_text(f"under token {token}")
    receiver.release()
    expect(ana.locator("#card .pill").first).to_have_text(re.compile("delivered|retrying"))


def test_58_the_last_owner_stays_and_a_viewer_changes_nothing(
    ana: Page, scene: Scene, site: Site, someone: Callable[..., Page]
) -> None:
    ana.goto(f"/t/{scene.slug}/settings")
    row = ana.get_by_role("row").filter(has_text=EMAIL)
    expect(row).to_contain_text("a team keeps one owner")
    expect(row.get_by_role("button")).to_have_count(0)
    owner = site.store.accounts.users.by_email(EMAIL)
    assert owner is not None
    token = ana.locator("[name=csrf_token]").first.get_attribute("value") or ""
    form = {"csrf_token": token, "role": "member"}
    where = f"/t/{scene.slug}/settings/members/{owner.id}/role"
    refused = ana.request.post(where, form=form)
    assert refused.status in (403, 409), refused.status
    kept = site.store.accounts.teams.membership(scene.team, owner.id)
    assert kept is not None
    assert kept.role is Role.OWNER
    viewer = someone(Role.VIEWER)
    token = viewer.locator("[name=csrf_token]").first.get_attribute("value") or ""
    home = f"/t/{scene.slug}"
    for path in _pages_of_a_viewer(scene):
        viewer.goto(f"{home}{path}")
        posts = viewer.locator("main form[method=post]")
        assert posts.count() == 0, (path, posts.first.get_attribute("action"))
    before = _state(site)
    crm, retrying = scene.endpoints["CRM sync"], scene.deliveries["retrying"]
    for path, more in (
        (f"/endpoints/{crm}/pause", {}),
        (f"/endpoints/{crm}/test", {}),
        (f"/endpoints/{crm}/rotate", {}),
        (f"/endpoints/{crm}/delete", {"name": "CRM sync"}),
        ("/endpoints", {"url": "https://hooks.example.com/new"}),
        (f"/deliveries/{retrying}/retry", {"action_id": "a-crafted-one"}),
        (f"/deliveries/{retrying}/cancel", {"action_id": "a-crafted-one"}),
        ("/deliveries/retry", {"action_id": "a-crafted-one"}),
        ("/settings/invites", {"email": "more@acme.example", "role": "viewer"}),
        ("/settings/keys", {"name": "mine", "scope": "send"}),
    ):
        answered = viewer.request.post(f"{home}{path}", form={"csrf_token": token} | more)
        assert answered.status == 403, (path, answered.status)
    assert _state(site) == before


def _pages_of_a_viewer(scene: Scene) -> list[str]:
    billing, retrying = scene.endpoints["Billing"], scene.deliveries["retrying"]
    return [
        "/", "/endpoints", f"/endpoints/{billing}", "/events", f"/events/{scene.event}",
        "/deliveries", f"/deliveries/{retrying}", f"/deliveries/{retrying}/attempts/1/curl",
        "/workers",
    ]  # fmt: skip


def _state(site: Site) -> dict[str, int]:
    names = ("endpoints", "events", "deliveries", "invites", "api_keys", "bulk_jobs")
    db = site.store.db
    told = {name: db[name].count_documents({}) for name in names}
    revs = [doc["rev"] for doc in db.deliveries.find({}, {"rev": True})]
    revs += [doc["rev"] for doc in db.endpoints.find({}, {"rev": True})]
    return told | {"revisions": sum(revs)}
