"""One decorator makes a route of the API: key, scope, body, query, answer, and its own description.

What it is told is all there is: the OpenAPI document, the isolation tests and the running route
are made from the same `Operation`, so none of them can say something else.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

from flask import Blueprint, Response, request
from pydantic import BaseModel

from relay_web.domain.roles import Deed
from relay_web.errors import BadRequest, Invalid
from relay_web.store.audit import Entry
from relay_web.web import request_body
from relay_web.web.api_auth import Caller, caller
from relay_web.web.json_body import JsonObject, parse_object
from relay_web.web.parts import Parts, parts
from relay_web.web.reading import read_as
from relay_web.web.request_ids import request_id
from relay_web.web.schemas import Query

PREFIX: Final = "/api/v1"

bp = Blueprint("api", __name__, url_prefix=PREFIX)

_IDEMPOTENCY_KEY: Final = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A route as it is run, documented and tested."""

    method: str
    path: str
    #: What a key's scopes must allow.
    deed: Deed
    name: str
    summary: str
    #: The model of the answer; None for an answer without a body.
    answer: Any
    status: int = 200
    #: The status where the body asked for a dry run, if it can.
    dry_status: int | None = None
    body: type[BaseModel] | None = None
    body_required: bool = True
    body_limit: int = request_body.MAX_BODY
    #: The member of the body whose elements are wanted in their own text.
    list_of_objects: str | None = None
    query: type[BaseModel] | None = None
    #: Whether it takes an Idempotency-Key.
    idempotent: bool = False


OPERATIONS: Final[list[Operation]] = []


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one operation, read and checked."""

    caller: Caller
    body: Any
    query: Any
    #: The body's members in their own text; None where the route takes no body.
    sent: JsonObject | None
    #: The Idempotency-Key header, where the operation takes one.
    key: str | None

    @property
    def team(self) -> str:
        return self.caller.team

    @property
    def parts(self) -> Parts:
        return parts()

    def audit(self, action: str, target: str | None = None, **details: str) -> None:
        """Keep who did this. No secret value may be among `details`."""
        self.parts.store.audit.record(
            Entry(
                team=self.team,
                action=action,
                actor=self.caller.key.id,
                who=self.caller.name,
                target=target,
                address=request.remote_addr or "",
                request_id=request_id(),
                details=details,
            )
        )


View = Callable[..., BaseModel | None]


def operation(method: str, path: str, **facts: Any) -> Callable[[View], View]:
    """Serve the view at `method` and `path`; `facts` are the other fields of `Operation`.

    The view gets a `Call` and the ids of the path, and returns an `answer` model, or None for 204.
    Its docstring's first line is the summary.
    """

    def decorate(view: View) -> View:
        summary = (view.__doc__ or "").strip().splitlines()[0]
        made = Operation(method=method, path=path, name=view.__name__, summary=summary, **facts)
        OPERATIONS.append(made)
        bp.add_url_rule(path, view.__name__, _served(made, view), methods=[method])
        return view

    return decorate


def _served(operation: Operation, view: View) -> Callable[..., Response]:
    """The view behind the key, with its request read and its answer written."""

    @wraps(view)
    def serve(**ids: str) -> Response:
        who = caller(operation.deed)
        sent = _sent(operation)
        body = read_as(operation.body, sent.values) if operation.body and sent else None
        key = _key() if operation.idempotent else None
        answer = view(Call(who, body, _query(operation.query), sent, key), **ids)
        dry = operation.dry_status if getattr(body, "dry_run", False) else None
        return _respond(answer, dry or operation.status)

    return serve


def _sent(operation: Operation) -> JsonObject | None:
    if operation.body is None:
        return None
    read = request_body.read(limit=operation.body_limit, required=operation.body_required)
    return parse_object(read or b"{}", list_of_objects=operation.list_of_objects)


def _query(model: type[BaseModel] | None) -> BaseModel:
    given: Mapping[str, list[str]] = request.args.to_dict(flat=False)
    for name, values in given.items():
        if len(values) > 1:
            raise Invalid("Give this parameter once.", field=name)
    return read_as(model or Query, {name: values[0] for name, values in given.items()})


def _key() -> str | None:
    text = request.headers.get("Idempotency-Key")
    if text is None:
        return None
    if not _IDEMPOTENCY_KEY.fullmatch(text):
        raise BadRequest(
            "Use an Idempotency-Key of 1 to 255 printable ASCII characters.",
            field="Idempotency-Key",
            code="bad_idempotency_key",
        )
    return text


def _respond(answer: BaseModel | None, status: int) -> Response:
    if answer is None:
        return Response(status=204)
    text = answer.model_dump_json(by_alias=True)
    return Response(text, status, mimetype="application/json")
