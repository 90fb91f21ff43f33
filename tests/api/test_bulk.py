"""Many at once through the API: previews, jobs, stops, recovery of an endpoint."""

from typing import Any

import pytest

from relay_web.engine.bulk import Bulk
from relay_web.store import Store
from tests.api.conftest import Api
from tests.api.test_deliveries import end

LONG_AGO = "2020-01-01T00:00:00Z"


def work_off(store: Store) -> None:
    """What a worker does with the job that waits."""
    job = store.bulk_jobs.take(15.0)
    assert job is not None
    assert Bulk(store).work(job)


@pytest.fixture
def deliveries(api: Api, endpoint: dict[str, Any], store: Store) -> list[str]:
    """Five of one endpoint, the newest three failed."""
    api("POST", "/events/batch", {"events": [{"type": "a", "data": n} for n in range(5)]})
    ids = [item["id"] for item in api("GET", "/deliveries").json["items"]]
    for each in ids[:3]:
        end(store, each, "failed")
    return ids


def test_a_dry_run_counts_by_endpoint_and_cause_and_changes_nothing(
    api: Api, endpoint: dict[str, Any], deliveries: list[str], store: Store
) -> None:
    wish = {"endpoint": endpoint["id"], "pace": 2, "dry_run": True}
    told = api("POST", "/deliveries/retry", wish)
    assert told.status_code == 200
    answer = told.json
    assert (answer["outcome"], answer["job"]) == ("previewed", None)
    seen = answer["preview"]
    assert (seen["matched"], seen["queue"], seen["at_least"]) == (3, 3, False)
    share = {"endpoint_id": endpoint["id"], "name": endpoint["name"], "count": 3, "pace": 2}
    assert seen["endpoints"] == [share]
    assert sum(seen["causes"].values()) == 3
    assert seen["seconds"] == 1.5
    assert store.db.bulk_jobs.count_documents({}) == 0


def test_a_retry_starts_a_job_that_tells_how_far_it_came(
    api: Api, deliveries: list[str], store: Store
) -> None:
    answer = api("POST", "/deliveries/retry", {"state": ["failed"]})
    assert answer.status_code == 202
    job = answer.json["job"]
    assert (job["state"], job["matched"], job["queued"]) == ("running", 3, 0)
    assert job["by"].startswith("key rk_")
    work_off(store)
    job = api("GET", f"/bulk-jobs/{job['id']}").json
    assert (job["state"], job["queued"], job["waiting"]) == ("done", 3, 3)
    listed = api("GET", f"/deliveries?job={job['id']}").json["items"]
    assert [item["id"] for item in listed] == deliveries[:3]
    assert {item["trigger"] for item in listed} == {"bulk"}


def test_the_same_idempotency_key_is_the_same_job(
    api: Api, deliveries: list[str], store: Store
) -> None:
    headers = {"Idempotency-Key": "press-1"}
    ids = {
        api("POST", "/deliveries/retry", {"state": ["failed"]}, headers=headers).json["job"]["id"]
        for _ in range(2)
    }
    assert len(ids) == store.db.bulk_jobs.count_documents({}) == 1


def test_nothing_that_matches_is_told_and_starts_nothing(api: Api, endpoint: Any) -> None:
    """B89."""
    answer = api("POST", "/deliveries/retry", {"type": "nobody.sends"})
    assert (answer.status_code, answer.json["code"]) == (422, "nothing_matches")


def test_a_stop_ends_the_job_and_a_second_one_changes_nothing(
    api: Api, deliveries: list[str], store: Store
) -> None:
    job = api("POST", "/deliveries/retry", {}).json["job"]["id"]
    stopped = api("POST", f"/bulk-jobs/{job}/stop").json
    assert stopped["state"] == "stopped"
    assert stopped["ended_by"].startswith("key rk_")
    assert api("POST", f"/bulk-jobs/{job}/stop").json == stopped
    assert store.bulk_jobs.take(15.0) is None
    audit = list(store.db.audit.find({"action": {"$regex": "^bulk"}}))
    assert [entry["action"] for entry in audit] == ["bulk.started", "bulk.stopped"]


def test_recover_brings_back_what_failed_and_what_was_never_sent(
    api: Api, endpoint: dict[str, Any], deliveries: list[str], store: Store
) -> None:
    late = api("POST", "/endpoints", {"url": "http://127.0.0.1:8080/late"}).json["id"]
    missed = {"since": LONG_AGO, "kind": "missed"}
    path = f"/endpoints/{late}/recover"
    counted = api("POST", path, missed | {"dry_run": True}).json["preview"]
    assert (counted["queue"], counted["kind"]) == (5, "missed")
    assert api("POST", path, missed).status_code == 202
    work_off(store)
    assert store.db.deliveries.count_documents({"endpoint": late, "state": "pending"}) == 5
    assert api("POST", path, missed).json["code"] == "nothing_matches"
    api("POST", f"/endpoints/{endpoint['id']}/recover", {"since": LONG_AGO})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"since": "2999-01-01T00:00:00Z"}, "since"),
        ({"since": "yesterday"}, "since"),
        ({"since": LONG_AGO, "kind": "both"}, "kind"),
        ({"since": LONG_AGO, "pace": 0}, "pace"),
        ({}, "since"),
    ],
)
def test_a_recovery_that_makes_no_sense_names_its_field(
    api: Api, endpoint: dict[str, Any], body: Any, field: str
) -> None:
    answer = api("POST", f"/endpoints/{endpoint['id']}/recover", body)
    assert (answer.status_code, answer.json["field"]) == (422, field)
