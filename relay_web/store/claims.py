"""From a stored delivery that was just claimed to the claim on it."""

from typing import Any, Final

from relay_web.domain.delivery import Claim

Doc = dict[str, Any]

#: What a claim is made of; of the losses, only the one that this claim may have caused.
CLAIM_FIELDS: Final[Doc] = dict.fromkeys(
    (
        "team", "event", "webhook_id", "endpoint", "type", "lease_token", "lease",
        "tries", "round_tries", "unresolved", "trigger", "once",
    ),
    True,
) | {"lost": {"$slice": -1}, "losses": {"$size": "$lost"}}  # fmt: skip


def claim_of(doc: Doc, ends: float) -> Claim:
    """`ends` is the CLOCK_BOOTTIME second at which it must be taken as over."""
    lease = doc["lease"]
    return Claim(
        doc["_id"], doc["team"], doc["event"], doc["webhook_id"], doc["endpoint"], doc["type"],
        doc["lease_token"], lease["id"], lease["worker"], lease["granted_at"],
        doc["tries"], doc["round_tries"], doc["unresolved"], doc["trigger"],
        doc.get("once", False), doc["losses"], _taken_from(doc), ends,
    )  # fmt: skip


def _taken_from(doc: Doc) -> str | None:
    """The claim and the loss it caused carry the same database time."""
    losses = [loss for loss in doc["lost"] if loss["at"] == doc["lease"]["granted_at"]]
    return losses[0]["worker"] if losses else None
