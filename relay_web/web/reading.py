"""From pydantic's findings to Relay's one sentence: the first problem of a model is told."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from relay_web.errors import Invalid

Model = TypeVar("Model", bound=BaseModel)

_SAID: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "missing": lambda _: "This field is required.",
    "extra_forbidden": lambda _: "There is no field of this name; leave it out.",
    "string_type": lambda _: "Send text.",
    "bool_type": lambda _: "Send true or false.",
    "bool_parsing": lambda _: "Send true or false.",
    "int_type": lambda _: "Send a whole number.",
    "int_parsing": lambda _: "Send a whole number.",
    "int_from_float": lambda _: "Send a whole number.",
    "float_type": lambda _: "Send a number.",
    "list_type": lambda _: "Send a list.",
    "tuple_type": lambda _: "Send a list.",
    "dict_type": lambda _: "Send an object.",
    "model_type": lambda _: "Send an object.",
    "string_too_short": lambda ctx: f"Use at least {ctx['min_length']} characters.",
    "string_too_long": lambda ctx: f"Use at most {ctx['max_length']} characters.",
    "too_short": lambda ctx: f"Send at least {ctx['min_length']}.",
    "too_long": lambda ctx: f"Send at most {ctx['max_length']}.",
    "greater_than_equal": lambda ctx: f"Use {ctx['ge']} or more.",
    "less_than_equal": lambda ctx: f"Use {ctx['le']} or less.",
    "enum": lambda ctx: f"Use one of {ctx['expected']}.",
    "literal_error": lambda ctx: f"Use one of {ctx['expected']}.",
}


def read_as(model: type[Model], values: Mapping[str, Any]) -> Model:
    """`values` as `model`; raises `Invalid` naming the first field that is wrong."""
    try:
        return model.model_validate(values)
    except ValidationError as problems:
        first = problems.errors(include_url=False, include_input=False)[0]
        raise Invalid(_sentence(first), field=_path(first)) from None


def checked(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One of Relay's own checks as a validator: its sentence stays, pydantic adds where."""

    def validate(value: Any) -> Any:
        try:
            return check(value)
        except Invalid as refusal:
            said = {"said": refusal.message}
            raise PydanticCustomError("relay", "{said}", said) from None

    return validate


def _sentence(problem: ErrorDetails) -> str:
    said = _SAID.get(problem["type"])
    if said is not None:
        return said(problem.get("ctx", {}))
    return problem["msg"].rstrip(".") + "."


def _path(problem: ErrorDetails) -> str:
    """`filter.state`, `retry_schedule[2]`."""
    path = ""
    for part in problem["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path
