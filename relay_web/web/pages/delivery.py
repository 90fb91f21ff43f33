"""One delivery: its timeline, kept current, and what a person may do about it."""

from dataclasses import dataclass
from typing import Any

from flask import Response, flash, g, request

from relay_web.domain.delivery import TERMINAL, State
from relay_web.engine.actions import Actions
from relay_web.errors import Conflict, Gone, NotFound
from relay_web.store.timeline import DeliveryDetail
from relay_web.web import telling, times
from relay_web.web.pages import actor, allow, audited
from relay_web.web.pages.deliveries import bp
from relay_web.web.parts import parts
from relay_web.web.render import (
    address,
    fragment,
    page,
    page_or_part,
    see_other,
    wants_part,
    with_query,
    zone,
)  # fmt: skip
from relay_web.web.waits import schedule_of, wait_of


@dataclass(frozen=True, slots=True)
class Said:
    """What the card says about the action just taken; `status` of the answer."""

    text: str
    tone: str = "send"
    status: int = 200


@bp.get("/<delivery>")
def show(delivery: str) -> Response:
    """The whole timeline."""
    detail = parts().store.timeline.delivery(g.team.id, delivery)
    body = parts().store.events.bodies([detail.delivery.event]).get(detail.delivery.event)
    raw = request.args.get("payload") == "raw"
    return page_or_part(
        "delivery", {"payload": ("payload",)}, payload=body, payload_raw=raw, **_context(detail)
    )


@bp.get("/<delivery>/live")
def show_live(delivery: str) -> Response:
    """What changed since the page's `rev`: 204 for nothing, 286 with the end of the story."""
    if not wants_part():
        return see_other(address("deliveries.show", delivery=delivery))
    seen = request.args.get("rev", -1, type=int)
    timeline = parts().store.timeline
    if timeline.rev(g.team.id, delivery) == seen:
        return Response(status=204)
    detail = timeline.delivery(g.team.id, delivery)
    names = ["delivery_live", "delivery_card", "delivery_strip", _journal_part(detail)]
    if detail.delivery.state is not State.LEASED:
        names.append("say")
    status = 286 if detail.delivery.state in TERMINAL else 200
    return fragment(*names, status=status, target="live", **_context(detail))


@bp.get("/<delivery>/attempts/<int:token>")
def attempt(delivery: str, token: int) -> Response:
    """One attempt's request and response."""
    detail = parts().store.timeline.delivery(g.team.id, delivery)
    found = next((row for row in detail.attempts if row.token == token), None)
    if found is None:
        raise NotFound
    show = fragment if wants_part() else page
    name = "attempt_body" if wants_part() else "attempt"
    raw = request.args.get("view") == "raw"
    return show(name, detail=detail, attempt=found, raw=raw)


@bp.post("/<delivery>/retry")
def retry(delivery: str) -> Response:
    """Send it again. The same `action_id` once more has no further effect."""
    allow("operate")
    before = parts().store.timeline.delivery(g.team.id, delivery)
    refusal = _refusal(before)
    if refusal is not None:
        return _after(before, refusal)
    try:
        acted = _actions().retry(
            g.team.id,
            delivery,
            action_id=_action_id(),
            by=actor(),
            restart=request.form.get("restart") == "1",
        )
        told = {"already": "Already queued by this same press.", "asked": "It is being sent now."}
        said = Said(told.get(acted.kind, "Queued – a worker picks it up now."))
        audited("delivery.retried", delivery)
    except (Conflict, Gone) as refused:
        said = Said(f"{refused.message} Nothing was sent.", "wait", 409)
    return _after(parts().store.timeline.delivery(g.team.id, delivery), said)


@bp.post("/<delivery>/cancel")
def cancel(delivery: str) -> Response:
    """End it without delivery."""
    allow("operate")
    try:
        _actions().cancel(g.team.id, delivery, action_id=_action_id(), by=actor())
        audited("delivery.cancelled", delivery)
        said = Said("Cancelled. Nothing more is sent.", "idle")
    except Conflict as stale:
        said = Said(stale.message, "wait", 409)
    return _after(parts().store.timeline.delivery(g.team.id, delivery), said)


@bp.post("/<delivery>/take-over")
def take_over(delivery: str) -> Response:
    """End the current lease by hand; its holder's late word will not count."""
    allow("operate")
    try:
        _actions().take_over(g.team.id, delivery, action_id=_action_id(), by=actor())
        audited("delivery.taken_over", delivery)
        said = Said("The lease was ended. Another worker takes it over now.")
    except Conflict as stale:
        said = Said(stale.message, "wait", 409)
    return _after(parts().store.timeline.delivery(g.team.id, delivery), said)


def _refusal(before: DeliveryDetail) -> Said | None:
    """Why a retry must not be done, as the page itself would say it; None if it may."""
    it = before.delivery
    if any(action.id == _action_id() for action in it.actions):
        return None
    offer = telling.offer(before, lambda at: times.clock(at, zone()))
    if offer.refused:
        return Said(f"{offer.refused} Nothing was sent.", "wait", 409)
    stale = request.form.get("rev", it.rev, type=int) != it.rev
    if it.state is State.DELIVERED and it.finished_at and (stale or "again" not in request.form):
        at = times.clock(it.finished_at, zone())
        return Said(f"Delivered at {at} already. Nothing was sent.", "ok", 409)
    return None


def _actions() -> Actions:
    return Actions(parts().store, parts().settings.retention_days)


def _action_id() -> str:
    """The form's one-time id; a form without one could be sent twice, so it is refused."""
    given = request.form.get("action_id", "")
    if not 8 <= len(given) <= 64:
        raise Conflict("This form is incomplete; reload the page and try again.")
    return given


def _after(detail: DeliveryDetail, said: Said) -> Response:
    """The new card with everything it moved; without htmx, back to the page with a message."""
    if not wants_part():
        if said.status >= 400:
            return page("delivery", status=said.status, **_page_context(detail, said))
        flash(said.text, said.tone)
        return see_other(address("deliveries.show", delivery=detail.delivery.id))
    names = ["delivery_card", "delivery_live", "delivery_strip", _journal_part(detail), "say"]
    context = _context(detail) | {"said": said.text, "said_tone": said.tone, "heard": said.text}
    return fragment(*names, status=said.status, target="card", **context)


def _page_context(detail: DeliveryDetail, said: Said) -> dict[str, Any]:
    body = parts().store.events.bodies([detail.delivery.event]).get(detail.delivery.event)
    return _context(detail) | {"payload": body, "said": said.text, "said_tone": said.tone}


def _journal_part(detail: DeliveryDetail) -> str:
    """Only the new lines, where the page's lines are still the first ones of the journal."""
    held = request.args.get("lines", 0, type=int)
    same = telling.fingerprint(detail.journal[:held]) == request.args.get("mark")
    g.first_line = held if same else 0
    return "journal_more" if same else "journal"


def _context(detail: DeliveryDetail) -> dict[str, Any]:
    """Everything the fragments of the page need."""
    g.now = detail.now
    it, endpoint = detail.delivery, detail.endpoint
    last = telling.newest(detail)
    name = endpoint.name if endpoint else "a removed endpoint"
    heading = f"Delivery of {it.type} to {name}"
    query = {
        "rev": it.rev,
        "lines": len(detail.journal),
        "mark": telling.fingerprint(detail.journal),
    }
    live = with_query(address("deliveries.show_live", delivery=it.id), query)
    return {
        "detail": detail,
        "endpoint_name": name,
        "heading": heading,
        "title": f"{heading} – {detail.word} · {g.team.name} · Relay",
        "payload_event": it.event,
        "offer": telling.offer(detail, lambda at: times.clock(at, zone())),
        "diagnosis": telling.diagnosis(detail),
        "last_answer": telling.last_answer(detail),
        "last_attempt": last,
        "limit": telling.attempt_limit(schedule_of(detail), detail),
        "wait": wait_of(detail),
        "strip": telling.drawing(detail),
        "strip_name": telling.drawing_name(detail),
        "fenced_count": sum(row.fenced for row in detail.attempts),
        "open_attempt": detail.attempts[-1].id if detail.attempts else None,
        "live_url": "" if it.state in TERMINAL else live,
        "pace": telling.pace(detail),
        "first": g.get("first_line", 0),
        "heard": telling.outcome_heard(last) if last else "",
    }
