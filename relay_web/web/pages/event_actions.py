"""What a person does with one event: send it again, or to an endpoint that it did not go to."""

from flask import Response, flash, g, request

from relay_web.engine import resend
from relay_web.errors import Conflict
from relay_web.web.forms import typed
from relay_web.web.pages import actor, allow, audited
from relay_web.web.pages.events import bp
from relay_web.web.parts import parts
from relay_web.web.render import address, see_other


@bp.post("/<event>/resend")
def resend_failed(event: str) -> Response:
    """Every failed or cancelled delivery of it, once for each form."""
    allow("operate")
    done = resend.replay(
        parts().store, g.team.id, event, action_id=typed("action_id", 64), by=actor()
    )
    if not done.ids:
        flash("Nothing was sent: no delivery of this event can be sent again now.", "wait")
        return see_other(address("events.show", event=event))
    audited("event.replayed", event, deliveries=str(len(done.ids)))
    count = f"{len(done.ids)} deliver{'y' if len(done.ids) == 1 else 'ies'}"
    flash(f"Queued {count} again; watch them below.", "send")
    return see_other(address("events.show", event=event))


@bp.post("/<event>/send")
def send_to(event: str) -> Response:
    """To one endpoint that got nothing."""
    allow("operate")
    endpoint = request.form.get("endpoint", "")[:64]
    try:
        delivery = resend.send_to(parts().store, parts().intake, g.team.id, event, endpoint)
    except Conflict as refused:
        flash(refused.message, "wait")
        return see_other(address("events.show", event=event))
    audited("event.replayed", event, endpoint=endpoint)
    flash("Queued. This is its delivery.", "send")
    return see_other(address("deliveries.show", delivery=delivery))
