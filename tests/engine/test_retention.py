"""What has ended goes after its time, with its attempts and its event; what is alive keeps all."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from relay_web import embedded
from relay_web.clock import new_id, utcnow
from relay_web.domain.bulk import Kind
from relay_web.domain.delivery import Delivery, State
from relay_web.domain.policy import Verdict
from relay_web.domain.roles import Scope
from relay_web.engine import retention
from relay_web.engine.bulk_source import Missed
from relay_web.engine.retention import Retention
from relay_web.errors import NotFound, Unavailable
from relay_web.store import Store
from relay_web.store.bulk_jobs import Wish
from relay_web.store.clock import DatabaseClock
from relay_web.store.deliveries import Fate, Result
from relay_web.store.filtering import Filters
from relay_web.store.prefixes import beginning_with
from tests.factories import TEAM, again, claim, make_delivery, make_endpoint, publish
from tests.guard import BY_HAND

RETRY = Verdict.retry(503, "server_error", 300.0, "backoff step 1 of 7")


def sweep(store: Store) -> int:
    return Retention(store, DatabaseClock(store.db)).once()


def attempted(store: Store, delivery: Delivery, verdict: Verdict) -> Delivery:
    """The delivery after one attempt, with its evidence."""
    held = claim(store, delivery)
    store.attempts.record(
        [
            {
                "_id": f"{delivery.id}:{held.lease_token}",
                "token": held.lease_token,
                "lease_id": held.lease_id,
                "started_at": held.granted_at,
            }
        ]
    )
    assert store.deliveries.commit([Result(held, verdict)]) == [Fate.KEPT]
    return again(store, delivery)


def outlive(store: Store) -> None:
    """Let so much time pass that retention looks at every event."""
    store.db.events.update_many({}, {"$set": {"keep_until": utcnow() - timedelta(days=1)}})


def expire(store: Store, *deliveries: Delivery) -> None:
    """These deliveries are past their retention, and the database has removed them."""
    ids = [delivery.id for delivery in deliveries]
    done = store.db.deliveries.delete_many(
        {"_id": {"$in": ids}, "expire_at": {"$exists": True}}, comment=BY_HAND
    )
    assert done.deleted_count == len(ids)


def attempts_of(store: Store, delivery: Delivery) -> int:
    return len(store.attempts.of(delivery.id))


def test_attempts_and_event_follow_when_the_deliveries_are_gone(store: Store) -> None:
    ended = attempted(store, make_delivery(store), Verdict.delivered(200))
    expire(store, ended)
    outlive(store)

    assert sweep(store) == 1

    assert attempts_of(store, ended) == 0
    assert not store.events.has_body(ended.event)


def test_before_its_time_nothing_goes(store: Store) -> None:
    ended = attempted(store, make_delivery(store), Verdict.delivered(200))
    publish(store)

    assert sweep(store) == 0

    assert attempts_of(store, ended) == 1
    assert store.db.events.count_documents({}) == 2


@pytest.mark.parametrize("verdict", [RETRY, Verdict.delivered(200)], ids=["alive", "ended"])
def test_a_delivery_that_is_there_keeps_attempts_and_payload(
    store: Store, verdict: Verdict
) -> None:
    """I12: however old its event; also while the database has not yet come to remove it."""
    kept = attempted(store, make_delivery(store), verdict)
    outlive(store)

    assert sweep(store) == 0

    assert attempts_of(store, kept) == 1
    assert store.events.has_body(kept.event)
    assert store.events.outlived(now=store.now(), limit=10) == []
    # It is looked at again a day later, not every minute.
    tomorrow = store.now() + timedelta(days=1, minutes=1)
    assert store.events.outlived(now=tomorrow, limit=10) == [kept.event]


def test_a_delivery_that_is_gone_leaves_the_attempts_of_its_sisters(store: Store) -> None:
    first, second = make_endpoint(store), make_endpoint(store)
    event = publish(store).event
    rows = {row.delivery.endpoint: row.delivery for row in store.timeline.of_event(TEAM, event)}
    ended = attempted(store, rows[first.id], Verdict.delivered(200))
    alive = attempted(store, rows[second.id], RETRY)
    expire(store, ended)
    outlive(store)

    assert sweep(store) == 0

    assert (attempts_of(store, ended), attempts_of(store, alive)) == (0, 1)
    assert store.events.has_body(event)


def test_an_event_that_nobody_listened_to_goes_too(store: Store) -> None:
    assert publish(store).deliveries == 0
    outlive(store)
    assert sweep(store) == 1


def test_an_event_that_is_not_fanned_out_stays_however_old(store: Store) -> None:
    publish(store)
    store.db.events.update_many({}, {"$set": {"fanout": "pending"}})
    outlive(store)
    assert sweep(store) == 0


def test_a_long_backlog_goes_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    for _ in range(25):
        publish(store)
    kept = make_delivery(store)
    outlive(store)

    assert sweep(store) == 25

    assert [doc["_id"] for doc in store.db.events.find()] == [kept.event]


def test_what_an_outage_broke_off_is_finished_by_the_next_round(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = attempted(store, make_delivery(store), Verdict.delivered(200))
    expire(store, ended)
    outlive(store)
    with monkeypatch.context() as outage:

        def away(*_: object, **__: object) -> int:
            raise Unavailable

        outage.setattr(store.events, "remove", away)
        with pytest.raises(Unavailable):
            sweep(store)

    assert sweep(store) == 1


def test_recovering_an_old_event_keeps_it(store: Store) -> None:
    """Recovery makes a delivery of an event that had none: retention may be looking at it now."""
    event = publish(store).event
    endpoint = make_endpoint(store)
    outlive(store)
    overdue = store.events.outlived(now=store.now(), limit=10)
    assert overdue == [event]

    recovered = recover(store, endpoint.id)

    assert store.events.remove(overdue, now=store.now()) == 0
    assert recovered == 1
    (row,) = store.timeline.of_event(TEAM, event)
    assert row.delivery.state is State.PENDING


def test_what_retention_took_first_is_not_recovered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = publish(store).event
    endpoint = make_endpoint(store)
    outlive(store)
    keep = store.events.keep

    def too_late(*args: object) -> set[str]:
        assert store.events.remove([event], now=store.now()) == 1
        return keep(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(store.events, "keep", too_late)

    assert recover(store, endpoint.id) == 0
    assert store.db.deliveries.count_documents({}) == 0


def recover(store: Store, endpoint: str) -> int:
    """How many events the endpoint was sent that it had never got."""
    now = store.now()
    wanted = Filters(endpoint=endpoint, since=now - timedelta(days=60))
    source = Missed(store, Wish(team=TEAM, kind=Kind.MISSED, filters=wanted, as_of=now))
    return source.send(source.look(after="", limit=100).ready, job="job_1", by="Ana")


def test_a_round_reads_no_more_than_it_looks_at(store: Store) -> None:
    for _ in range(20):
        publish(store)
    for _ in range(5):
        make_delivery(store)
    events = [doc["_id"] for doc in store.db.events.find()]
    wanted = {event.replace("msg_", "dlv_") for event in events[:2]}
    plans = {
        "events": {"keep_until": {"$lte": store.now()}, "fanout": "done"},
        "deliveries": beginning_with(wanted),
    }
    for name, query in plans.items():
        told = store.db.command(
            "explain", {"find": name, "filter": query}, verbosity="executionStats"
        )
        # An interval each, and a key to see that it has ended.
        assert told["executionStats"]["totalKeysExamined"] <= 3 * len(wanted)
        assert told["executionStats"]["totalDocsExamined"] <= len(wanted)


@pytest.fixture
def eager_ttl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A database of its own that removes what has expired every second, not every minute."""
    every_second = ("--setParameter", "ttlMonitorSleepSecs=1")
    monkeypatch.setattr(embedded, "_FLAGS", (*embedded._FLAGS, *every_second))
    with embedded.running(tmp_path) as server:
        store = Store.open(server.uri)
        store.ensure_schema()
        yield store
        store.close()


def passes(store: Store) -> int:
    status = store.client.admin.command("serverStatus")
    count: int = status["metrics"]["ttl"]["passes"]
    return count


def wait_for_passes(store: Store, number: int) -> None:
    """Until the database has gone round so many times from now, and one more that had begun."""
    goal, give_up = passes(store) + number + 1, time.monotonic() + 60
    while passes(store) < goal:
        assert time.monotonic() < give_up, "the TTL monitor does not go round"
        time.sleep(0.05)


def test_a_retry_that_races_expiry_has_all_or_nothing(eager_ttl: Store) -> None:
    """F40: what a person brought back stays, payload and all; what had gone is a plain 404."""
    store = eager_ttl
    endpoint = make_endpoint(store)
    ended = [
        attempted(store, make_delivery(store, endpoint), Verdict.delivered(200)) for _ in range(40)
    ]
    # Due for removal one after the other, while they are being retried one after the other.
    now = store.now()
    for number, delivery in enumerate(ended):
        store.db.deliveries.update_one(
            {"_id": delivery.id},
            {"$set": {"expire_at": now + timedelta(milliseconds=50 * number)}},
            comment=BY_HAND,
        )
    revived: set[str] = set()

    def press_retry() -> None:
        for delivery in ended[::2]:
            try:
                store.deliveries.retry(TEAM, delivery.id, action_id=new_id("act"), by="Ana")
            except NotFound:
                continue
            revived.add(delivery.id)
            time.sleep(0.05)

    presser = threading.Thread(target=press_retry)
    presser.start()
    wait_for_passes(store, 1)
    presser.join()
    wait_for_passes(store, 2)
    outlive(store)
    sweep(store)

    left = {doc["_id"]: doc for doc in store.db.deliveries.find()}
    assert set(left) == revived
    assert all(doc["state"] == "pending" and "expire_at" not in doc for doc in left.values())
    assert set(store.events.bodies(doc["event"] for doc in left.values())) == {
        doc["event"] for doc in left.values()
    }
    assert store.db.events.count_documents({}) == len(revived)


def test_of_a_deleted_team_nothing_stays_once_its_deliveries_have_gone(store: Store) -> None:
    team, other = (store.accounts.teams.add(name, "usr_owner") for name in ("Acme", "Other"))
    for each in (team, other):
        store.accounts.keys.add(each.id, name="k", scopes=[Scope.READ], by="t")
        store.event_types.add(each.id, "a.b", "", None)
    waiting = make_delivery(store, make_endpoint(store, team.id))
    delivery = attempted(store, waiting, Verdict.delivered(200))
    make_endpoint(store, other.id)
    store.accounts.teams.mark_deleted(team.id)

    sweep(store)
    assert store.db.endpoints.count_documents({"team": team.id}) == 1  # a delivery names it
    expire(store, delivery)
    outlive(store)
    sweep(store)
    for name in store.db.list_collection_names():
        assert store.db[name].count_documents({"team": team.id}) == 0, name
    for name in ("endpoints", "api_keys", "event_types"):
        assert store.db[name].count_documents({"team": other.id}) == 1, name
    assert store.accounts.teams.add("Acme", "usr_owner").slug != team.slug
    sweep(store)
