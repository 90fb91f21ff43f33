"""A command of Relay as a real process: its output so far, and ways to wait for things."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from relay_web.ports import kept_port

ROOT = Path(__file__).parent.parent.parent
#: Seconds; a loaded machine takes its time, a hang does not end.
DEADLINE = 60.0


class Running:
    """`relay ARGUMENTS`, or another command line, with its output collected as it comes."""

    def __init__(self, *arguments: str, shell: str | None = None, **environment: str) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RELAY_", "MONGODB_"))}
        self.process = subprocess.Popen(
            shell or [sys.executable, "-m", "relay_web", *arguments],
            shell=shell is not None,
            cwd=ROOT,
            env={
                **clean,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONWARNINGS": "default",
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._reader.join()

    def _read(self) -> None:
        with self.process.stdout as lines:
            self._lines.extend(iter(lines.readline, ""))

    @property
    def output(self) -> str:
        return "".join(self._lines)

    def wait_for(self, text: str) -> None:
        """Until the output holds `text`; the command must not end before."""
        self.wait_until(lambda: text in self.output, f"{text!r} in the output")

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Until `holds()`; fails with the output after the deadline or when the command ended."""
        deadline = time.monotonic() + DEADLINE
        while not holds():
            ended = self.process.poll()
            assert ended is None or holds(), f"ended with {ended} before {what}:\n{self.output}"
            assert time.monotonic() < deadline, f"no {what}:\n{self.output}"
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and give back the exit code."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """The exit code, once there is one and the output is complete."""
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return code


def free_port(folder: Path) -> str:
    return str(kept_port(folder / "test.port"))
