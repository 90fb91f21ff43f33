"""The schemas of event types as a publish meets them: compiled once, at most two seconds old."""

import json
import time
from collections.abc import Mapping
from typing import Any, Final

from relay_web.domain.json_schema import DataRule
from relay_web.store.event_types import EventTypes

FRESH: Final = 2.0
_REMEMBERED: Final = 1000


class EventSchemas:
    """Checks `data` against the schema of its type, where the team gave one. One per process."""

    def __init__(self, types: EventTypes) -> None:
        self._types = types
        self._seen: dict[str, tuple[Mapping[str, str], float]] = {}
        self._compiled: dict[str, DataRule] = {}

    def check(self, team: str, event_type: str, data: Any) -> None:
        """Raises `Invalid` naming the place in `data`, or `Unavailable`."""
        text = self._schemas(team).get(event_type)
        if text is None:
            return
        if text not in self._compiled:
            if len(self._compiled) >= _REMEMBERED:
                self._compiled.clear()
            self._compiled[text] = DataRule(json.loads(text))
        self._compiled[text].check(data)

    def _schemas(self, team: str) -> Mapping[str, str]:
        now = time.monotonic()
        found = self._seen.get(team)
        if found is None or now - found[1] > FRESH:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            found = self._seen[team] = (self._types.schemas(team), now)
        return found[0]
