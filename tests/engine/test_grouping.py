"""Calls share work while one group is under way, and nobody who waits is passed by or forgotten."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from relay_web.engine.grouping import Grouping


class Slow:
    """Work that waits until it is let go; remembers its groups."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    def __call__(self, items: list[int]) -> None:
        self.groups.append(items)
        self.begun.release()
        assert self.go.acquire(timeout=10)


def waiting(grouping: Grouping[int], count: int) -> None:
    """Until so many calls wait for the next group."""
    arrived = threading.Event()
    while len(grouping._waiting) < count:
        arrived.wait(0.001)


def test_a_single_call_is_done_at_once_by_itself() -> None:
    done: list[list[int]] = []
    Grouping(done.append, 10).run([1])
    assert done == [[1]]


def test_who_comes_meanwhile_makes_up_the_next_group_in_order() -> None:
    slow = Slow()
    grouping = Grouping(slow, 10)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(grouping.run, [0])
        slow.begun.acquire()
        others = []
        for number in range(1, 5):
            others.append(pool.submit(grouping.run, [number]))
            waiting(grouping, number)
        slow.go.release(2)
        for call in (first, *others):
            call.result(timeout=10)
    assert slow.groups == [[0], [1, 2, 3, 4]]


def test_a_group_holds_whole_calls_and_no_more_than_it_may() -> None:
    slow = Slow()
    grouping = Grouping(slow, 3)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(grouping.run, [0])]
        slow.begun.acquire()
        for number, items in enumerate(([1, 2], [3, 4], [5, 6, 7, 8]), 1):
            calls.append(pool.submit(grouping.run, items))
            waiting(grouping, number)
        slow.go.release(4)
        for call in calls:
            call.result(timeout=10)
    assert slow.groups == [[0], [1, 2], [3, 4], [5, 6, 7, 8]]


def test_work_that_raises_is_its_leaders_error_and_the_next_group_goes_on() -> None:
    seen = []

    def work(items: list[int]) -> None:
        seen.append(items)
        if items == [0]:
            raise ZeroDivisionError

    grouping = Grouping(work, 10)
    with pytest.raises(ZeroDivisionError):
        grouping.run([0])
    grouping.run([1])
    assert seen == [[0], [1]]


def test_every_item_of_many_callers_is_worked_on_once() -> None:
    seen: list[int] = []
    grouping = Grouping(seen.extend, 7)
    with ThreadPoolExecutor(16) as pool:
        for call in [pool.submit(grouping.run, [number]) for number in range(2000)]:
            call.result(timeout=10)
    assert sorted(seen) == list(range(2000))
