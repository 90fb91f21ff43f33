"""No key sees or changes what is another team's. The matrix is made from the routes themselves."""

import re
from typing import Any

import pytest

from relay_web.domain.roles import Deed, Scope
from relay_web.store import Store
from relay_web.web.api import OPERATIONS
from relay_web.web.api.operations import Operation
from tests.api.conftest import Api

BODIES: dict[str, Any] = {
    "publish": {"type": "a", "data": 1},
    "publish_batch": {"events": [{"type": "a", "data": 1}]},
    "create_endpoint": {"url": "http://127.0.0.1:8080/x"},
    "edit_endpoint": {"name": "stolen"},
    "recover_endpoint": {"since": "2020-01-01T00:00:00Z"},
    "retry_deliveries": {"dry_run": True},
    "create_event_type": {"name": "a.b"},
}
NAMES = [operation.name for operation in OPERATIONS]
WITH_ID = [operation for operation in OPERATIONS if "<" in operation.path]


@pytest.fixture
def theirs(make_api: Any) -> dict[str, str]:
    """Another team's endpoint, event, delivery and event type, by the name of the path's part."""
    other = make_api("Other")
    endpoint = other("POST", "/endpoints", {"url": "http://127.0.0.1:8080/theirs"}).json["id"]
    event = other("POST", "/events", {"type": "a", "data": "theirs"}).json["id"]
    delivery = other("GET", "/deliveries").json["items"][0]["id"]
    other("POST", f"/deliveries/{delivery}/cancel")
    job = other("POST", "/deliveries/retry", {"state": ["cancelled"]}).json["job"]["id"]
    other("POST", "/event-types", {"name": "their.type"})
    return {
        "endpoint_id": endpoint,
        "event_id": event,
        "delivery_id": delivery,
        "job_id": job,
        "name": "their.type",
    }


def at(operation: Operation, ids: dict[str, str] | str) -> str:
    def put(found: re.Match[str]) -> str:
        return ids if isinstance(ids, str) else ids[found.group(1)]

    return re.sub(r"<(\w+)>", put, operation.path)


def snapshot(store: Store) -> Any:
    names = ("endpoints", "events", "deliveries", "event_types", "bulk_jobs")
    return {name: list(store.db[name].find().sort("_id")) for name in names}


@pytest.mark.parametrize("operation", WITH_ID, ids=[operation.name for operation in WITH_ID])
def test_foreign_and_missing_ids_are_the_same_404(
    api: Api, theirs: dict[str, str], store: Store, operation: Operation
) -> None:
    """B77."""
    before = snapshot(store)
    body = BODIES.get(operation.name)
    ids = [theirs, "never-existed", "x" * 1000, "%00", "..%2f..", '{"$gt":""}']
    same = {"X-Request-Id": "one-and-the-same"}
    answers = [api(operation.method, at(operation, each), body, headers=same) for each in ids]
    assert {answer.status_code for answer in answers} == {404}
    foreign, *missing = (answer.data for answer in answers[:4])
    assert set(missing) == {foreign}
    assert snapshot(store) == before


def test_every_route_of_the_api_is_an_operation(api: Api) -> None:
    routes = {
        (method, rule.rule.removeprefix("/api/v1"))
        for rule in api.client.application.url_map.iter_rules()
        if rule.rule.startswith("/api/v1/") and rule.endpoint.startswith("api.")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert routes == {(operation.method, operation.path) for operation in OPERATIONS}


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_no_route_works_without_a_valid_key(api: Api, operation: Operation) -> None:
    path, body = at(operation, "x"), BODIES.get(operation.name)
    assert api.client.open(f"/api/v1{path}", method=operation.method, json=body).status_code == 401
    stranger = Api(api.client, api.team_id, "rk_" + "0" * 40)
    assert stranger(operation.method, path, body).status_code == 401


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
@pytest.mark.parametrize("scope", Scope)
def test_each_scope_opens_its_own_routes_only(
    make_api: Any, operation: Operation, scope: Scope
) -> None:
    key = make_api(scopes=[scope])
    allowed = scope is Scope.ADMIN or {
        Deed.SEE: Scope.READ, Deed.PUBLISH: Scope.PUBLISH,
    }.get(operation.deed) is scope  # fmt: skip
    answer = key(operation.method, at(operation, "x"), BODIES.get(operation.name))
    assert (answer.status_code != 403) is allowed, answer.text


def test_lists_and_filters_never_show_what_is_anothers(api: Api, theirs: dict[str, str]) -> None:
    queries = (
        "/endpoints", "/events", "/deliveries", "/event-types",
        f"/deliveries?endpoint={theirs['endpoint_id']}",
    )  # fmt: skip
    for query in queries:
        assert api("GET", query).json["items"] == [], query
    assert api("GET", f"/deliveries?event={theirs['event_id']}").status_code == 404
    wish = {"endpoint": theirs["endpoint_id"], "dry_run": True}
    assert api("POST", "/deliveries/retry", wish).json["preview"]["matched"] == 0


def test_an_endpoint_gets_nothing_from_another_team(
    api: Api, theirs: dict[str, str], store: Store
) -> None:
    api("POST", "/events", {"type": "a", "data": "mine"})
    assert store.db.deliveries.count_documents({"endpoint": theirs["endpoint_id"]}) == 1
