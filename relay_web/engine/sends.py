"""The sends under way: each in a greenlet, each with a result, whatever ends it."""

from gevent.event import Event
from gevent.pool import Group
from gevent.queue import SimpleQueue

from relay_web.domain.delivery import Claim
from relay_web.domain.policy import Verdict
from relay_web.engine.committer import Committer
from relay_web.engine.courier import Courier, Settled
from relay_web.engine.endpoint_cache import Target
from relay_web.store.deliveries import Result

Job = tuple[Claim, Target | None, bytes | None]


class Sends:
    """Starts sends and, at a stop, ends them in good order.

    A greenlet that has finished one send waits for the next: making a new one costs three times
    what it costs to wake one.
    """

    def __init__(self, courier: Courier, committer: Committer) -> None:
        self._courier = courier
        self._committer = committer
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._greenlets = Group()
        self._under_way = 0
        self._none_left = Event()
        self._stopping = False

    def start(self, claim: Claim, target: Target | None, body: bytes | None) -> None:
        """Send in the background; the result goes to the committer."""
        self._under_way += 1
        if self._under_way > len(self._greenlets):
            self._greenlets.spawn(self._run)
        self._jobs.put((claim, target, body))

    def finish(self, grace: float) -> None:
        """Begin no send any more; give those under way `grace` seconds, then break them off."""
        self._stopping = True
        if self._under_way:
            self._none_left.wait(grace)
        self._greenlets.kill(timeout=1.0)

    def _run(self) -> None:
        while not self._stopping:
            job = self._jobs.get()
            try:
                self._committer.put(self._one(*job))
            finally:
                self._under_way -= 1
                if self._stopping and not self._under_way:
                    self._none_left.set()

    def _one(self, claim: Claim, target: Target | None, body: bytes | None) -> Settled:
        if self._stopping:
            unsent = Verdict.release("the worker was stopped before it was sent")
            return Settled(Result(claim, unsent), None)
        return self._courier.carry(claim, target, body)
