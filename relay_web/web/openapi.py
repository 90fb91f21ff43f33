"""The OpenAPI 3.1 document, made from the operations and the models that serve them."""

import re
from functools import lru_cache
from typing import Any, Final

from flask import Blueprint, Response, json
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from relay_web import __version__
from relay_web.domain.roles import Deed, scope_for
from relay_web.web.answers import ProblemOut
from relay_web.web.api import OPERATIONS
from relay_web.web.api.operations import PREFIX, Operation

bp = Blueprint("openapi", __name__, url_prefix=PREFIX)

Doc = dict[str, Any]

_PROBLEM: Final = "application/problem+json"
_REF: Final = "#/components/schemas/{model}"
_PARAMETER: Final = re.compile(r"<(\w+)>")
#: What every operation may answer besides its own answer.
_COMMON: Final = {
    "400": "The request cannot be read.",
    "401": "No API key, or one that is not valid.",
    "403": "The key's scope does not cover this.",
    "422": "A field or parameter holds something Relay does not take.",
    "429": "Too many requests; see Retry-After.",
    "503": "The database did not confirm; see Retry-After.",
}
_WITH_BODY: Final = {"413": "The body is too large.", "415": "The body is not JSON in UTF-8."}
_WITH_ID: Final = {"404": "Not in this team, or deleted."}
_UNSAFE: Final = {"409": "The record moved on, or forbids it now.", "410": "Kept no longer."}
_PUBLISH: Final = {"508": "The request is itself a Relay delivery."}


@bp.get("/openapi.json")
def openapi() -> Response:
    """The document. It describes no secret, so it needs no key."""
    return Response(json.dumps(document()), mimetype="application/json")


@lru_cache(maxsize=1)
def document() -> Doc:
    """OpenAPI 3.1 of every operation."""
    references, schemas = _schemas()
    paths: Doc = {}
    for operation in OPERATIONS:
        path = PREFIX + _PARAMETER.sub(r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _described(operation, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Relay",
            "version": __version__,
            "description": "Webhook delivery: at least once, fenced, and visible.",
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


Key = tuple[type[BaseModel], JsonSchemaMode]


def _schemas() -> tuple[dict[Key, Doc], Doc]:
    wanted: list[Key] = [(ProblemOut, "serialization")]
    for operation in OPERATIONS:
        if operation.body is not None:
            wanted.append((operation.body, "validation"))
        if operation.answer is not None:
            wanted.append((operation.answer, "serialization"))
    references, definitions = models_json_schema(
        list(dict.fromkeys(wanted)), by_alias=True, ref_template=_REF
    )
    return {key: references[key] for key in wanted}, definitions.get("$defs", {})


def _described(operation: Operation, references: dict[Key, Doc]) -> Doc:
    described: Doc = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.path.split("/")[1]],
        "description": f"Scope needed: `{scope_for(operation.deed)}`.",
        "parameters": _parameters(operation),
        "responses": _responses(operation, references),
    }
    if operation.body is not None:
        schema = references[(operation.body, "validation")]
        described["requestBody"] = {
            "required": operation.body_required,
            "content": {"application/json": {"schema": schema}},
        }
    return described


def _parameters(operation: Operation) -> list[Doc]:
    found: list[Doc] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(operation.path)
    ]
    if operation.query is not None:
        schema = operation.query.model_json_schema(ref_template=_REF)
        shared = schema.get("$defs", {})
        found += [
            {"name": name, "in": "query", "required": False, "schema": _inlined(shape, shared)}
            for name, shape in schema["properties"].items()
        ]
    if operation.idempotent:
        shape = {"type": "string", "pattern": "^[!-~]([ -~]{0,253}[!-~])?$"}
        found.append(
            {"name": "Idempotency-Key", "in": "header", "required": False, "schema": shape}
        )
    return found


def _inlined(shape: Doc, shared: Doc) -> Doc:
    """A query parameter's schema alone: a missing one is absent, so null is not offered."""
    options = [option for option in shape.get("anyOf", [shape]) if option.get("type") != "null"]
    chosen: Doc = options[0]
    if "$ref" in chosen:
        chosen = shared[chosen["$ref"].rpartition("/")[2]]
    return {key: value for key, value in chosen.items() if key not in ("title", "default")}


def _responses(operation: Operation, references: dict[Key, Doc]) -> Doc:
    answers: Doc = {str(operation.status): {"description": operation.summary}}
    if operation.answer is not None:
        schema = references[(operation.answer, "serialization")]
        answers[str(operation.status)]["content"] = {"application/json": {"schema": schema}}
    if operation.dry_status is not None:
        told = {"description": "What it would do; nothing was changed."}
        answers[str(operation.dry_status)] = answers[str(operation.status)] | told
    problem = {_PROBLEM: {"schema": references[(ProblemOut, "serialization")]}}
    known = dict(_COMMON)
    if "<" in operation.path or (operation.query and "event" in operation.query.model_fields):
        known |= _WITH_ID
    if operation.body is not None:
        known |= _WITH_BODY
    if operation.method != "GET":
        known |= _UNSAFE | _WITH_ID
    if operation.deed is Deed.PUBLISH:
        known |= _PUBLISH
    for status, said in known.items():
        answers[status] = {"description": said, "content": problem}
    return answers
