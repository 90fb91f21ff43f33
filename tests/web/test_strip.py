"""The drawing's geometry: order is kept, work is to scale, long waits are folded."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay_web.web.strip import Span, Strip, Work, draw
from relay_web.web.strip_scale import FOLD_AFTER

START = datetime(2026, 12, 1, 14, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def work(start: float, end: float, worker: str = "worker.1", kind: str = "plain") -> Work:
    return Work(worker, 1, at(start), at(end), "bad", kind, "failed", "503")


def hold(start: float, end: float, worker: str = "worker.1") -> Span:
    return Span(worker, 1, at(start), at(end))


def one(*spans: Span, works: tuple[Work, ...] = (), **more: object) -> Strip:
    facts: dict[str, object] = {"created": START, "now": None, "due": None}
    return draw(spans, works, **facts | more)  # type: ignore[arg-type]


def test_a_delivery_that_nobody_took_has_no_lanes() -> None:
    assert one().lanes == ()


def test_two_attempts_are_drawn_to_one_scale() -> None:
    strip = one(hold(0, 2), hold(3, 7), works=(work(0, 2), work(3, 7)))
    first, second = strip.lanes[0].marks
    assert second.width / first.width == pytest.approx(2, abs=0.01)


def test_a_wait_of_hours_is_folded_to_less_room_than_the_work_beside_it() -> None:
    strip = one(hold(0, 10), hold(7200, 7210), works=(work(0, 10), work(7200, 7210)))
    (fold,) = strip.folds
    assert fold.length == timedelta(seconds=7190)
    assert fold.width < strip.lanes[0].marks[0].width


def test_a_short_wait_is_not_folded() -> None:
    assert one(hold(0, 1), hold(15, 16)).folds == ()


def test_a_tiny_attempt_can_still_be_seen() -> None:
    strip = one(hold(0, 15), works=(work(0, 0.012), work(5, 15)))
    assert strip.lanes[0].marks[0].width >= 0.6


def test_each_worker_has_a_lane_in_the_order_they_came() -> None:
    strip = one(hold(0, 30, "worker.2"), hold(31, 32, "worker.1"))
    assert [lane.worker for lane in strip.lanes] == ["worker.2", "worker.1"]


def test_a_fence_stands_in_its_own_lane_where_the_newer_token_was_granted() -> None:
    strip = one(
        hold(0, 30, "worker.2"),
        hold(30, 31),
        works=(work(0, 41, "worker.2", kind="fenced"),),
        fences=[("worker.2", at(30))],
    )
    late, quick = strip.lanes
    (fence,) = late.fences
    assert quick.fences == ()
    assert late.marks[0].x < fence < late.marks[0].right


def test_the_wait_for_the_next_attempt_holds_now_and_ends_at_next() -> None:
    strip = one(hold(0, 1), now=at(100), due=at(301))
    assert strip.now is not None
    assert strip.next == 100.0
    assert strip.folds[-1].x < strip.now < strip.next


def test_clock_labels_never_overlap() -> None:
    spans = [hold(step * 60, step * 60 + 1) for step in range(30)]
    ticks = one(*spans).ticks
    assert all(b.x - a.x >= 12.9 for a, b in pairwise(ticks))


def test_many_attempts_ask_for_a_wider_drawing() -> None:
    assert one(*[hold(step * 60, step * 60 + 1) for step in range(12)]).size == "wide"
    assert one(*[hold(step * 60, step * 60 + 1) for step in range(40)]).size == "wider"


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 60)), min_size=1, max_size=25))
def test_later_is_never_drawn_further_left_and_nothing_leaves_the_drawing(
    times: list[tuple[float, float]],
) -> None:
    spans = [hold(start, start + length) for start, length in times]
    strip = one(*spans, now=at(2e6), due=at(2e6) + FOLD_AFTER)
    boxes = sorted(strip.lanes[0].holds, key=lambda box: box.of.start)
    assert all(a.x <= b.x + 1e-6 for a, b in pairwise(boxes))
    assert all(box.x >= 0 and box.right <= 100.01 for box in boxes)
