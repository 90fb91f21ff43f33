"""JSON Schemas of event types: compiled without ever fetching anything."""

from typing import Any, Final

import jsonschema_rs

from relay_web.errors import Invalid

Schema = dict[str, Any] | bool


class DataRule:
    """A compiled schema that `data` of one event type must satisfy."""

    def __init__(self, schema: Schema) -> None:
        """Raises `Invalid` for a schema that is not one, or that refers to another address."""
        try:
            self._validator = jsonschema_rs.validator_for(
                schema,
                offline=True,
                # Linear in the text: a pattern of a team's own cannot hold the process.
                pattern_options=jsonschema_rs.RegexOptions(),
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise Invalid(
                f"Not a JSON Schema that Relay can use on its own: {_first_line(error)}.",
                field="schema",
            ) from None

    def check(self, data: Any) -> None:
        """Raises `Invalid` naming the place in `data` that does not fit."""
        try:
            self._validator.validate(data)
        except jsonschema_rs.ValidationError as error:
            raise Invalid(
                f"Does not fit the type's schema: {_first_line(error)}.",
                field=_place(error.instance_path),
                code="schema_mismatch",
            ) from None


_SHOWN: Final = 200


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:_SHOWN].rstrip(".")


def _place(path: list[str | int]) -> str:
    """`data.items[2].price`"""
    return "data" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
