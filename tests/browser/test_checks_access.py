"""Access and looks: checks 63 and 64. axe-core runs on every page in `test_pictures.py`."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, Watch
from tests.browser.deeds import open_delivery
from tests.browser.scenery import Scene
from tests.browser.tour import stops

#: The words of a delivery, each with the story that is in that state.
WORDS = {
    "first-time": "delivered",
    "retrying": "retrying",
    "failed": "failed",
    "held": "held",
    "sending": "sending",
    "cancelled": "cancelled",
}
#: What has the focus: where it is, and whether one sees that it has it.
WALK = """() => {
  const here = document.activeElement;
  if (here === document.body) return null;
  const box = here.getBoundingClientRect();
  const style = getComputedStyle(here);
  const part = here.closest("table, nav, header, form, pre");
  return {
    what: here.outerHTML.slice(0, 80),
    inside: part ? part.outerHTML.slice(0, 80) : "",
    x: box.x + scrollX, y: box.y + scrollY, height: box.height,
    ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  };
}"""
#: Controls smaller than 24 px both ways; links within a sentence and what is hidden are exempt.
SMALL = """() => [...document.querySelectorAll("button, input, select, textarea, summary, a")]
  .filter((it) => it.checkVisibility({ visibilityProperty: true }) && it.type !== "hidden")
  .map((it) => {
    const label = it.closest("label") || it;
    const box = label.getBoundingClientRect();
    return { it, box, line: getComputedStyle(it).display === "inline" };
  })
  .filter(({ box, line }) => !line && box.width > 1 && (box.width < 24 || box.height < 24))
  .map(({ it, box }) => `${it.outerHTML.slice(0, 90)} ${box.width}×${box.height}`)"""
MOVING = """() => {
  const of = (it, name) => getComputedStyle(it)[name].split(",").map(parseFloat);
  return [...document.querySelectorAll("*")]
    .filter((it) => getComputedStyle(it).animationName !== "none"
      && Math.max(...of(it, "animationDuration")) > 0.001
      || Math.max(...of(it, "transitionDuration")) > 0.001)
    .map((it) => it.outerHTML.slice(0, 80));
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_63_tab_follows_the_eye_and_the_focus_is_always_seen(
    site: Site, scene: Scene, ana: Page, theme: Literal["light", "dark"]
) -> None:
    ana.emulate_media(color_scheme=theme)
    ana.set_viewport_size({"width": 1280, "height": 800})
    for name in ("overview", "endpoints", "endpoint-new", "deliveries-filtered", "settings-people"):
        ana.goto(stops(scene)[name])
        ana.evaluate("document.activeElement.blur()")
        ana.keyboard.press("Tab")
        seen = []
        while (step := ana.evaluate(WALK)) and len(seen) < 120:
            if seen and step["what"] == seen[0]["what"]:
                break
            seen.append(step)
            ana.keyboard.press("Tab")
        assert len(seen) > 5, name
        assert [it["what"] for it in seen if not it["ring"]] == [], name
        assert _jumps(seen) == [], name


def _jumps(seen: list[dict]) -> list[str]:  # type: ignore[type-arg]
    """Steps that go up within one part of the page."""
    return [
        f"{b['what']} after {a['what']}"
        for a, b in pairwise(seen)
        if a["inside"] == b["inside"] and b["y"] + b["height"] < a["y"]
    ]


def test_63_each_state_has_a_word_and_a_shape_that_needs_no_colour(ana: Page, scene: Scene) -> None:
    shapes: dict[str, bytes] = {}
    for story, word in WORDS.items():
        open_delivery(ana, scene, story)
        pill = ana.locator("#card .pill").first
        expect(pill).to_have_text(word)
        # The icon alone, in one ink on one ground: what is left is its shape.
        ana.evaluate("""() => {
          for (const it of document.querySelectorAll("#card .pill")) it.dataset.tone = "idle";
          document.documentElement.setAttribute("data-theme", "light");
        }""")
        shapes[word] = pill.locator("svg").screenshot()
    assert len(set(shapes.values())) == len(shapes)


@pytest.mark.parametrize(
    ("width", "height", "scale"), [(360, 740, 1), (320, 200, 4)], ids=["phone", "zoom-400"]
)
def test_64_nothing_is_wider_than_a_small_screen_and_every_target_can_be_hit(
    site: Site,
    scene: Scene,
    browser: Browser,
    watch: Watch,
    sign_in: Callable[..., Page],
    width: int,
    height: int,
    scale: int,
) -> None:
    """1280 px at 400 % are 320 CSS px at four device pixels each."""
    watch.expect(404)
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": width, "height": height},
        device_scale_factor=scale,
        has_touch=scale == 1,
    )
    page, wrong = sign_in(context), []
    for name, address in stops(scene).items():
        page.goto(address)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{name}: wider than {width} px")
        wrong += [f"{name}: {small}" for small in page.evaluate(SMALL)]
        for button in page.locator("main form button:visible").all():
            button.scroll_into_view_if_needed()
            box = button.bounding_box()
            if box is None or box["x"] < 0 or box["x"] + box["width"] > width:
                wrong.append(f"{name}: out of reach: {button.inner_text()}")
    context.close()
    assert not wrong, "\n".join(wrong)


def test_64_nothing_moves_for_those_who_asked_for_no_motion(ana: Page, scene: Scene) -> None:
    ana.emulate_media(reduced_motion="reduce")
    for name in ("overview", "deliveries", "delivery-sending", "workers", "endpoint-new"):
        ana.goto(stops(scene)[name])
        for button in ana.locator("form button").all():
            button.evaluate("it => it.setAttribute('aria-busy', 'true')")
        assert ana.evaluate(MOVING) == [], name


def test_64_what_is_heard_on_the_form_the_list_and_the_timeline(ana: Page, scene: Scene) -> None:
    """The part of the pass with a screen reader that a machine can do: names, roles and order as
    the accessibility tree has them. How a voice reads it out is for a person to hear."""
    home = f"/t/{scene.slug}"
    ana.goto(f"{home}/endpoints/new")
    expect(ana.get_by_label("URL")).to_have_accessible_description(re.compile("internal addresses"))
    expect(ana.get_by_role("group", name="Events")).to_match_aria_snapshot("""
      - group "Events":
        - radio "Every event type" [checked]
        - radio "Only these"
    """)
    ana.goto(f"{home}/deliveries?state=retrying")
    expect(ana.get_by_role("table")).to_have_accessible_name(
        re.compile(r"^Deliveries, \d+, newest first$")
    )
    headings = ana.get_by_role("columnheader").all_inner_texts()
    assert [text for text in headings if text] == [
        "Delivery", "State", "Endpoint", "Attempts", "Last answer", "Next or finished", "Created",
    ]  # fmt: skip
    row = ana.get_by_role("row").filter(has=ana.locator(f"#st-{scene.deliveries['retrying']}"))
    expect(row.get_by_role("rowheader")).to_contain_text("invoice.paid")
    expect(row).to_contain_text(re.compile("retrying.*Billing.*3.*503", re.DOTALL))
    open_delivery(ana, scene, "fenced")
    expect(ana).to_have_title(re.compile("delivered"))
    expect(ana.get_by_role("heading", level=1)).to_have_text("Delivery of order.paid to CRM sync")
    expect(ana.get_by_role("img", name="2 attempts, 1 fenced")).to_have_accessible_description(
        "Timeline"
    )
    expect(ana.get_by_role("listitem").filter(has_text="Late result fenced off")).to_have_count(1)
    expect(ana.locator("#say")).to_have_role("status")
    expect(ana.locator("#problem")).to_have_role("alert")
