"""Run a command that ends when its parent does.

A supervisor that is killed outright cannot stop its children. On Linux the kernel does it: it sends
them a signal when the process that started them is gone. Elsewhere the command simply runs.
The file is run by its path, before Relay is importable: the standard library is all it may use.
"""

import ctypes
import os
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def leashed(command: Sequence[str], signal_number: int) -> list[str]:
    """`command` wrapped so that it gets `signal_number` when the caller's process dies.

    Start it from the main thread: Linux watches the thread that forked, not the whole process.
    """
    return [sys.executable, "-IS", __file__, str(os.getpid()), str(int(signal_number)), *command]


def _main(parent: str, signal_number: str, *command: str) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal_number))
        if os.getppid() != int(parent):
            sys.exit(1)  # the parent died before the kernel knew whom to tell
    os.execvp(command[0], command)


if __name__ == "__main__":
    _main(*sys.argv[1:])
