"""Work to measure with: endpoints, and waiting deliveries by the thousand or by the million.

A delivery and its event are copied from a pair that Relay itself accepted, under new ids, so they
have its shape, whatever that is. They are inserted with w:1: this is not what is measured.
"""

import secrets
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any, Final

from pymongo.write_concern import WriteConcern

from relay_web.clock import base62, new_id, utcnow
from relay_web.domain.endpoint import Endpoint, SealedSecret
from relay_web.domain.event import Publish
from relay_web.domain.signing import new_secret
from relay_web.domain.vault import Vault
from relay_web.engine.intake import Intake
from relay_web.store import Store

Doc = dict[str, Any]

TEAM: Final = "team_000000000000000bench"
TYPE: Final = "bench.event"
_BATCH: Final = 2000


def payload(size: int) -> bytes:
    """JSON such that the whole body that is sent has about `size` bytes."""
    return b'{"filling":"' + b"x" * (size - 90) + b'"}'


def endpoints(
    store: Store, vault: Vault, base: str, count: int, *, path: str = "ok", **changes: Any
) -> list[Endpoint]:
    """`count` signed endpoints at the receiver `base`, each with a path of its own."""
    now = utcnow()
    made = []
    for number in range(count):
        name = new_id("ep")
        secret = SealedSecret(new_id("sec"), vault.seal(name, new_secret()), now)
        fields: dict[str, Any] = {
            "id": name, "team": TEAM, "url": f"{base}/{path}/{number}", "name": f"Bench {number}",
            "created_at": now, "state_since": now, "secrets": (secret,),
        }  # fmt: skip
        made.append(Endpoint(**fields | changes))
    store.db.endpoints.insert_many([endpoint.to_doc() for endpoint in made])
    return made


class Seeder:
    """Copies of one accepted event and its delivery."""

    def __init__(self, store: Store, team: str = TEAM, size: int = 1024) -> None:
        """Accept one event of `size` bytes to learn the shape; nothing of it stays."""
        self._team = team
        self._events = store.db.events.with_options(write_concern=WriteConcern(w=1, j=False))
        self._deliveries = store.db.deliveries.with_options(
            write_concern=self._events.write_concern
        )
        probe = Endpoint(
            id=new_id("ep"), team="team_shape", url="http://127.0.0.1:9/", name="shape",
            created_at=utcnow(), state_since=utcnow(),
        )  # fmt: skip
        store.db.endpoints.insert_one(probe.to_doc())
        wish = Publish(type=TYPE, data=payload(size), only_endpoint=probe.id)
        accepted = Intake(store).accept(probe.team, wish)
        self._event: Doc = store.db.events.find_one_and_delete({"_id": accepted.event}) or {}
        self._delivery: Doc = (
            store.db.deliveries.find_one_and_delete({"event": accepted.event}) or {}
        )
        store.db.endpoints.delete_one({"_id": probe.id})

    def deliveries(self, targets: Sequence[str], count: int) -> None:
        """`count` due deliveries, each with its own event, dealt out over the endpoints."""
        for pairs in _batches(self._pairs(targets, count)):
            self._events.insert_many([event for event, _ in pairs], ordered=False)
            self._deliveries.insert_many([delivery for _, delivery in pairs], ordered=False)

    def backlog(self, targets: Sequence[str], count: int, **changes: Any) -> None:
        """The same, but all of one event: for deliveries that wait and are hardly ever sent."""
        event, _ = next(self._pairs(targets, 1))
        self._events.insert_one(event)
        shared = {"event": event["_id"], "webhook_id": event["_id"], **changes}
        docs = (delivery | shared for _, delivery in self._pairs(targets, count))
        for batch in _batches(docs):
            self._deliveries.insert_many(batch, ordered=False, bypass_document_validation=True)

    def _pairs(self, targets: Sequence[str], count: int) -> Iterator[tuple[Doc, Doc]]:
        now = utcnow()
        stem = base62(time.time_ns() // 1_000_000, 8) + secrets.token_hex(2)
        for number, target in enumerate(islice(cycle(targets), count)):
            tail = f"{stem}{number:08d}"
            event = f"msg_{tail}"
            accepted: Doc = {"_id": event, "team": self._team, "created_at": now}
            due: Doc = {
                "_id": f"dlv_{tail}{target[3:]}", "team": self._team, "event": event,
                "webhook_id": event, "endpoint": target, "lane": target,
                "due_at": now, "created_at": now,
            }  # fmt: skip
            yield self._event | accepted | {"targets": [target]}, self._delivery | due


def _batches(items: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(items, _BATCH)):
        yield batch
