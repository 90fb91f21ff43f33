"""Ids that are made of others are found by how they begin, with the `_id` index alone."""

import re
from collections.abc import Iterable
from typing import Any


def beginning_with(stems: Iterable[str]) -> dict[str, Any]:
    """Filter for every `_id` that begins with one of `stems`: one scan, an interval for each."""
    return {"_id": {"$in": [re.compile(f"^{re.escape(stem)}") for stem in stems]}}
