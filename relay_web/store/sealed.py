"""Every stored ciphertext, for changing the key that protects them."""

from collections.abc import Iterator
from typing import Any

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]


class Sealed:
    """The encrypted secrets inside `endpoints`."""

    def __init__(self, db: Database[Doc]) -> None:
        self._docs = db["endpoints"]

    def all(self) -> Iterator[tuple[str, str, bytes]]:
        """Endpoint id, secret id and ciphertext of every secret there is; raises `Unavailable`."""
        with database_errors():
            for doc in self._docs.find({"secrets.0": {"$exists": True}}, {"secrets": True}):
                for secret in doc["secrets"]:
                    yield doc["_id"], secret["id"], secret["sealed"]

    @database_errors()
    def replace(self, endpoint: str, secret: str, before: bytes, after: bytes) -> bool:
        """Put one ciphertext in place of another; false if it changed meanwhile."""
        one = {"id": secret, "sealed": before}
        done = self._docs.update_one(
            {"_id": endpoint, "secrets": {"$elemMatch": one}},
            {"$set": {"secrets.$.sealed": after}, "$inc": {"rev": 1}},
        )
        return done.matched_count == 1
