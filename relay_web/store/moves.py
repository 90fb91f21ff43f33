"""The transitions of `domain.delivery` as MongoDB filters and update pipelines. No writes here.

All times come from the database (`$$NOW`), added up in the pipeline, so that N worker clocks
become one. `$$NOW` can step at a failover: a lease gets longer or shorter, no fence is void.
"""

from collections.abc import Sequence
from typing import Any, Final

from relay_web.domain.delivery import Claim, Delivery
from relay_web.domain.policy import Kind, Verdict

Doc = dict[str, Any]
Pipeline = list[Doc]

NOW: Final = "$$NOW"
_KEPT_ACTIONS: Final = 100
_LEASE_KEYS: Final = ["lease"]
_LANE_KEYS: Final = ["lane", "due_at", "lease", "slot", "retry_now", "once"]


def due(ids: Sequence[str]) -> Doc:
    """Filter of claim and reclaim: live, and due. The lapse of a lease is its guard."""
    return {
        "_id": {"$in": list(ids)},
        "state": {"$in": ["pending", "leased"]},
        "$expr": {"$lte": ["$due_at", NOW]},
    }


def held_by(claims: Sequence[Claim]) -> Doc:
    """The holder guard, for claims of one token and one lease id.

    The random lease id stands beside the token because a claim that a failover rolled back can
    give two owners the same token (measured, reliability M5).
    """
    first = claims[0]
    only = first.delivery if len(claims) == 1 else {"$in": [claim.delivery for claim in claims]}
    return {
        "_id": only,
        "state": "leased",
        "lease_token": first.lease_token,
        "lease.id": first.lease_id,
    }


def seen(delivery: Delivery, action: str | None) -> Doc:
    """A person's compare-and-set: exactly what they were shown, and this action not yet done."""
    guard: Doc = {
        "_id": delivery.id,
        "team": delivery.team,
        "state": delivery.state,
        "lease_token": delivery.lease_token,
    }
    return guard | ({"actions.id": {"$ne": action}} if action else {})


def later(seconds: float) -> Doc:
    return {"$dateAdd": {"startDate": NOW, "unit": "millisecond", "amount": round(seconds * 1000)}}


def _plus(key: str, amount: int) -> Doc:
    return {"$add": [f"${key}", amount]}


def _with_loss(why: str) -> Doc:
    """`lost`, plus the lease (if one is held) that ends here without its holder's word."""
    entry = {
        "token": "$lease_token",
        "worker": "$lease.worker",
        "lease_id": "$lease.id",
        "granted_at": "$lease.granted_at",
        "at": NOW,
        "why": why,
    }
    held = {"$eq": ["$state", "leased"]}
    return {"$cond": [held, {"$concatArrays": ["$lost", [entry]]}, "$lost"]}


def claim(lease_id: str, worker: str, seconds: float, *, ordered: bool) -> Pipeline:
    """pending → leased, or leased → leased with the old owner in `lost`; token + 1."""
    change: Doc = {
        "lost": _with_loss("expired"),
        "state": "leased",
        "lease_token": _plus("lease_token", 1),
        "lease": {"id": lease_id, "worker": worker, "granted_at": NOW},
        "due_at": later(seconds),
        "unresolved": _plus("unresolved", 1),
        "rev": _plus("rev", 1),
    }
    if ordered:
        change["slot"] = "$lane"
    return [{"$set": change}]


def _outcome(verdict: Verdict, lease_id: str) -> Doc:
    return {
        "tries": _plus("tries", 1 if verdict.sent else 0),
        "round_tries": _plus("round_tries", 1 if verdict.counts else 0),
        "unresolved": 0,
        "trigger": "schedule",
        "rev": _plus("rev", 1),
        "last": {
            "status": verdict.status,
            "cause": verdict.cause,
            "at": NOW,
            "lease_id": lease_id,
            "rule": verdict.rule,
        },
    }


def commit(verdict: Verdict, lease_id: str, retention: float) -> Pipeline:
    """The holder's word: leased → delivered, pending or failed. The token stays."""
    if verdict.kind is Kind.RELEASE:
        back = {
            "state": "pending",
            "due_at": later(verdict.delay),
            "unresolved": {"$max": [0, _plus("unresolved", -1)]},
            "rev": _plus("rev", 1),
        }
        return [{"$set": back}, {"$unset": _LEASE_KEYS}]
    change = _outcome(verdict, lease_id)
    if verdict.kind is Kind.RETRY:
        wait = {"$cond": ["$retry_now", NOW, later(verdict.delay)]}
        change |= {"state": "pending", "due_at": wait, "retry_now": False}
        return [{"$set": change}, {"$unset": _LEASE_KEYS}]
    ended: Doc = {"state": verdict.kind.value, "finished_at": NOW, "expire_at": later(retention)}
    if verdict.kind is not Kind.FAILED:
        return [{"$set": change | ended}, {"$unset": _LANE_KEYS}]
    return _give_up(change, ended)


def _give_up(change: Doc, ended: Doc) -> Pipeline:
    """leased → failed, unless a person asked for another attempt while this one was under way."""
    asked = {"$eq": ["$retry_now", True]}
    gone: Doc = {key: {"$cond": [asked, f"${key}", "$$REMOVE"]} for key in ("lane", "slot")}
    for key, value in ended.items():
        gone[key] = {"$cond": [asked, "pending" if key == "state" else "$$REMOVE", value]}
    gone["due_at"] = {"$cond": [asked, NOW, "$$REMOVE"]}
    gone["once"] = asked
    gone["trigger"] = {"$cond": [asked, "manual", "schedule"]}
    gone["retry_now"] = False
    return [{"$set": change | gone}, {"$unset": _LEASE_KEYS}]


def _acted(action_id: str, kind: str, by: str, *, bump: int) -> Doc:
    token = _plus("lease_token", bump)
    entry = {
        "id": {"$literal": action_id},
        "kind": kind,
        "by": {"$literal": by},
        "at": NOW,
        "token": token,
    }
    every = {"$concatArrays": ["$actions", [entry]]}
    return {
        "actions": {"$slice": [every, -_KEPT_ACTIONS]},
        "lease_token": token,
        "rev": _plus("rev", 1),
    }


def _joined(job: str | None) -> Doc:
    """The bulk jobs that sent it again; the field is absent where there are none."""
    if job is None:
        return {}
    return {"jobs": {"$setUnion": [{"$ifNull": ["$jobs", []]}, [job]]}}


def retry_now(action_id: str, by: str, trigger: str, *, job: str | None = None) -> Pipeline:
    """pending → pending, due at once."""
    change = _acted(action_id, "retry", by, bump=1) | _joined(job)
    return [{"$set": change | {"due_at": NOW, "trigger": trigger}}]


def ask_while_sending(action_id: str, by: str) -> Pipeline:
    """leased → leased: the holder keeps its right; a failure is followed by an attempt at once."""
    return [{"$set": _acted(action_id, "retry", by, bump=0) | {"retry_now": True}}]


def revive(
    action_id: str, by: str, trigger: str, *, restart: bool, job: str | None = None
) -> Pipeline:
    """terminal → pending. Without `restart`, one attempt; with it, the schedule from its start."""
    change = _acted(action_id, "retry", by, bump=1) | _joined(job)
    change |= {
        "state": "pending",
        "lane": "$endpoint",
        "due_at": NOW,
        "trigger": trigger,
        "once": not restart,
        "unresolved": 0,
    }
    if restart:
        change["round_tries"] = 0
    # Expiry leaves in the same update: retention must never reach what is alive (I12).
    return [{"$set": change}, {"$unset": ["finished_at", "expire_at"]}]


def take_over(action_id: str, by: str) -> Pipeline:
    """leased → pending, due at once: the holder is fenced from here on."""
    change = _acted(action_id, "take over", by, bump=1)
    change |= {"lost": _with_loss("taken over"), "state": "pending", "due_at": NOW}
    return [{"$set": change}, {"$unset": _LEASE_KEYS}]


def cancel(action_id: str, by: str, retention: float, *, why: str = "cancelled") -> Pipeline:
    """pending or leased → cancelled; a request already under way may still arrive."""
    change = _acted(action_id, "cancel", by, bump=1) | {
        "lost": _with_loss(why),
        "state": "cancelled",
        "finished_at": NOW,
        "expire_at": later(retention),
    }
    return [{"$set": change}, {"$unset": _LANE_KEYS}]
