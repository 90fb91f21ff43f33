"""Ports on the loopback interface: one that stays the same from start to start, and who has one."""

import random
import socket
from pathlib import Path
from typing import Final

from relay_web.errors import CannotRun

#: Below the ports that systems hand out to outgoing connections, so that a kept one stays free.
_PORTS: Final = range(20000, 30000)


def kept_port(path: Path) -> int:
    """The port noted in `path` where it is still free, else a new one, noted there."""
    noted = path.read_text().strip() if path.exists() else ""
    last = [int(noted)] if noted.isdigit() else []
    for port in last + random.sample(_PORTS, 20):
        if is_free(port):
            path.write_text(f"{port}\n")
            return port
    raise CannotRun("No free port on 127.0.0.1; close some programs and start again.")


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen on `port` now."""
    with socket.socket() as probe:
        # As servers do, so that connections in TIME_WAIT do not make the port look taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError):
            return False
    return True
