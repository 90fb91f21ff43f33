"""Every page, narrow and wide, light and dark: pictured, checked for width and by axe-core."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Site, Watch
from tests.browser.scenery import Scene, beat
from tests.browser.tour import stops

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_63_picture_of_every_page_without_overflow_or_axe_findings(
    site: Site,
    scene: Scene,
    browser: Browser,
    sign_in: Callable[..., Page],
    watch: Watch,
    pictures: Path,
    width: int,
    theme: Literal["light", "dark"],
) -> None:
    watch.expect(404)
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": width, "height": 740 if width == 360 else 800},
        color_scheme=theme,
        timezone_id="Europe/Berlin",
    )
    context.set_default_timeout(15_000)
    stranger = browser.new_context(
        base_url=site.url, viewport={"width": width, "height": 740}, color_scheme=theme
    )
    page, wrong = sign_in(context), []
    for name, address in [("signin", "/signin"), *stops(scene).items()]:
        if name == "signin":
            here = stranger.new_page()
            watch.follow(here)
        else:
            here = page
        beat(site.store)
        here.goto(address)
        here.screenshot(path=pictures / f"{name}-{width}-{theme}.png", full_page=True)
        if here.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{name}: wider than {width} px")
        if width == 360:
            continue  # what axe finds does not depend on the width, and it is slow
        found = Axe().run(here, options={"runOnly": {"type": "tag", "values": RULES}})
        wrong += [
            f"{name}: {fault['id']}: {_where(fault)}" for fault in found.response["violations"]
        ]
    context.close()
    stranger.close()
    assert not wrong, "\n".join(wrong)


def _where(fault: dict) -> str:  # type: ignore[type-arg]
    return "; ".join(f"{node['target']} {node['failureSummary']}" for node in fault["nodes"][:3])
