"""Accounts and teams: checks 1–7."""

from collections.abc import Callable
from datetime import timedelta

from playwright.sync_api import Browser, Page, expect

from relay_web.clock import utcnow
from relay_web.domain.roles import Role
from tests.browser.conftest import Site, Watch, fill_sign_in
from tests.browser.scenery import EMAIL, PASSWORD, Scene
from tests.guard import BY_HAND


def outside(browser: Browser, site: Site, watch: Watch) -> Page:
    """A page of somebody who is not signed in."""
    page = browser.new_context(base_url=site.url).new_page()
    watch.follow(page)
    return page


def invite(ana: Page, scene: Scene, email: str) -> str:
    """The link of a new invitation."""
    ana.goto(f"/t/{scene.slug}/settings")
    ana.get_by_label("Email").fill(email)
    ana.get_by_role("button", name="Make an invitation").click()
    return ana.locator("#invite-link").inner_text()


def test_01_a_wrong_password_and_an_unknown_address_get_the_same_words(
    scene: Scene, site: Site, browser: Browser, watch: Watch
) -> None:
    watch.expect(401, 422)
    page = outside(browser, site, watch)
    for email, password in ((EMAIL, "not the password"), ("nobody@acme.example", PASSWORD)):
        page.goto("/signin")
        fill_sign_in(page, email, password)
        expect(page.locator("#summary")).to_have_text("Email or password is wrong.")
        expect(page.locator("#summary")).to_be_focused()
        expect(page.get_by_label("Email")).to_have_value(email)
    page.context.close()


def test_02_signing_in_leads_to_exactly_the_page_that_was_asked_for(
    scene: Scene, site: Site, browser: Browser, watch: Watch
) -> None:
    page = outside(browser, site, watch)
    address = f"{site.url}/t/acme/deliveries/{scene.deliveries['retrying']}"
    page.goto(address)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    fill_sign_in(page, EMAIL, PASSWORD)
    expect(page).to_have_url(address)
    page.context.close()


def test_03_an_invitation_makes_a_member_once(
    ana: Page, scene: Scene, site: Site, browser: Browser, watch: Watch
) -> None:
    watch.expect(410)
    link = invite(ana, scene, "new@acme.example")
    guest = outside(browser, site, watch)
    guest.goto(link)
    expect(guest.get_by_role("heading", name="Join Acme")).to_be_visible()
    expect(guest.locator("main")).to_contain_text("as member")
    guest.get_by_label("Choose a password").fill("four plain words here")
    guest.get_by_role("button", name="Make an account and join").click()
    guest.wait_for_url("**/t/acme/")
    user = site.store.accounts.users.by_email("new@acme.example")
    assert user is not None
    member = site.store.accounts.teams.membership(scene.team, user.id)
    assert member is not None
    assert member.role is Role.MEMBER
    late = outside(browser, site, watch)
    late.goto(link)
    expect(late.get_by_role("heading")).to_have_text("This invite was already used")
    guest.context.close()
    late.context.close()


def test_04_an_expired_invitation_says_so_and_has_no_form(
    ana: Page, scene: Scene, site: Site, browser: Browser, watch: Watch
) -> None:
    watch.expect(410)
    link = invite(ana, scene, "late@acme.example")
    past = utcnow() - timedelta(minutes=1)
    site.store.db.invites.update_many({}, {"$set": {"expires_at": past}}, comment=BY_HAND)
    guest = outside(browser, site, watch)
    guest.goto(link)
    expect(guest.get_by_role("heading")).to_have_text("This invite has expired")
    expect(guest.locator("form")).to_have_count(0)
    guest.context.close()


def test_05_acting_in_one_team_changes_nothing_in_the_other_tabs_team(
    ana: Page, scene: Scene, site: Site, watch: Watch
) -> None:
    owner = site.store.accounts.users.by_email(EMAIL)
    assert owner is not None
    site.store.accounts.teams.join(scene.other.team, owner.id, Role.MEMBER)
    ana.goto(f"/t/acme/endpoints/{scene.endpoints['Billing']}")
    second = ana.context.new_page()
    watch.follow(second)
    second.goto(f"/t/{scene.other.slug}/endpoints/{scene.other.endpoint}")
    ana.bring_to_front()
    ana.get_by_role("button", name="Pause").last.click()
    expect(ana.locator("#ep-head .pill")).to_have_text("paused")
    ours = site.store.endpoints.get(scene.team, scene.endpoints["Billing"])
    theirs = site.store.endpoints.get(scene.other.team, scene.other.endpoint)
    assert (ours.state, theirs.state) == ("paused", "active")
    second.reload()
    expect(second.locator("#ep-head .pill")).to_have_text("active")


def test_06_another_teams_delivery_looks_like_one_that_never_was(
    ana: Page, scene: Scene, watch: Watch
) -> None:
    watch.expect(404)
    told = []
    for key in (scene.other.delivery, "dlv_000000000000000000000000000000000000"):
        answer = ana.goto(f"/t/acme/deliveries/{key}")
        assert answer is not None
        assert answer.status == 404
        words = ana.locator("body").inner_text()
        told.append(words.replace(ana.locator("code").inner_text(), "…"))
    assert told[0] == told[1]


def test_07_after_signing_out_back_shows_no_data(ana: Page, scene: Scene) -> None:
    ana.goto(f"/t/acme/deliveries/{scene.deliveries['fenced']}")
    ana.get_by_role("button", name="Account").click()
    ana.get_by_role("button", name="Sign out").click()
    expect(ana.get_by_role("heading", name="Sign in")).to_be_visible()
    ana.go_back()
    expect(ana.get_by_role("heading", name="Sign in")).to_be_visible()
    assert "CRM sync" not in ana.content()


def test_a_role_signs_in_as_itself(someone: Callable[..., Page]) -> None:
    page = someone(Role.VIEWER)
    page.get_by_role("button", name="Account").click()
    expect(page.locator("#account-menu")).to_contain_text("viewer@acme.example")
