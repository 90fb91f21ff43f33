"""Requests whose end the test decides, each on its own."""

import threading

from tests.receiver import Connection, Ended, Receiver, answer

_LOOK_EVERY = 0.05


class Held:
    """A step of a receiver's script: the request hangs until `release` says how it is answered."""

    def __init__(self) -> None:
        self._released = threading.Event()
        self._status = 200

    def release(self, status: int = 200) -> None:
        """Answer every request that hangs here, and all that still come."""
        self._status = status
        self._released.set()

    def __call__(self, receiver: Receiver, connection: Connection) -> None:
        while not self._released.wait(_LOOK_EVERY):
            if receiver.closing.is_set():
                raise Ended
        answer(self._status)(receiver, connection)
