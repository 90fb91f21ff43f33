"""The documentation at `/docs`: every operation, and programs that publish and verify."""

from dataclasses import dataclass
from typing import Any, Final

from flask import Blueprint, Response, render_template, request

from relay_web.domain.roles import scope_for
from relay_web.web.api import OPERATIONS
from relay_web.web.api.operations import PREFIX, Operation
from relay_web.web.openapi import document
from relay_web.web.parts import parts
from relay_web.web.render import page

bp = Blueprint("docs", __name__)

#: Suffix of the snippet files, and what people call the language.
LANGUAGES: Final = {
    "sh": "Shell", "py": "Python", "mjs": "Node", "rb": "Ruby", "go": "Go", "php": "PHP",
}  # fmt: skip
_AREAS: Final = {
    "events": "Events",
    "endpoints": "Endpoints",
    "deliveries": "Deliveries",
    "bulk-jobs": "Bulk jobs",
    "event-types": "Event types",
    "workers": "Workers",
}


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a body or one parameter, for people."""

    name: str
    place: str
    kind: str
    required: bool


@bp.get("/docs")
def index() -> Response:
    """One page, made from the operations themselves; it needs no sign-in."""
    areas = {
        title: [
            (operation, _members(operation))
            for operation in OPERATIONS
            if operation.path.split("/")[1] == area
        ]
        for area, title in _AREAS.items()
    }
    return page(
        "docs",
        areas=areas,
        prefix=PREFIX,
        scope_for=scope_for,
        languages=LANGUAGES,
        publish={suffix: snippet("publish", suffix) for suffix in LANGUAGES},
        verify={suffix: snippet("verify", suffix) for suffix in LANGUAGES},
    )


def snippet(name: str, suffix: str) -> str:
    """A program ready to run: it publishes to this instance, or verifies what it sends."""
    url = parts().settings.public_url or request.url_root.rstrip("/")
    return render_template(f"snippets/{name}.{suffix}", url=url)


def _members(operation: Operation) -> list[Member]:
    described = document()["paths"][PREFIX + operation.path.replace("<", "{").replace(">", "}")]
    shape = described[operation.method.lower()]
    found = [
        Member(each["name"], each["in"], _kind(each["schema"]), each["required"])
        for each in shape["parameters"]
    ]
    if operation.body is not None:
        schema = operation.body.model_json_schema(by_alias=True)
        required = schema.get("required", ())
        found += [
            Member(name, "body", _kind(each), name in required)
            for name, each in schema.get("properties", {}).items()
        ]
    return found


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words: `text`, `whole number 1–100`, `list of text`."""
    options = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    chosen = options[0] if options else {}
    if "enum" in chosen:
        return "one of " + ", ".join(map(str, chosen["enum"]))
    name = _NAMES.get(chosen.get("type", ""), "any JSON" if not chosen.get("$ref") else "object")
    if chosen.get("type") == "array" and "items" in chosen:
        return f"list of {_kind(chosen['items'])}"
    if chosen.get("format") == "date-time":
        return "time, such as 2026-12-01T14:02:11Z"
    if "minimum" in chosen and "maximum" in chosen:
        return f"{name} {chosen['minimum']:,} to {chosen['maximum']:,}"
    return name


_NAMES: Final = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "object",
}
