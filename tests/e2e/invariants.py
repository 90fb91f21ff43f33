"""What must be true at the end of every trial, whatever was done to it (reliability §1.4)."""

from collections import Counter

from relay_web.domain.delivery import State
from relay_web.domain.journal import Attempt
from tests.e2e.stage import Stage
from tests.e2e.waiting import eventually


def hold(stage: Stage) -> None:
    """Fail where one of the invariants does not hold."""
    _every_event_reached_exactly_its_targets(stage)
    _nothing_was_sent_without_a_claim(stage)
    _delivered_means_that_the_receiver_took_it(stage)


def _every_event_reached_exactly_its_targets(stage: Stage) -> None:
    events = stage.store.db.events
    half = {"fanout": {"$ne": "done"}}
    eventually(lambda: not events.count_documents(half), "no event stays half fanned out")
    made = Counter(delivery.event for delivery in stage.deliveries())
    assert made == Counter({event["_id"]: len(event["targets"]) for event in events.find()})


def _nothing_was_sent_without_a_claim(stage: Stage) -> None:
    """One request under each token at the most, none without, and always the same body."""
    bodies = {doc["_id"]: bytes(doc["body"]) for doc in stage.store.db.events.find()}
    deliveries = {delivery.id: delivery for delivery in stage.deliveries()}
    requests = stage.receiver.requests()
    claims = Counter(
        (request.headers["relay-delivery"], request.headers["relay-lease-token"])
        for request in requests
    )
    assert [claim for claim, times in claims.items() if times > 1] == []
    for request in requests:
        delivery = deliveries[request.headers["relay-delivery"]]
        assert 1 <= int(request.headers["relay-lease-token"]) <= delivery.lease_token
        assert request.headers["webhook-id"] == delivery.webhook_id
        assert request.body == bodies[delivery.event]


def _delivered_means_that_the_receiver_took_it(stage: Stage) -> None:
    taken = {request.headers["relay-delivery"] for request in stage.receiver.requests()}
    evidence: dict[str, list[dict[str, object]]] = {}
    for doc in stage.store.db.attempts.find():
        evidence.setdefault(doc["_id"].partition(":")[0], []).append(doc)
    for delivery in stage.deliveries():
        if delivery.state is State.DELIVERED:
            attempts = [Attempt.from_doc(doc, delivery) for doc in evidence[delivery.id]]
            assert any(
                attempt.counted and attempt.status is not None and 200 <= attempt.status < 300
                for attempt in attempts
            )
            assert delivery.id in taken
