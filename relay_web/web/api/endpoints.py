"""Endpoints: registering, changing, holding, testing, and bringing back what they missed."""

from datetime import timedelta

from relay_web.domain.roles import Deed
from relay_web.engine import registration
from relay_web.engine.trial import send_test
from relay_web.web.answers import AcceptedOut, EndpointCreated, EndpointOut, PageOut
from relay_web.web.api.answering import endpoint_created, endpoint_out
from relay_web.web.api.operations import Call, operation
from relay_web.web.schemas import (
    EndpointIn,
    EndpointPatch,
    PageQuery,
    RotateIn,
    TrialIn,
)


@operation("GET", "/endpoints", deed=Deed.SEE, query=PageQuery, answer=PageOut[EndpointOut])
def list_endpoints(call: Call) -> PageOut[EndpointOut]:
    """List endpoints, newest first."""
    query: PageQuery = call.query
    page = call.parts.store.endpoints.list(call.team, after=query.after, limit=query.limit)
    items = [endpoint_out(endpoint) for endpoint in page.items]
    return PageOut[EndpointOut](items=items, next=page.next)


@operation(
    "POST", "/endpoints", deed=Deed.EDIT, body=EndpointIn, answer=EndpointCreated, status=201,
    idempotent=True,
)  # fmt: skip
def create_endpoint(call: Call) -> EndpointCreated:
    """Register an endpoint. Its secret is shown in this answer only."""
    draft = registration.Draft(**call.body.model_dump())
    parts = call.parts
    made = registration.register(
        parts.store, parts.vault, parts.policy, call.team, draft, action_id=call.key
    )
    call.audit("endpoint.created", made.endpoint.id, url=made.endpoint.url)
    twins = parts.store.endpoints.same_url(call.team, made.endpoint.url) > 1
    warnings = ["Another endpoint of this team sends to the same URL."] if twins else []
    return endpoint_created(made.endpoint, made.secret, warnings)


@operation("GET", "/endpoints/<endpoint_id>", deed=Deed.SEE, answer=EndpointOut)
def get_endpoint(call: Call, endpoint_id: str) -> EndpointOut:
    """Show one endpoint."""
    return endpoint_out(call.parts.store.endpoints.get(call.team, endpoint_id))


@operation(
    "PATCH", "/endpoints/<endpoint_id>", deed=Deed.EDIT, body=EndpointPatch, answer=EndpointOut
)
def edit_endpoint(call: Call, endpoint_id: str) -> EndpointOut:
    """Change what the body names and nothing else."""
    changes = call.body.model_dump(exclude_unset=True)
    rev = changes.pop("rev", None)
    parts = call.parts
    endpoint = registration.edit(
        parts.store, parts.vault, parts.policy, call.team, endpoint_id, changes, rev=rev
    )
    call.audit("endpoint.edited", endpoint_id, fields=" ".join(sorted(changes)))
    return endpoint_out(endpoint)


@operation("DELETE", "/endpoints/<endpoint_id>", deed=Deed.SECRETS, answer=None, status=204)
def delete_endpoint(call: Call, endpoint_id: str) -> None:
    """Delete an endpoint; what waits for it is cancelled."""
    call.parts.store.endpoints.mark_deleted(call.team, endpoint_id)
    call.audit("endpoint.deleted", endpoint_id)


@operation("POST", "/endpoints/<endpoint_id>/pause", deed=Deed.OPERATE, answer=EndpointOut)
def pause_endpoint(call: Call, endpoint_id: str) -> EndpointOut:
    """Hold an endpoint's deliveries; nothing is lost."""
    endpoint = call.parts.store.endpoints.pause(call.team, endpoint_id, call.caller.name)
    call.audit("endpoint.paused", endpoint_id)
    return endpoint_out(endpoint)


@operation("POST", "/endpoints/<endpoint_id>/resume", deed=Deed.OPERATE, answer=EndpointOut)
def resume_endpoint(call: Call, endpoint_id: str) -> EndpointOut:
    """Send an endpoint's deliveries again, the oldest first."""
    endpoint = call.parts.store.endpoints.resume(call.team, endpoint_id, call.caller.name)
    call.audit("endpoint.resumed", endpoint_id)
    return endpoint_out(endpoint)


@operation(
    "POST", "/endpoints/<endpoint_id>/test", deed=Deed.OPERATE, body=TrialIn, body_required=False,
    answer=AcceptedOut, status=202, idempotent=True,
)  # fmt: skip
def try_endpoint(call: Call, endpoint_id: str) -> AcceptedOut:
    """Send a test event to one endpoint, whatever it subscribes to."""
    parts = call.parts
    sent = send_test(
        parts.store, parts.intake, call.team, endpoint_id,
        event_type=call.body.type, action_id=call.key,
    )  # fmt: skip
    call.audit("endpoint.tested", endpoint_id, event=sent.id)
    return AcceptedOut(
        id=sent.id, type=sent.type, deliveries=sent.deliveries, duplicate=sent.duplicate
    )


@operation(
    "POST", "/endpoints/<endpoint_id>/rotate-secret", deed=Deed.SECRETS, body=RotateIn,
    body_required=False, answer=EndpointCreated,
)  # fmt: skip
def rotate_secret(call: Call, endpoint_id: str) -> EndpointCreated:
    """Replace the signing secret; old ones also sign until the overlap ends."""
    parts = call.parts
    endpoint, secret = registration.rotate_secret(
        parts.store, parts.vault, call.team, endpoint_id,
        overlap=timedelta(seconds=call.body.overlap), secret=call.body.secret,
    )  # fmt: skip
    call.audit("endpoint.secret_rotated", endpoint_id, overlap=str(call.body.overlap))
    return endpoint_created(endpoint, secret)
