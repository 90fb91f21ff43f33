"""Reading a form: every field once, all of its problems told together."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from flask import Flask, request

from relay_web.errors import BadRequest, Invalid

#: Fields that may come several times: the ticked boxes of a list.
REPEATED: Final = frozenset({"id", "ids", "scope", "state"})


#: Bytes of a whole form (reliability W20); the API sets its own limits.
MAX_FORM: Final = 64 * 1024


def register(app: Flask) -> None:
    """Limit and check every form before anything reads it."""
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM
    app.before_request(_refuse_odd_fields)


def _refuse_odd_fields() -> None:
    """No form of ours sends a field twice or a name such as `a[$ne]` (reliability B70, W12)."""
    if request.mimetype not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return
    for name, values in request.form.lists():
        if (len(values) > 1 and name not in REPEATED) or "[" in name or "$" in name:
            raise BadRequest("This form was sent in a way that Relay's own page does not send it.")


def collect(checks: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Run a check for each field: what passed by name, and the sentence for each that did not."""
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, check in checks.items():
        try:
            values[name] = check()
        except Invalid as refused:
            errors[name] = refused.message
    return values, errors


def typed(name: str, longest: int = 300) -> str:
    """What was typed into a field, cut so that it can be shown again."""
    return request.form.get(name, "")[:longest]
