"""Relay's own processes, started by the lines of the Procfile, and ended whatever happens."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from relay_web.leash import leashed

ROOT = Path(__file__).parents[2]
#: A worker hands over within 25 s, gunicorn within 20 (design §6).
STOPPED_WITHIN = 30.0
#: What no process of Relay may print, whatever is done to it.
_UNHEARD_OF = ("Traceback", "Warning", "Exception", "request.failed")


def procfile(name: str) -> str:
    """The command that the Procfile gives for a process type."""
    lines = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
    return lines[name]


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Only what a platform would set: nothing of the machine's own Relay settings gets through."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    kept = {key: os.environ[key] for key in ("HOME", "LANG", "TMPDIR") if key in os.environ}
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **settings}


class Process:
    """A line of the Procfile, run by a shell in a process group of its own, output to a file."""

    def __init__(self, kind: str, settings: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                leashed(["/bin/sh", "-c", f"exec {procfile(kind)}"], signal.SIGKILL),
                env=environment(settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        """Everything it said so far."""
        return self.log.read_text(errors="replace")

    def send(self, number: signal.Signals) -> None:
        """Signal the whole group, as a platform does."""
        os.killpg(self.pid, number)

    def freeze(self) -> None:
        """SIGSTOP, and wait until the kernel says that it stands still."""
        self.send(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        self.send(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL the group, and wait until it is gone."""
        self.send(signal.SIGKILL)
        self._process.wait()

    def stop(self, within: float = STOPPED_WITHIN) -> int:
        """SIGTERM, and the exit code that follows."""
        self.send(signal.SIGTERM)
        return self.wait(within)

    def wait(self, within: float = STOPPED_WITHIN) -> int:
        """The exit code; fails when it does not end within so many seconds."""
        return self._process.wait(within)

    def end(self) -> None:
        """Gone, in whatever state it was."""
        if self.is_running:
            self.kill()

    def complaints(self) -> list[str]:
        """Lines of its output that only a bug can have caused."""
        lines = self.output().splitlines()
        return [line for line in lines if any(word in line for word in _UNHEARD_OF)]
