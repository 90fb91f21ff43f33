"""A command listener that fails the run for any write to `deliveries` without its guard.

Every update that Relay sends is one of four shapes: the claim (live and due), the holder's word
(state, token and lease id), a person's compare-and-set (state and token as seen), an insert of a
new one. What a test does to the database by hand carries the comment `BY_HAND`.
"""

from typing import Any, Final

import pymongo.monitoring

Doc = dict[str, Any]

BY_HAND: Final = "test: by hand"

_CLAIM: Final = frozenset({"_id", "state", "$expr"})
_HOLDER: Final = frozenset({"_id", "state", "lease_token", "lease.id"})
_PERSON: Final = frozenset({"_id", "team", "state", "lease_token"})
_ACTION: Final = _PERSON | {"actions.id"}
_SHAPES: Final = (_CLAIM, _HOLDER, _PERSON, _ACTION)
_DUE: Final = {"$lte": ["$due_at", "$$NOW"]}


def fault(command: Doc) -> str | None:
    """What is wrong with this database command, or None."""
    name = next(iter(command))
    if command[name] != "deliveries" or command.get("comment") == BY_HAND:
        return None
    if name == "update":
        return next(filter(None, map(_unguarded, command["updates"])), None)
    if name in ("findAndModify", "delete"):
        return f"{name} on deliveries: no transition does that"
    return None


def _unguarded(update: Doc) -> str | None:
    query = update["q"]
    if frozenset(query) not in _SHAPES:
        return f"update of deliveries with the filter {sorted(query)}"
    if "$expr" in query and query["$expr"] != _DUE:
        return f"a claim that does not ask whether it is due: {query['$expr']}"
    if update.get("upsert"):
        return "upsert of a delivery"
    return None


class Guard(pymongo.monitoring.CommandListener):
    """Collects the faults of a whole run."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.checked = 0

    def started(self, event: pymongo.monitoring.CommandStartedEvent) -> None:
        if event.command_name in ("update", "findAndModify", "delete"):
            self.checked += 1
            problem = fault(dict(event.command))
            if problem:
                self.faults.append(problem)

    def succeeded(self, event: pymongo.monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: pymongo.monitoring.CommandFailedEvent) -> None: ...
