"""Ends the process when its hub no longer comes round.

A frozen hub holds leases it cannot commit in time, and no greenlet is left to notice. So a native
thread looks: past half a lease the process ends, and its deliveries go to another worker when
their leases run out (reliability F15).
"""

import os
import time
from collections.abc import Callable
from typing import Final

import gevent
from gevent import monkey

#: Exit code of a worker that found itself frozen; a supervisor starts another.
FROZEN: Final = 70
_TICK: Final = 0.1
#: A round later than this (seconds) counts as a stall.
_STALL: Final = 0.25

_start_native = monkey.get_original("_thread", "start_new_thread")
_native_sleep = monkey.get_original("time", "sleep")


class Watchdog:
    """`limit` is in seconds; `stalled` hears of every stall that ended by itself, in ms."""

    def __init__(self, limit: float, stalled: Callable[[int], None]) -> None:
        self._limit = limit
        self._stalled = stalled
        self._last = time.monotonic()
        #: The longest stall so far, in seconds.
        self.longest = 0.0

    def run(self) -> None:
        """Tick until killed; the native thread watches the ticks."""
        self._last = time.monotonic()
        _start_native(self._watch, ())
        while True:
            before = time.monotonic()
            gevent.sleep(_TICK)
            self._last = time.monotonic()
            late = self._last - before - _TICK
            self.longest = max(self.longest, late)
            if late > _STALL:
                self._stalled(int(late * 1000))

    def _watch(self) -> None:
        seen, silent = self._last, 0.0
        while True:
            _native_sleep(_TICK)
            # Ticks, not the clock: a process that was stopped as a whole has no frozen hub. It
            # goes on, and reports what it has, late; the fence sees to the rest.
            silent = silent + _TICK if self._last == seen else 0.0
            seen = self._last
            if silent > self._limit:
                # The hub is frozen, and so is our logging: say it as plainly as can be.
                os.write(2, f"relay: the hub stood still for {silent:.1f} s; ending.\n".encode())
                os._exit(FROZEN)
