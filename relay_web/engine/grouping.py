"""Calls that arrive together are done together: who comes during one group is in the next.

The first caller of a group does the work for all of it, and hands the next group to the first of
those who wait. An idle system works for each caller at once: nothing is delayed to grow a group. A
plain lock would not do: who comes back quickly takes it from under those who wait, and works alone.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class _Call(Generic[Item]):
    """One caller with its items; `leads` once the group that begins with it is its own to do."""

    __slots__ = ("items", "leads", "woken")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.leads = False
        self.woken = threading.Event()


class Grouping(Generic[Item]):
    """Runs `work` on the items of several callers at once: `most`, unless one brings more."""

    def __init__(self, work: Callable[[list[Item]], None], most: int) -> None:
        self._work = work
        self._most = most
        self._door = threading.Lock()
        self._waiting: list[_Call[Item]] = []
        self._busy = False

    def run(self, items: list[Item]) -> None:
        """Return when `work` has been done on `items`, by this caller or another.

        What `work` raises is raised for the caller that did it alone: results, failures too, belong
        into the items.
        """
        call = _Call(items)
        with self._door:
            self._waiting.append(call)
            if not self._busy:
                self._busy = call.leads = True
        try:
            if not call.leads:
                call.woken.wait()
        except BaseException:  # the caller is broken off
            self._leave(call)
            raise
        if call.leads:
            self._lead()

    def _lead(self) -> None:
        group = self._next_group()
        try:
            self._work([item for call in group for item in call.items])
        finally:
            with self._door:
                self._hand_over()
            for call in group:
                call.woken.set()

    def _next_group(self) -> list[_Call[Item]]:
        """The longest run of whole calls that is small enough, its leader's in front."""
        with self._door:
            count = size = 0
            for call in self._waiting:
                size += len(call.items)
                if count and size > self._most:
                    break
                count += 1
            group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group

    def _hand_over(self) -> None:
        self._busy = bool(self._waiting)
        if self._busy:
            self._waiting[0].leads = True
            self._waiting[0].woken.set()

    def _leave(self, call: _Call[Item]) -> None:
        with self._door:
            if call in self._waiting:
                self._waiting.remove(call)
                if call.leads:
                    self._hand_over()
