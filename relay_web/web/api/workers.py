"""The workers, as they last reported."""

from relay_web.domain.roles import Deed
from relay_web.web.answers import PageOut, WorkerOut
from relay_web.web.api.answering import worker_out
from relay_web.web.api.operations import Call, operation


@operation("GET", "/workers", deed=Deed.SEE, answer=PageOut[WorkerOut])
def list_workers(call: Call) -> PageOut[WorkerOut]:
    """List the worker processes, the latest beat first."""
    store = call.parts.store
    now = store.now()
    return PageOut[WorkerOut](
        items=[worker_out(beat, now) for beat in store.workers.all()], next=None
    )
