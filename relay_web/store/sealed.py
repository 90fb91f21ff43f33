"""Every stored ciphertext, for changing the key that protects them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """What one endpoint keeps sealed, by its place in the document, as it was at `rev`."""

    endpoint: str
    rev: int
    values: Mapping[str, bytes]


class Sealed:
    """The signing secrets, header credentials and private keys inside `endpoints`."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["endpoints"]

    def endpoints(self) -> Iterator[str]:
        """The id of every endpoint that keeps something sealed; raises `Unavailable`."""
        with database_errors():
            for doc in self._docs.find({"secrets.0": {"$exists": True}}, {"_id": True}):
                yield doc["_id"]

    @database_errors()
    def of(self, endpoint: str) -> Held | None:
        """What this one keeps sealed now, or None once it is deleted."""
        doc = self._docs.find_one({"_id": endpoint, "deleted_at": None})
        if doc is None:
            return None
        values = {f"secrets.{n}.sealed": each["sealed"] for n, each in enumerate(doc["secrets"])}
        for number, (_, value) in enumerate(doc.get("headers", ())):
            if isinstance(value, bytes):
                values[f"headers.{number}.1"] = value
        if "key_pair" in doc:
            values["key_pair.sealed"] = doc["key_pair"]["sealed"]
        return Held(endpoint, doc["rev"], values)

    @database_errors()
    def replace(self, held: Held, fresh: Mapping[str, bytes]) -> bool:
        """Put other ciphertexts in the same places; false if the endpoint changed meanwhile."""
        done = self._docs.update_one(
            {"_id": held.endpoint, "rev": held.rev}, {"$set": dict(fresh), "$inc": {"rev": 1}}
        )
        return done.matched_count == 1
