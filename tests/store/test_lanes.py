"""Discovery reads one key a lane, and finds exactly the lanes that have live deliveries."""

from relay_web.domain.policy import Verdict
from relay_web.store import Store
from relay_web.store.deliveries import Result
from tests.factories import claim, make_delivery, make_endpoint, publish


def test_heads_are_the_earliest_due_time_of_each_live_lane(store: Store) -> None:
    first = make_delivery(store)
    make_delivery(store, store.endpoints.get(first.team, first.endpoint))
    other = make_delivery(store)
    ended = claim(store, make_delivery(store))
    store.deliveries.commit([Result(ended, Verdict.delivered(200))])

    assert store.lanes.heads() == {first.endpoint: first.due_at, other.endpoint: other.due_at}


def test_discovery_does_not_read_a_backlog(store: Store) -> None:
    """The plan is a distinct scan: keys read grow with lanes, not with what waits in them."""
    for _ in range(3):
        make_endpoint(store)
    for _ in range(30):
        publish(store)
    steps = [
        {"$sort": {"lane": 1, "due_at": 1}},
        {"$group": {"_id": "$lane", "due_at": {"$first": "$due_at"}}},
    ]
    plan = store.db.command(
        "explain",
        {"aggregate": "deliveries", "pipeline": steps, "hint": "lane_due_at", "cursor": {}},
        verbosity="executionStats",
    )
    assert "DISTINCT_SCAN" in str(plan)
    stats = (
        plan["stages"][0]["$cursor"]["executionStats"]
        if "stages" in plan
        else plan["executionStats"]
    )
    assert stats["totalKeysExamined"] <= 8


def test_due_ids_come_oldest_first_and_only_when_due(store: Store) -> None:
    endpoint = make_endpoint(store)
    made = [make_delivery(store, endpoint) for _ in range(4)]
    claim(store, made[1])
    now = store.now()
    assert store.lanes.due(endpoint.id, now=now, limit=2) == [made[0].id, made[2].id]
