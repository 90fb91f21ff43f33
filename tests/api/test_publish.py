"""Publishing: what is refused and how, what is kept byte for byte, what a repeat comes to."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from relay_web.domain.roles import Scope
from relay_web.store import Store
from tests.api.conftest import Api

GOOD = {"type": "invoice.paid", "data": {"id": "in_1"}}


def stored_body(store: Store, event_id: str) -> bytes:
    found = store.db.events.find_one({"$or": [{"_id": event_id}, {"public_id": event_id}]})
    assert found is not None
    return bytes(found["body"])


def test_a_published_event_is_promised_to_every_endpoint_that_wants_it(
    api: Api, endpoint: dict[str, Any], store: Store
) -> None:
    api("POST", "/endpoints", {"url": "http://127.0.0.1:8080/b", "event_types": ["user.*"]})
    answer = api("POST", "/events", GOOD)
    assert answer.status_code == 202
    assert answer.json == {
        "id": answer.json["id"],
        "type": "invoice.paid",
        "deliveries": 1,
        "duplicate": False,
    }
    assert store.db.deliveries.count_documents({"team": api.team_id}) == 1


def test_nobody_listening_is_said_plainly(api: Api) -> None:
    """B35."""
    assert api("POST", "/events", GOOD).json["deliveries"] == 0


UNREADABLE: list[tuple[str, bytes, int, str]] = [
    ("B6 empty", b"", 400, "Body is empty"),
    ("B6 blank", b"  \n", 400, "Body is empty"),
    ("B7 syntax", b'{\n"type": }', 400, "line 2, column 9"),
    ("B8 list", b"[]", 400, "Expected a JSON object"),
    ("B8 text", b'"x"', 400, "Expected a JSON object"),
    ("B8 null", b"null", 400, "Expected a JSON object"),
    ("B11 bad UTF-8", b'{"type":"a","data":"\xff"}', 400, "byte 20"),
    ("B12 byte order mark", b'\xef\xbb\xbf{"type":"a","data":1}', 400, "byte order mark"),
    ("B13 NaN", b'{"type":"a","data":NaN}', 400, "NaN is not JSON"),
    ("B13 Infinity", b'{"type":"a","data":[-Infinity]}', 400, "-Infinity is not JSON"),
    ("B14 twice", b'{"type":"a","data":1,"data":2}', 400, '"data" is there twice'),
    ("B14 deep", b'{"type":"a","data":{"k":[{"z":1,"z":1}]}}', 400, '"z" is there twice'),
    ("B15 33", b'{"type":"a","data":' + b"[" * 32 + b"]" * 32 + b"}", 400, "deeper than 32"),
    ("B15 100,000", b'{"type":"a","data":' + b"[" * 100_000, 400, "deeper than 32"),
    ("B24 half", b'{"type":"a","data":"\\ud800"}', 400, "half a character"),
    ("B24 half key", b'{"type":"a","data":{"\\uDC00":1}}', 400, "half a character"),
    ("B16 one too many", b'{"type":"a","data":"' + b"x" * 256 * 1024 + b'"}', 413, "256 KiB"),
    ("trailing", b'{"type":"a","data":1} x', 400, "Extra data"),
    ("control", b'{"type":"a","data":"\x01"}', 400, "control character"),
]


@pytest.mark.parametrize(("sent", "status", "said"), [row[1:] for row in UNREADABLE],
                         ids=[row[0] for row in UNREADABLE])  # fmt: skip
def test_a_body_that_cannot_be_read_says_where(
    api: Api, store: Store, sent: bytes, status: int, said: str
) -> None:
    answer = api("POST", "/events", data=sent, content_type="application/json")
    assert (answer.status_code, answer.mimetype) == (status, "application/problem+json")
    assert said in answer.json["message"]
    assert store.db.events.count_documents({}) == 0


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"Content-Type": "text/plain"}, "application/json"),
        ({"Content-Type": ""}, "application/json"),
        ({"Content-Type": "application/json; charset=latin-1"}, "UTF-8 only"),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, "uncompressed"),
    ],
    ids=["B9 text", "B9 none", "B10 latin-1", "B17 gzip"],
)
def test_another_kind_of_body_is_415(api: Api, headers: dict[str, str], said: str) -> None:
    answer = api("POST", "/events", data=json.dumps(GOOD), headers=headers)
    assert answer.status_code == 415
    assert said in answer.json["message"]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("B19 missing", {"data": 1}, "type"),
    ("B19 empty", {"type": "", "data": 1}, "type"),
    ("B19 number", {"type": 7, "data": 1}, "type"),
    ("B19 null", {"type": None, "data": 1}, "type"),
    ("B20 space", {"type": "a b", "data": 1}, "type"),
    ("B20 two dots", {"type": "a..b", "data": 1}, "type"),
    ("B20 leading dot", {"type": ".a", "data": 1}, "type"),
    ("B20 long", {"type": "a" * 257, "data": 1}, "type"),
    ("B20 newline", {"type": "a\n", "data": 1}, "type"),
    ("B20 letter", {"type": "é", "data": 1}, "type"),
    ("B21 no data", {"type": "a"}, "data"),
    ("B25 unknown", {"type": "a", "data": 1, "payload": 2}, "payload"),
    ("B26 word", {"type": "a", "data": 1, "timestamp": "yesterday"}, "timestamp"),
    ("B26 far", {"type": "a", "data": 1, "timestamp": "99999-01-01T00:00:00Z"}, "timestamp"),
    ("B26 no zone", {"type": "a", "data": 1, "timestamp": "2026-01-01T00:00:00"}, "timestamp"),
    ("B26 no such day", {"type": "a", "data": 1, "timestamp": "2026-02-30T00:00:00Z"}, "timestamp"),
    ("B31 full stop", {"type": "a", "data": 1, "id": "a.b"}, "id"),
    ("B31 space", {"type": "a", "data": 1, "id": "a b"}, "id"),
    ("W12 operator", {"type": {"$gt": ""}, "data": 1}, "type"),
    ("W12 list id", {"type": "a", "data": 1, "id": ["x"]}, "id"),
    ("source", {"type": "a", "data": 1, "source": "a\nb"}, "source"),
]


@pytest.mark.parametrize(("sent", "field"), [row[1:] for row in WRONG], ids=[r[0] for r in WRONG])
def test_a_field_that_will_not_be_stored_is_named(
    api: Api, store: Store, sent: dict[str, Any], field: str
) -> None:
    answer = api("POST", "/events", sent)
    assert (answer.status_code, answer.json["field"]) == (422, field)
    assert answer.json["message"].endswith(".")
    assert store.db.events.count_documents({}) == 0


EXACT = [
    b"9223372036854775808",
    b"1e400",
    b"123456789012345678901234567890.10",
    b"9" * 5000,
    b'{"b":1,"a":2}',
    b'{ "spaced" :\t[ 1 , 2.50 ] }',
    b'"\\u00e9\\/\\n"',
    '"é 😀 \u2028"'.encode(),
    b'{"$where":1,"a.b":2,"":3,"__proto__":{},"\\u0000":4}',
    b'"\\ud83d\\ude00"',
    b"null",
    b"-0.0",
    b"{}",
]


@pytest.mark.parametrize("data", EXACT, ids=range(len(EXACT)))
def test_data_is_kept_byte_for_byte(api: Api, store: Store, data: bytes) -> None:
    """B22 and B23: numbers past any type, keys of every kind."""
    sent = b'{"source":"shop", "data" : ' + data + b' ,"type":"a.b"}'
    answer = api("POST", "/events", data=sent, content_type="application/json")
    assert answer.status_code == 202, answer.json
    assert stored_body(store, answer.json["id"]).endswith(b'"data":' + data + b"}")


def test_data_of_each_batch_item_is_kept_byte_for_byte(api: Api, store: Store) -> None:
    items = b",".join(b'{"data":' + data + b',"type":"a"}' for data in EXACT)
    answer = api(
        "POST", "/events/batch", data=b'{"events":[' + items + b"]}",
        content_type="application/json",
    )  # fmt: skip
    assert answer.status_code == 202, answer.json
    for data, item in zip(EXACT, answer.json["items"], strict=True):
        assert stored_body(store, item["id"]).endswith(b'"data":' + data + b"}")


def test_depth_32_is_still_taken(api: Api) -> None:
    sent = b'{"type":"a","data":' + b"[" * 31 + b"]" * 31 + b"}"
    assert api("POST", "/events", data=sent, content_type="application/json").status_code == 202


@pytest.mark.parametrize("key", ["", "k" * 256, "a\x01b"], ids=["empty", "256", "control"])
def test_an_odd_idempotency_key_is_refused(api: Api, key: str) -> None:
    """B27."""
    answer = api("POST", "/events", GOOD, headers={"Idempotency-Key": key})
    assert answer.status_code == 400


def test_the_same_key_and_body_are_one_event(api: Api) -> None:
    """B28."""
    first = api("POST", "/events", GOOD, headers={"Idempotency-Key": "order-7"})
    again = api("POST", "/events", GOOD, headers={"Idempotency-Key": "order-7"})
    assert again.status_code == 202
    assert again.json == first.json | {"duplicate": True}


def test_the_same_key_with_another_body_names_the_first_event(api: Api) -> None:
    """B29."""
    first = api("POST", "/events", GOOD, headers={"Idempotency-Key": "order-7"})
    other = api("POST", "/events", {**GOOD, "data": 2}, headers={"Idempotency-Key": "order-7"})
    assert other.status_code == 409
    assert first.json["id"] in other.json["message"]


def test_fifty_publishes_at_once_with_one_key_are_one_event(api: Api, store: Store) -> None:
    def send(_: int) -> tuple[int, str]:
        own = Api(api.client.application.test_client(), api.team_id, api.key)
        answer = own("POST", "/events", GOOD, headers={"Idempotency-Key": "race"})
        return answer.status_code, answer.json["id"]

    with ThreadPoolExecutor(50) as pool:
        answers = set(pool.map(send, range(50)))
    assert len(answers) == 1
    assert answers.pop()[0] == 202
    assert store.db.events.count_documents({}) == 1


def test_another_team_may_use_the_same_key(api: Api, make_api: Any) -> None:
    """B30."""
    mine = api("POST", "/events", GOOD, headers={"Idempotency-Key": "k"})
    theirs = make_api("Other")("POST", "/events", GOOD, headers={"Idempotency-Key": "k"})
    assert theirs.status_code == 202
    assert (theirs.json["duplicate"], mine.json["id"] == theirs.json["id"]) == (False, False)


@pytest.mark.parametrize(
    ("events", "field"),
    [
        ([], "events"),
        ([GOOD] * 101, "events"),
        ([GOOD, GOOD, {"type": "a b", "data": 1}], "events[2].type"),
        ([GOOD, {"type": "a"}], "events[1].data"),
    ],
    ids=["B38 none", "B38 101", "B38 bad item", "B38 no data"],
)
def test_a_bad_batch_names_the_item_and_stores_nothing(
    api: Api, store: Store, events: list[Any], field: str
) -> None:
    answer = api("POST", "/events/batch", {"events": events})
    assert (answer.status_code, answer.json["field"]) == (422, field)
    assert store.db.events.count_documents({}) == 0


def test_a_batch_that_is_sent_again_is_the_same_events(api: Api, store: Store) -> None:
    sent = {"events": [{"type": "a", "data": number} for number in range(5)]}
    first = api("POST", "/events/batch", sent, headers={"Idempotency-Key": "b"})
    again = api("POST", "/events/batch", sent, headers={"Idempotency-Key": "b"})
    assert [item["id"] for item in again.json["items"]] == [i["id"] for i in first.json["items"]]
    assert all(item["duplicate"] for item in again.json["items"])
    assert store.db.events.count_documents({}) == 5


def test_a_delivery_sent_back_to_relay_is_refused(api: Api) -> None:
    """B36: a loop, S14."""
    answer = api("POST", "/events", GOOD, headers={"Relay-Delivery": "dlv_1"})
    assert (answer.status_code, answer.json["code"]) == (508, "loop_detected")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_another_method_names_the_ones_there_are(api: Api, method: str) -> None:
    """B37."""
    answer = api(method, "/events", GOOD)
    assert answer.status_code == 405
    assert "POST" in answer.headers["Allow"]


def test_data_is_checked_against_the_schema_of_its_type(api: Api, store: Store) -> None:
    schema = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
    made = api("POST", "/event-types", {"name": "order.placed", "schema": schema})
    assert made.status_code == 201, made.json
    good = api("POST", "/events", {"type": "order.placed", "data": {"total": 3}})
    bad = api("POST", "/events", {"type": "order.placed", "data": {"total": "3"}})
    assert good.status_code == 202
    assert (bad.status_code, bad.json["field"]) == (422, "data.total")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nope"},
        {"$ref": "http://127.0.0.1:8080/x"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/no"},
    ],
)
def test_a_schema_never_makes_relay_fetch_anything(api: Api, schema: dict[str, str]) -> None:
    answer = api("POST", "/event-types", {"name": "a", "schema": schema})
    assert (answer.status_code, answer.json["field"]) == (422, "schema")


def test_scopes_are_kept(make_api: Any) -> None:
    """B4."""
    reader, publisher = make_api(scopes=[Scope.READ]), make_api(scopes=[Scope.PUBLISH])
    assert reader("GET", "/events").status_code == 200
    refused = reader("POST", "/events", GOOD)
    assert (refused.status_code, refused.json["message"]) == (
        403, "This key cannot publish; scope needed: publish.",
    )  # fmt: skip
    assert publisher("POST", "/events", GOOD).status_code == 202
    assert publisher("GET", "/events").status_code == 403
    assert publisher("POST", "/endpoints", {"url": "http://127.0.0.1:8080/"}).status_code == 403
