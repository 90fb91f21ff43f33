"""What somebody did, in words: rows of the audit log as pages about other things tell them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from flask import g

from relay_web.store.audit import Entry
from relay_web.web.parts import parts
from relay_web.web.render import address

#: Actions on what is sent, and the words after the name of who did it.
_SAID: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bulk.started": "started a bulk job",
        "bulk.stopped": "stopped a bulk job",
        "delivery.cancelled": "cancelled a delivery",
        "delivery.retried": "sent a delivery again",
        "delivery.taken_over": "took a delivery over",
        "endpoint.created": "registered",
        "endpoint.deleted": "deleted",
        "endpoint.edited": "edited",
        "endpoint.paused": "paused",
        "endpoint.resumed": "resumed",
        "endpoint.secret_ended": "ended an old secret of",
        "endpoint.secret_revealed": "revealed the secret of",
        "endpoint.secret_rotated": "rotated the secret of",
        "endpoint.tested": "sent a test event to",
        "event.replayed": "sent an event again",
    }
)
#: Of the newest entries, how many are looked through.
_LOOKED_AT: Final = 50


@dataclass(frozen=True, slots=True)
class Done:
    """Who did what, and when; `name` and `url` are of what it was done to."""

    at: datetime
    who: str
    words: str
    name: str
    url: str


def recent(names: Mapping[str, str], *, target: str | None = None, most: int = 6) -> list[Done]:
    """The team's newest actions, or those on one endpoint; `names` are the endpoints' by id."""
    found = parts().store.audit.list(g.team.id, target=target, limit=_LOOKED_AT).items
    return list(_told(found, names))[:most]


def _told(entries: Iterable[Entry], names: Mapping[str, str]) -> Iterable[Done]:
    for entry in entries:
        if entry.action in _SAID:
            name, url = _place(entry.target or "", names)
            yield Done(entry.at, entry.who, _SAID[entry.action], name, url)


def _place(target: str, names: Mapping[str, str]) -> tuple[str, str]:
    kind = target.partition("_")[0]
    match kind:
        case "ep":
            known = target in names
            url = address("endpoints.show", endpoint_id=target) if known else ""
            return names.get(target, "an endpoint that is gone"), url
        case "dlv":
            return "see it", address("deliveries.show", delivery=target)
        case "msg":
            return "see it", address("events.show", event=target)
        case "job":
            return "see it", address("bulk.show", job=target)
    return "", ""
