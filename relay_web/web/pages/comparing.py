"""A delivery's attempts, looked at more closely: two side by side, one as a shell command."""

from flask import Response, g, request

from relay_web.domain.endpoint import Endpoint
from relay_web.domain.signing import decode_secret, sign
from relay_web.errors import Gone, NotFound
from relay_web.store.timeline import DeliveryDetail
from relay_web.web import comparing, curl
from relay_web.web.pages import allow, audited
from relay_web.web.pages.deliveries import bp
from relay_web.web.parts import parts
from relay_web.web.render import now, page


@bp.get("/<delivery>/compare")
def compare(delivery: str) -> Response:
    """Attempts `a` and `b` by token; the last two where the address names none."""
    detail = parts().store.timeline.delivery(g.team.id, delivery)
    by_token = {attempt.token: attempt for attempt in detail.attempts}
    if len(by_token) < 2:
        raise NotFound("There is one attempt only, so there is nothing to compare.")
    before, last = sorted(by_token)[-2:]
    a = by_token.get(request.args.get("a", before, type=int))
    b = by_token.get(request.args.get("b", last, type=int))
    if a is None or b is None:
        raise NotFound("This delivery has no such attempt.")
    rows = comparing.rows(a, b)
    return page(
        "compare",
        detail=detail,
        a=a,
        b=b,
        rows=[row for row in rows if row.differs],
        same=[row.name for row in rows if not row.differs],
        body=comparing.body_difference(a, b),
    )


@bp.get("/<delivery>/attempts/<int:token>/curl")
def as_curl(delivery: str, token: int) -> Response:
    """The request as a command: without a signature, or to the person's own machine."""
    return _command(delivery, token, request.args.get("to") == "localhost")


@bp.post("/<delivery>/attempts/<int:token>/curl")
def as_signed_curl(delivery: str, token: int) -> Response:
    """The same with a signature made now: whoever sends it within minutes passes as Relay."""
    allow("secrets")
    audited("delivery.signed_curl", delivery)
    return _command(delivery, token, local=False, signed=True)


def _command(delivery: str, token: int, local: bool, *, signed: bool = False) -> Response:
    detail = parts().store.timeline.delivery(g.team.id, delivery)
    attempt = next((one for one in detail.attempts if one.token == token), None)
    if attempt is None or not attempt.request:
        raise NotFound("This delivery has no such request.")
    event = detail.delivery.event
    body = parts().store.events.bodies([event]).get(event)
    if body is None:
        raise Gone("The payload was removed by the retention rule, so there is no request to copy.")
    url = attempt.request["url"]
    text = curl.command(
        curl.to_localhost(url) if local else url,
        attempt.request["headers"],
        body,
        signed=_signature(detail, body) if signed else (),
    )
    chosen = "signed" if signed else "localhost" if local else "plain"
    return page("curl", detail=detail, attempt=attempt, text=text, chosen=chosen)


def _signature(detail: DeliveryDetail, body: bytes) -> list[tuple[str, str]]:
    endpoint, stamp = detail.endpoint, int(now().timestamp())
    if endpoint is None or endpoint.deleted_at is not None:
        raise Gone("The endpoint was deleted, and its secret with it.")
    signature = sign(_keys(endpoint), detail.delivery.webhook_id, stamp, body)
    return [("webhook-timestamp", str(stamp)), ("webhook-signature", signature)]


def _keys(endpoint: Endpoint) -> list[bytes]:
    sealed = endpoint.live_secrets(now())
    return [decode_secret(parts().vault.open(endpoint.id, one.sealed)) for one in sealed]
