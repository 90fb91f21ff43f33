"""Days of nothing but failures warn once, then suspend; one success ends it."""

from datetime import timedelta

from relay_web.domain.endpoint import EndpointState
from relay_web.engine.upkeep import Upkeep
from relay_web.store import Store
from relay_web.store.clock import DatabaseClock
from relay_web.store.outages import SUSPEND_AFTER, WARN_AFTER
from tests.factories import make_endpoint


def age(store: Store, endpoint: str, by: timedelta) -> None:
    """Move the beginning of its outage into the past, as time would."""
    past = {"$subtract": ["$failing_since", int(by.total_seconds() * 1000)]}
    store.db.endpoints.update_one({"_id": endpoint}, [{"$set": {"failing_since": past}}])


def test_an_outage_keeps_its_beginning_and_ends_with_a_success(store: Store) -> None:
    endpoint = make_endpoint(store)
    store.outages.begin(endpoint.id)
    first = store.endpoints.get(endpoint.team, endpoint.id).failing_since
    store.outages.begin(endpoint.id)
    assert store.endpoints.get(endpoint.team, endpoint.id).failing_since == first
    store.outages.end(endpoint.id)
    assert store.endpoints.get(endpoint.team, endpoint.id).failing_since is None


def test_a_warning_is_given_once_at_half_time(store: Store) -> None:
    endpoint = make_endpoint(store)
    store.outages.begin(endpoint.id)
    assert store.outages.to_warn(store.now()) == []
    age(store, endpoint.id, WARN_AFTER)
    assert [outage.endpoint for outage in store.outages.to_warn(store.now())] == [endpoint.id]
    assert store.outages.to_warn(store.now()) == []


def test_five_days_of_failures_suspend_it_and_a_resume_starts_anew(store: Store) -> None:
    endpoint = make_endpoint(store)
    healthy = make_endpoint(store)
    store.outages.begin(endpoint.id)
    age(store, endpoint.id, SUSPEND_AFTER)

    Upkeep(store, DatabaseClock(store.db)).once()

    suspended = store.endpoints.get(endpoint.team, endpoint.id)
    assert suspended.state is EndpointState.SUSPENDED
    assert "Nothing but failures since" in (suspended.state_reason or "")
    assert store.endpoints.get(healthy.team, healthy.id).state is EndpointState.ACTIVE

    resumed = store.endpoints.resume(endpoint.team, endpoint.id, by="Ana")
    assert (resumed.state, resumed.failing_since) == (EndpointState.ACTIVE, None)
    assert resumed.ramp_step == 0
