"""Why a delivery waits, for pages and API: the scheduler's reason with this instance's facts."""

from relay_web.domain.unsealing import unseal
from relay_web.domain.waiting import Wait, why
from relay_web.store.timeline import DeliveryDetail
from relay_web.web.parts import parts


def schedule_of(detail: DeliveryDetail) -> tuple[float, ...]:
    """Seconds before each retry: the endpoint's own, or the instance's."""
    own = detail.endpoint.retry_schedule if detail.endpoint is not None else None
    return parts().settings.retry_schedule if own is None else own


def wait_of(detail: DeliveryDetail) -> Wait | None:
    """Why it has not been sent yet; None once it has ended. Raises `Unavailable`."""
    endpoint = detail.endpoint
    return why(
        detail.delivery,
        endpoint,
        now=detail.now,
        workers=parts().store.workers.live(),
        tries=len(schedule_of(detail)) + 1,
        readable=endpoint is None or unseal(parts().vault, endpoint) is not None,
    )
