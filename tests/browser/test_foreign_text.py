"""Text that came from outside is shown, and does nothing."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.browser.scenery import Scene
from tests.stories import Teller


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
