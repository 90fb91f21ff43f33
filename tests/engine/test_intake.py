"""Accepting: one event per key, exact bytes, every target once, whatever breaks in between."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from relay_web.domain.event import Publish
from relay_web.engine.intake import Intake
from relay_web.engine.upkeep import Upkeep
from relay_web.errors import Conflict, Unavailable
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock
from tests.factories import OTHER_TEAM, TEAM, make_endpoint, publish


def test_an_event_reaches_every_endpoint_that_listens(store: Store) -> None:
    every = make_endpoint(store)
    invoices = make_endpoint(store, event_types=("invoice.*",))
    make_endpoint(store, event_types=("user.created",))
    make_endpoint(store, team=OTHER_TEAM)

    accepted = publish(store, type="invoice.paid")

    rows = store.timeline.of_event(TEAM, accepted.event)
    assert {row.delivery.endpoint for row in rows} == {every.id, invoices.id}
    assert accepted.deliveries == 2


def test_data_is_kept_byte_for_byte(store: Store) -> None:
    make_endpoint(store)
    data = b'{"b":1,"a": 2,"big":12345678901234567890,"e":"\\u00e9","z":-0.0,"a":3}'
    accepted = publish(store, data=data)
    body = store.events.bodies([accepted.event])[accepted.event]
    assert body.endswith(b',"data":' + data + b"}")
    assert json.loads(body)["type"] == "invoice.paid"


def test_equal_publishes_at_once_make_one_event(store: Store) -> None:
    make_endpoint(store)
    intake = Intake(store)
    ready = threading.Barrier(20)

    def send(_: int) -> str:
        ready.wait()
        return intake.accept(TEAM, Publish(type="a", data=b"1", idempotency_key="k")).id

    with ThreadPoolExecutor(20) as pool:
        ids = set(pool.map(send, range(20)))
    assert len(ids) == 1
    assert store.db.events.count_documents({}) == 1
    assert store.db.deliveries.count_documents({}) == 1


def test_a_key_with_other_content_is_a_conflict_and_names_the_first(store: Store) -> None:
    first = publish(store, idempotency_key="k")
    again = publish(store, idempotency_key="k")
    assert (again.id, again.duplicate) == (first.id, True)
    with pytest.raises(Conflict, match=first.id):
        publish(store, idempotency_key="k", data=b"2")
    assert not publish(store, OTHER_TEAM, idempotency_key="k", data=b"2").duplicate


def test_a_publisher_may_choose_the_id(store: Store) -> None:
    make_endpoint(store)
    accepted = publish(store, id="order-17")
    assert accepted.id == "order-17"
    (row,) = store.timeline.of_event(TEAM, accepted.event)
    assert row.delivery.webhook_id == "order-17"
    assert publish(store, id="order-17").duplicate
    assert not publish(store, OTHER_TEAM, id="order-17").duplicate


def test_what_a_crash_left_half_fanned_out_is_finished(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_endpoint(store)
    make_endpoint(store)

    def away(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as broken:
        broken.setattr(store.deliveries, "open", away)
        accepted = publish(store)
    assert accepted.deliveries == 2
    assert store.timeline.of_event(TEAM, accepted.event) == []

    monkeypatch.setattr(
        "relay_web.engine.upkeep.HALF_DONE_AFTER", -DatabaseClock(store.db).now().resolution
    )
    Upkeep(store, DatabaseClock(store.db)).once()

    assert len(store.timeline.of_event(TEAM, accepted.event)) == 2
    assert store.db.events.count_documents({"fanout": "pending"}) == 0


def test_one_refusal_in_a_group_leaves_the_others(store: Store) -> None:
    publish(store, idempotency_key="taken")
    answers = Intake(store).accept_many(
        TEAM,
        [
            Publish(type="a", data=b"1", idempotency_key="taken"),
            Publish(type="a", data=b"1"),
        ],
    )
    assert isinstance(answers[0], Conflict)
    assert not isinstance(answers[1], Exception)
