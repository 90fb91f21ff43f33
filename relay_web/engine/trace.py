"""What an exchange went through: phases, times, and the address that was really used."""

from enum import StrEnum
from time import monotonic


class Phase(StrEnum):
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    WRITE = "write"
    WAIT = "wait"  #: from the request's last byte to the end of the answer's headers
    BODY = "body"


class Trace:
    """A stopwatch over the phases of one request. A phase that did not happen has no time."""

    __slots__ = ("_since", "began", "phase", "remote_ip", "spent", "started", "tls_version")

    def __init__(self) -> None:
        self.began = self._since = monotonic()
        self.phase: Phase | None = None
        #: Seconds by phase; a phase entered twice (a second address) counts in all.
        self.spent: dict[Phase, float] = {}
        self.remote_ip: str | None = None
        self.tls_version: str | None = None
        #: Whether bytes of the request may have reached the receiver.
        self.started = False

    def enter(self, phase: Phase | None) -> None:
        """End the phase at hand and begin the next; None stops the watch."""
        now = monotonic()
        if self.phase is not None:
            self.spent[self.phase] = self.spent.get(self.phase, 0.0) + now - self._since
        self.phase = phase
        self._since = now

    def forget(self) -> None:
        """Stop the watch and drop what it showed: the times of a refused target tell too much."""
        self.phase = None
        self.spent.clear()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.began
