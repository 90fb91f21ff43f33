"""`relay up`: the database, the web process and the workers, started together and ended together.

Each child has its own process group, so a Ctrl-C reaches the supervisor alone: it stops web and
workers first and the database last. A leash ends them should the supervisor be killed outright.
A worker that crashes is started again, later each time; anything else that dies ends the whole.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from relay_web.errors import CannotRun
from relay_web.leash import leashed

#: Longer than gunicorn's graceful timeout (20 s) and a worker's hand-over (25 s).
STOPPED_WITHIN: Final = 28.0
_LOOK_EVERY: Final = 0.1
_LONGEST_PAUSE: Final = 30.0
#: A process that lived this long (s) before it crashed starts again at once.
_SETTLED: Final = 60.0
#: Exit code of a process whose settings cannot work: starting it again will not help.
_BAD_SETTING: Final = 78


@dataclass(slots=True)
class Child:
    """One process to keep running. `restarts`: whether a crash of it can be mended by a new one."""

    name: str
    command: Sequence[str]
    restarts: bool = False
    process: subprocess.Popen[str] | None = None
    started: float = 0.0
    crashes: int = 0
    again_at: float = field(default=0.0)


class Supervisor:
    """Keeps children running until told to stop. Use it in the main thread."""

    def __init__(self, children: Sequence[Child], environment: Mapping[str, str]) -> None:
        self._children = children
        self._environment = dict(environment)
        self._width = max(len(child.name) for child in children)
        self._pumps: list[threading.Thread] = []
        self.stopping = False

    def __enter__(self) -> "Supervisor":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_children()

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def start(self) -> None:
        """Start every child."""
        for child in self._children:
            self._start(child)

    def turn(self) -> None:
        """Look once at every child. Raises CannotRun when one ended that must not."""
        time.sleep(_LOOK_EVERY)
        for child in self._children:
            if child.process is None:
                if time.monotonic() >= child.again_at:
                    self._start(child)
            elif (code := child.process.poll()) is not None and not self.stopping:
                self._ended(child, code)

    def _start(self, child: Child) -> None:
        child.started = time.monotonic()
        child.process = subprocess.Popen(
            leashed(child.command, signal.SIGTERM),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            process_group=0,
        )
        pump = threading.Thread(target=self._pump, args=(child.name, child.process), daemon=True)
        pump.start()
        self._pumps.append(pump)

    def _pump(self, name: str, process: subprocess.Popen[str]) -> None:
        """Copy the lines of one child to our own output, each with its name in front."""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                say(f"{name:{self._width}} | {line.rstrip()}")

    def _ended(self, child: Child, code: int) -> None:
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        if not child.restarts or code == _BAD_SETTING:
            raise CannotRun(f"The {child.name} process ended ({how}), so everything was stopped.")
        lived = time.monotonic() - child.started
        child.crashes = 0 if lived >= _SETTLED else child.crashes + 1
        pause = min(2.0 ** (child.crashes - 1), _LONGEST_PAUSE) if child.crashes else 0.0
        say(f"{child.name:{self._width}} | ended ({how}); starting it again in {pause:g} s")
        child.process, child.again_at = None, time.monotonic() + pause

    def _stop_children(self) -> None:
        """SIGTERM to each, once; SIGKILL to what is left when the time is up."""
        self.stopping = True
        running = [child.process for child in self._children if child.process is not None]
        for process in running:
            process.terminate()
        give_up = time.monotonic() + STOPPED_WITHIN
        for process in running:
            try:
                process.wait(max(0.0, give_up - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for pump in self._pumps:
            pump.join(timeout=1.0)


def say(line: str) -> None:
    """One line to stdout, whole, whatever becomes of the reader."""
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        pass


def answers(url: str) -> bool:
    """Whether the web process at `url` is up."""
    try:
        # Our own http address.
        with urllib.request.urlopen(f"{url}/healthz", timeout=1):  # nosec B310
            return True
    except urllib.error.HTTPError as refusal:  # it knows itself by another name; it is up
        refusal.close()
        return True
    except OSError:
        return False
