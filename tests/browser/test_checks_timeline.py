"""The timeline of a delivery: checks 35–51."""

import re
import subprocess
from collections.abc import Callable
from datetime import timedelta

from playwright.sync_api import Locator, Page, expect

from relay_web.clock import utcnow
from relay_web.domain.roles import Role
from tests.browser.conftest import Site, Watch
from tests.browser.deeds import asked, fail_once, open_delivery, register, send_test
from tests.browser.scenery import EMAIL, Scene
from tests.e2e.processes import Process
from tests.e2e.waiting import eventually
from tests.guard import BY_HAND
from tests.receiver import Receiver, answer, hold


def line(page: Page, words: str | re.Pattern[str]) -> Locator:
    """The line of the journal with these words."""
    return page.locator("#journal > li").filter(has_text=words)


def becomes(page: Page, word: str) -> None:
    expect(page.locator("#card .pill").first).to_have_text(word)


def listen(page: Page) -> None:
    """From now on, everything the status region says is kept."""
    page.evaluate("""() => {
      window.heard = [];
      const say = document.getElementById("say");
      new MutationObserver(() => {
        const text = say.textContent.trim();
        if (text) window.heard.push(text);
      }).observe(say, {childList: true, subtree: true});
    }""")


def test_35_a_first_success_is_told_in_order_with_time_and_worker(ana: Page, scene: Scene) -> None:
    open_delivery(ana, scene, "first-time")
    lines = ana.locator("#journal > li")
    told = lines.locator(".title").all_inner_texts()
    assert [
        re.match(words, text) is not None
        for words, text in zip(
            (
                "Event accepted, delivery created for CRM sync",
                r"worker\.1 took the lease · token 1",
                "Attempt 1: answered 200 in 143 ms",
                "Delivered",
            ),
            told,
            strict=True,
        )
    ] == [True] * 4, told
    for time in lines.locator(".at time").all():
        assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}", time.inner_text())
    expect(lines.nth(2)).to_contain_text("worker.1 · token 1")


def test_36_a_late_result_is_told_as_fenced_off_with_both_tokens_and_workers(
    ana: Page, scene: Scene
) -> None:
    open_delivery(ana, scene, "fenced")
    late = line(ana, "Late result fenced off")
    expect(late).to_have_count(1)
    webhook_id = ana.locator("#webhook-id").inner_text()
    for words in ("worker.2 reported", "token 7", "worker.1 held token 8", webhook_id):
        expect(late).to_contain_text(words)
    expect(line(ana, "worker.1 took the lease · token 8")).to_have_count(1)
    becomes(ana, "delivered")
    expect(line(ana, "Attempt 1: answered 200 in 143 ms")).to_contain_text("worker.1 · token 8")


def test_37_the_strip_has_a_lane_for_each_worker_and_hatches_what_was_fenced(
    ana: Page, scene: Scene
) -> None:
    open_delivery(ana, scene, "fenced")
    drawing = ana.get_by_role("img", name="2 attempts, 1 fenced")
    expect(drawing).to_be_visible()
    expect(ana.locator("#strip .lane-line")).to_have_count(2)
    expect(ana.locator("#strip .mark.fenced")).to_have_count(1)
    fill = ana.locator("#strip .mark.fenced").evaluate("it => getComputedStyle(it).fill")
    assert "hatch-fence" in fill


def test_38_a_countdown_follows_the_servers_clock_though_the_laptops_is_wrong(
    ana: Page, scene: Scene, site: Site
) -> None:
    ana.clock.install(time=utcnow() + timedelta(minutes=10))
    open_delivery(ana, scene, "retrying")
    due = site.store.deliveries.get(scene.team, scene.deliveries["retrying"]).due_at
    assert due is not None
    timer = ana.locator("#card [data-until]")
    shown = re.fullmatch(r"(\d+) min(?: (\d+) s)?", timer.inner_text())
    assert shown is not None
    left = int(shown[1]) * 60 + int(shown[2] or 0)
    assert abs(left - (due - site.store.now()).total_seconds()) < 5
    for _ in range(3):
        before = timer.inner_text()
        ana.clock.run_for(1000)
        expect(timer).not_to_have_text(before)


def test_39_a_retry_lands_in_place_is_said_once_and_the_focus_stays(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    fail_once(ana, scene, receiver)
    listen(ana)
    loads = asked(ana, "/static/")
    ana.locator("#retry").click()
    becomes(ana, "delivered")
    expect(line(ana, "Attempt 2: answered 200")).to_have_count(1)
    expect(ana).to_have_title(re.compile("delivered"))
    expect(ana.locator("#retry")).to_be_focused()
    heard = ana.evaluate("window.heard")
    assert [text for text in heard if text.startswith("Attempt 2")] == heard[-1:]
    expect(ana.locator("#live")).to_contain_text("Final")
    assert not [url for url in loads if ".js" in url]
    ana.get_by_role("link", name="Compare with attempt 1").click()
    expect(ana.get_by_role("heading", name="Compare two attempts")).to_be_visible()


def test_40_three_fast_presses_are_one_request(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    fail_once(ana, scene, receiver)
    ana.evaluate("() => { for (let i = 0; i < 3; i++) document.getElementById('retry').click(); }")
    becomes(ana, "delivered")
    assert len(receiver.requests("/flaky")) == 2


def test_41_the_same_press_sent_again_has_the_same_answer_and_no_second_effect(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process
) -> None:
    fail_once(ana, scene, receiver)
    with ana.expect_request(re.compile("/retry$")) as press:
        ana.locator("#retry").click()
    becomes(ana, "delivered")
    request = press.value
    kept = {"hx-request", "hx-target", "content-type"}
    headers = {name: value for name, value in request.headers.items() if name in kept}
    for _ in range(2):
        again = ana.request.post(request.url, data=request.post_data, headers=headers)
        assert again.status == 200
        assert "Already queued by this same press" in again.text()
    assert len(receiver.requests("/flaky")) == 2


def test_42_of_two_tabs_the_second_press_sends_nothing_and_says_so(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process, watch: Watch
) -> None:
    watch.expect(409)
    fail_once(ana, scene, receiver)
    other = ana.context.new_page()
    watch.follow(other)
    other.goto(ana.url)
    other.locator("#live-pause").click()
    ana.locator("#retry").click()
    becomes(ana, "delivered")
    other.locator("#retry").click()
    expect(other.locator("#card")).to_contain_text(
        re.compile(r"Delivered at \d\d:\d\d:\d\d already\. Nothing was sent\.")
    )
    becomes(other, "delivered")
    assert len(receiver.requests("/flaky")) == 2


def test_43_a_held_delivery_says_what_to_do_first_and_sends_nothing(
    ana: Page, scene: Scene, site: Site
) -> None:
    open_delivery(ana, scene, "held")
    button = ana.get_by_role("button", name="Retry now")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description("Resume the endpoint first.")
    posts = asked(ana, "/retry")
    button.click(force=True)
    expect(ana.get_by_text("Resume the endpoint first.")).to_be_visible()
    assert not posts
    assert not site.store.deliveries.get(scene.team, scene.deliveries["held"]).actions


def test_44_a_cancelled_delivery_is_never_sent_and_names_who_did_it(
    ana: Page, scene: Scene, site: Site
) -> None:
    open_delivery(ana, scene, "retrying")
    ana.get_by_role("button", name="Cancel", exact=True).click()
    becomes(ana, "cancelled")
    expect(line(ana, "Cancel")).to_contain_text(EMAIL)
    kept = site.store.deliveries.get(scene.team, scene.deliveries["retrying"])
    # Out of the queue: there is no time left at which a worker could take it.
    assert (kept.state, kept.due_at, kept.lane) == ("cancelled", None, None)
    expect(ana.locator("#strip .next")).to_have_count(0)


def test_45_retry_after_decides_the_wait_and_is_named(
    ana: Page, scene: Scene, site: Site, receiver: Receiver, worker: Process
) -> None:
    receiver.script("/later", answer(503, headers=[("Retry-After", "120")]))
    register(ana, scene, receiver.url("/later"))
    send_test(ana, "retrying")
    ana.get_by_role("link", name="See its timeline").click()
    expect(line(ana, "Waits 2 min")).to_contain_text("Retry-After")
    key = ana.url.rpartition("/")[2]
    kept = site.store.deliveries.get(scene.team, key)
    assert kept.due_at is not None
    assert kept.last is not None
    assert abs((kept.due_at - kept.last.at).total_seconds() - 120) <= 2


def test_46_a_killed_workers_delivery_is_taken_over_under_a_higher_token(
    ana: Page,
    scene: Scene,
    receiver: Receiver,
    worker: Process,
    start_worker: Callable[..., Process],
) -> None:
    receiver.script("/killed", hold(), answer(200))
    register(ana, scene, receiver.url("/killed"))
    ana.get_by_role("button", name="Send test event").click()
    receiver.wait(1, "/killed")
    ana.get_by_role("link", name="See its timeline").click()
    becomes(ana, "sending")
    worker.kill()
    start_worker()
    becomes(ana, "delivered")
    expect(line(ana, "lost the lease")).to_have_count(1)
    expect(line(ana, "Token 1 no longer counts (expired)")).to_have_count(1)
    expect(line(ana, "took the lease · token 2")).to_have_count(1)
    expect(ana.locator("#journal > .is-delivered")).to_have_count(1)
    receiver.release()


def test_47_what_one_opened_stays_open_selected_and_in_place_while_the_page_lives(
    ana: Page, scene: Scene, site: Site, receiver: Receiver, worker: Process
) -> None:
    ana.set_viewport_size({"width": 1000, "height": 400})
    fail_once(ana, scene, receiver)
    details = ana.locator("details.attempt").first
    expect(details).to_have_attribute("open", "")
    details.evaluate("""(it) => {
      it.dataset.mark = "same";
      it.scrollIntoView();
      getSelection().selectAllChildren(it.querySelector("h4"));
    }""")
    before = ana.evaluate("[scrollY, getSelection().toString()]")
    assert before[0] > 0
    for _ in range(5):
        # A new revision: the answer replaces the card, not only the time of the last poll.
        change = {"$inc": {"rev": 1}}
        key = {"_id": ana.url.rpartition("/")[2]}
        site.store.db.deliveries.update_one(key, change, comment=BY_HAND)
        with ana.expect_response(lambda answer: "/live" in answer.url and answer.status == 200):
            ana.evaluate("document.body.dispatchEvent(new CustomEvent('relay:wake'))")
    assert ana.evaluate("[scrollY, getSelection().toString()]") == before
    ana.evaluate("document.getElementById('retry').click()")
    expect(line(ana, "Attempt 2: answered 200")).to_have_count(1)
    expect(details).to_have_attribute("data-mark", "same")
    expect(details).to_have_attribute("open", "")


def test_48_a_payload_shows_its_own_numbers_and_keys_and_is_copied_byte_for_byte(
    ana: Page, scene: Scene, site: Site
) -> None:
    ana.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_delivery(ana, scene, "odd-payload")
    text = ana.locator("#payload-text")
    expect(text).to_contain_text("9007199254740993")
    assert text.inner_text().count('"a":') == 2
    expect(ana.locator("#payload")).to_contain_text("1.1 MB")
    ana.get_by_role("button", name="Copy the payload").click()
    expect(ana.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    copied = ana.evaluate("navigator.clipboard.readText()")
    event = site.store.deliveries.get(scene.team, scene.deliveries["odd-payload"]).event
    assert copied.encode() == site.store.events.bodies([event])[event]


def test_49_a_pasted_curl_command_sends_the_same_request_without_its_signature(
    ana: Page, scene: Scene, receiver: Receiver, worker: Process, someone: Callable[..., Page]
) -> None:
    register(ana, scene, receiver.url("/copied"))
    send_test(ana, "delivered")
    ana.get_by_role("link", name="See its timeline").click()
    address = f"{ana.url}/attempts/1/curl"
    viewer = someone(Role.VIEWER)
    viewer.goto(address)
    command = viewer.locator("#curl").inner_text()
    expect(viewer.get_by_role("button", name="With a signature made now")).to_have_count(0)
    for secret in ("webhook-signature", "whsec_", "v1,"):
        assert secret not in command
    subprocess.run(["/bin/sh", "-c", command], check=True, capture_output=True, timeout=20)
    sent, pasted = receiver.wait(2, "/copied")
    assert (pasted.method, pasted.path, pasted.body) == (sent.method, sent.path, sent.body)
    left_out = {"webhook-signature", "webhook-timestamp"}
    own = {"accept", "accept-encoding", "connection", "host", "content-length"}
    assert {name: text for name, text in sent.headers.items() if name not in left_out | own} == {
        name: text for name, text in pasted.headers.items() if name not in own
    }
    ana.goto(address)
    ana.get_by_role("button", name="With a signature made now").click()
    expect(ana.locator("#curl")).to_contain_text("webhook-signature: v1,")


def test_50_comparing_two_attempts_shows_only_what_differs(ana: Page, scene: Scene) -> None:
    key = scene.deliveries["retrying"]
    ana.goto(f"/t/{scene.slug}/deliveries/{key}/compare?a=1&b=3")
    rows = ana.locator("tbody tr")
    for name, a, b in (("Took", "812 ms", "143 ms"), ("Fencing token", "1", "3")):
        expect(rows.filter(has_text=name).locator("td")).to_have_text([a, b])
    payload = rows.filter(has_text="Same payload")
    expect(payload).to_contain_text(re.compile("Yes"))
    for row in rows.all():
        cells = row.locator("td").all_inner_texts()
        assert len(cells) == 1 or cells[0] != cells[1]
    expect(rows.filter(has_text="URL")).to_have_count(0)
    expect(ana.locator("del").filter(has_text="upstream down")).to_have_count(1)
    expect(ana.locator("ins").filter(has_text="<h1>503</h1>")).to_have_count(1)


def test_51_without_script_the_timeline_is_readable_and_retry_now_posts(
    someone: Callable[..., Page], scene: Scene, site: Site
) -> None:
    page = someone(script=False)
    open_delivery(page, scene, "retrying")
    expect(page.locator("#card")).to_contain_text("Will try again in")
    expect(page.locator("#journal")).to_contain_text("Attempt 3: answered 503 in 143 ms")
    absolute = re.compile(r"\d\d:\d\d:\d\d")
    for time in page.locator("#journal .at time").all():
        expect(time).to_have_text(absolute)
    expect(page.locator("#card dd time").first).to_have_text(absolute)
    page.locator("#retry").click()
    expect(page.get_by_text("Queued – a worker picks it up now.")).to_be_visible()
    kept = site.store.deliveries.get(scene.team, scene.deliveries["retrying"])
    assert [action.by for action in kept.actions] == [EMAIL]
    eventually(lambda: kept.due_at and kept.due_at <= site.store.now(), "it is due")
