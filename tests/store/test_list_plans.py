"""Every filter that the list of deliveries offers, and pairs of them, read an index in its order.

The needle is rare and older than everything else, so a plan that walks the newest rows shows.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest

from relay_web.clock import base62, utcnow
from relay_web.domain.causes import CodeClass
from relay_web.domain.delivery import Word
from relay_web.store import Store
from relay_web.store.filtering import Filters, query_of
from tests.factories import TEAM, make_endpoint

Doc = dict[str, Any]

HAY = 3_000
#: What a page of one needle may look at; the planner tries a few rows of every index first.
LOOKED_AT = 500

#: Each finds the needle and nothing of the hay.
RARE: Mapping[str, Filters] = {
    "failed": Filters(words=frozenset({Word.FAILED})),
    "undelivered": Filters(words=frozenset({Word.FAILED, Word.CANCELLED, Word.HELD})),
    "type": Filters(type="user.merged"),
    "cause": Filters(cause="gone"),
    "4xx": Filters(code=CodeClass.CLIENT_ERROR),
    "lost": Filters(lost=True),
    "resent": Filters(resent=True),
    "typed": Filters(type_prefix="user"),
    "key": Filters(type_prefix="order-17"),
    "id": Filters(id_prefix=f"dlv_{base62(1, 8)}"),
}


@pytest.fixture
def haystack(store: Store) -> Iterator[Store]:
    """Thousands delivered at the first attempt, and one old delivery with everything wrong."""
    endpoint = make_endpoint(store)
    now = utcnow()

    def doc(number: int, at: int, **changes: Any) -> Doc:
        stem = f"{base62(at, 8)}{base62(number, 12)}"
        return {
            "_id": f"dlv_{stem}{endpoint.id[3:]}", "team": TEAM, "event": f"msg_{stem}",
            "webhook_id": f"msg_{stem}", "endpoint": endpoint.id, "type": "invoice.paid",
            "state": "delivered", "lease_token": 1, "tries": 1, "round_tries": 1, "unresolved": 0,
            "lost": [], "rev": 2, "actions": [], "trigger": "schedule", "created_at": now,
            "last": {"status": 200, "cause": None, "at": now, "lease_id": "l", "rule": ""},
        } | changes  # fmt: skip

    needle = doc(
        0, 1, type="user.merged", state="failed",
        last={"status": 410, "cause": "gone", "at": now, "lease_id": "l", "rule": ""},
        lost=[{"token": 1}], actions=[{"id": "a"}],
    )  # fmt: skip
    store.events.add(
        [{"_id": needle["event"], "team": TEAM, "idempotency_key": "order-17", "created_at": now}]
    )
    store.deliveries.open([needle, *(doc(i, 1_000_000 + i) for i in range(1, HAY))])
    yield store


def _plan(store: Store, filters: Filters) -> Doc:
    query = query_of(store.db, TEAM, filters, {})
    found = store.db.deliveries.find(query).sort("_id", -1).limit(51)
    stats: Doc = found.explain()["executionStats"]
    return stats


def _both(first: Filters, second: Filters) -> Filters:
    default = Filters()
    parts = {
        name: getattr(side, name)
        for side in (first, second)
        for name in Filters.__dataclass_fields__
        if getattr(side, name) != getattr(default, name)
    }
    return Filters(**parts)


def _stages(plan: Doc) -> Iterator[str]:
    yield plan["stage"]
    for inner in (plan.get("inputStage"), *plan.get("inputStages", ())):
        if inner:
            yield from _stages(inner)


@pytest.mark.parametrize("name", RARE)
def test_a_rare_match_is_found_without_walking_the_others(haystack: Store, name: str) -> None:
    stats = _plan(haystack, RARE[name])
    assert stats["nReturned"] == 1
    assert stats["totalDocsExamined"] <= LOOKED_AT
    assert not {"COLLSCAN", "SORT"} & set(_stages(stats["executionStages"]))


def test_so_is_every_pair_of_filters(haystack: Store) -> None:
    slow = []
    for (one, first), (other, second) in combinations(RARE.items(), 2):
        stats = _plan(haystack, _both(first, second))
        if stats["totalDocsExamined"] > LOOKED_AT or {"COLLSCAN", "SORT"} & set(
            _stages(stats["executionStages"])
        ):
            slow.append(f"{one} and {other}: {stats['totalDocsExamined']} looked at")
    assert not slow


def test_a_state_narrowed_by_time_keeps_the_order_of_its_index(haystack: Store) -> None:
    words = frozenset({Word.FAILED, Word.SENDING, Word.QUEUED})
    stats = _plan(haystack, Filters(words=words, until=utcnow()))
    assert stats["nReturned"] == 1
    assert stats["totalDocsExamined"] <= LOOKED_AT
