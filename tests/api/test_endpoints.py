"""Registering and changing endpoints over the API."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from relay_web.domain.headers import MASK, opened
from relay_web.domain.vault import Vault
from relay_web.settings import Settings
from relay_web.store import Store
from tests.api.conftest import Api

URL = "http://127.0.0.1:8080/hook"

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("B39 missing", {}, "url"),
    ("B39 empty", {"url": ""}, "url"),
    ("B39 number", {"url": 7}, "url"),
    ("B39 list", {"url": [URL]}, "url"),
    ("B40", {"url": "example.com/x"}, "url"),
    ("B42 metadata", {"url": "http://169.254.169.254/latest"}, "url"),
    ("B42 private", {"url": "http://10.0.0.1/"}, "url"),
    ("B43 file", {"url": "file:///etc/passwd"}, "url"),
    ("B43 backslash", {"url": "http://127.0.0.1:80\\@example.com/"}, "url"),
    ("B44", {"url": "https://user:pw@example.com/"}, "url"),
    ("B45", {"url": "https://example.com/#x"}, "url"),
    ("B46 22", {"url": "https://example.com:22/"}, "url"),
    ("B46 99999", {"url": "https://example.com:99999/"}, "url"),
    ("B47 long", {"url": "https://example.com/" + "a" * 2049}, "url"),
    ("B47 label", {"url": f"https://{'a' * 64}.example/"}, "url"),
    ("B47 dots", {"url": "https://a..b/"}, "url"),
    ("B49 long", {"url": URL, "name": "n" * 256}, "name"),
    ("B49 newline", {"url": URL, "name": "a\nb"}, "name"),
    ("B49 bidi", {"url": URL, "name": "a\u202eb"}, "name"),
    ("B51 none", {"url": URL, "event_types": []}, "event_types"),
    ("B51 1,000", {"url": URL, "event_types": [f"t{n}" for n in range(1000)]}, "event_types"),
    ("B51 wild", {"url": URL, "event_types": ["*.*."]}, "event_types"),
    ("B51 number", {"url": URL, "event_types": [7]}, "event_types[0]"),
    ("B52 host", {"url": URL, "headers": {"Host": "x"}}, "headers"),
    ("B52 length", {"url": URL, "headers": {"content-length": "1"}}, "headers"),
    ("B52 webhook", {"url": URL, "headers": {"webhook-id": "x"}}, "headers"),
    ("B52 break", {"url": URL, "headers": {"X\r\nY": "x"}}, "headers"),
    ("B52 value break", {"url": URL, "headers": {"X": "a\r\nHost: b"}}, "headers"),
    ("B52 empty name", {"url": URL, "headers": {"": "x"}}, "headers"),
    ("B52 4 KB", {"url": URL, "headers": {"X": "v" * 4096}}, "headers"),
    ("C18 unicode", {"url": URL, "headers": {"X": "✓"}}, "headers"),
    ("C18 leading space", {"url": URL, "headers": {"X": " a"}}, "headers"),
    ("C18 name", {"url": URL, "headers": {"X A:": "a"}}, "headers"),
    ("B52 21", {"url": URL, "headers": {f"X-{n}": "a" for n in range(21)}}, "headers"),
    ("B53 alphabet", {"url": URL, "secret": "whsec_" + "-" * 40}, "secret"),
    ("B53 short", {"url": URL, "secret": "whsec_c2hvcnQ="}, "secret"),
    ("B53 private", {"url": URL, "secret": "whsk_" + "A" * 88}, "secret"),
    ("B54 0", {"url": URL, "rate_per_second": 0}, "rate_per_second"),
    ("B54 -1", {"url": URL, "rate_per_second": -1}, "rate_per_second"),
    ("B54 1e9", {"url": URL, "rate_per_second": 10**9}, "rate_per_second"),
    ("B54 text", {"url": URL, "rate_per_second": "ten"}, "rate_per_second"),
    ("B54 1.5", {"url": URL, "rate_per_second": 1.5}, "rate_per_second"),
    ("B54 true", {"url": URL, "max_in_flight": True}, "max_in_flight"),
    ("B56 falling", {"url": URL, "retry_schedule": [5, 1]}, "retry_schedule"),
    ("B56 negative", {"url": URL, "retry_schedule": [-1]}, "retry_schedule"),
    ("B56 51", {"url": URL, "retry_schedule": [1] * 51}, "retry_schedule"),
    ("B56 8 days", {"url": URL, "retry_schedule": [8 * 86400]}, "retry_schedule"),
    ("ordered", {"url": URL, "ordered": "yes"}, "ordered"),
    ("ed25519", {"url": URL, "ed25519": "yes"}, "ed25519"),
    ("B55 no timeout of its own", {"url": URL, "timeout": 31}, "timeout"),
]


@pytest.mark.parametrize(("sent", "field"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_will_not_be_stored_names_its_field(
    api: Api, store: Store, sent: dict[str, Any], field: str
) -> None:
    answer = api("POST", "/endpoints", sent)
    assert (answer.status_code, answer.json["field"]) == (422, field), answer.json
    assert store.db.endpoints.count_documents({}) == 0


@pytest.mark.parametrize(
    ("sent", "field"),
    [(sent, field) for _, sent, field in REFUSED if sent.get("secret") is None and sent],
    ids=[name for name, sent, _ in REFUSED if sent.get("secret") is None and sent],
)
def test_an_edit_is_refused_in_the_same_words(
    api: Api, endpoint: dict[str, Any], sent: dict[str, Any], field: str
) -> None:
    created = api("POST", "/endpoints", sent)
    edited = api("PATCH", f"/endpoints/{endpoint['id']}", sent)
    assert (edited.status_code, edited.json["field"]) == (422, field)
    assert edited.json["message"] == created.json["message"]
    assert api("GET", f"/endpoints/{endpoint['id']}").json["rev"] == 0


def test_the_secret_is_in_the_first_answer_only(api: Api) -> None:
    made = api("POST", "/endpoints", {"url": URL}).json
    assert made["secret"].startswith("whsec_")
    seen = api("GET", f"/endpoints/{made['id']}")
    assert made["secret"] not in seen.text
    assert "secret" not in seen.json


def test_a_secret_of_ones_own_is_kept(api: Api) -> None:
    own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert api("POST", "/endpoints", {"url": URL, "secret": own}).json["secret"] == own


def test_the_database_holds_no_signing_secret(
    api: Api, endpoint: dict[str, Any], store: Store
) -> None:
    assert endpoint["secret"] not in str(list(store.db.endpoints.find()))


def test_what_was_asked_for_comes_back(api: Api) -> None:
    """B50: markup in a name is text. B51: what is there twice is kept once."""
    asked = {
        "url": URL,
        "name": "  Billing <script>{{7*7}} ",
        "event_types": ["invoice.*", "user.made", "invoice.*"],
        "headers": {"X-Region": "eu", "Authorization": "Bearer abc"},
        "rate_per_second": 5,
        "max_in_flight": 2,
        "ordered": True,
        "description": "two\nlines",
        "retry_schedule": [0, 5, 60],
    }
    made = api("POST", "/endpoints", asked).json
    assert made["name"] == "Billing <script>{{7*7}}"
    assert made["event_types"] == ["invoice.*", "user.made"]
    assert made["headers"] == {"X-Region": "eu", "Authorization": MASK}
    assert made["retry_schedule"] == [0, 5, 60]
    same = ("rate_per_second", "max_in_flight", "ordered", "description", "url")
    assert {key: made[key] for key in same} == {key: asked[key] for key in same}


def test_a_masked_header_sent_back_keeps_its_value(
    api: Api, store: Store, settings: Settings
) -> None:
    made = api("POST", "/endpoints", {"url": URL, "headers": {"X-Api-Key": "s3cr3t"}}).json
    api("PATCH", f"/endpoints/{made['id']}", {"headers": {"x-api-key": MASK, "X-New": "1"}})
    stored = store.endpoints.get(api.team_id, made["id"]).headers
    vault = Vault(settings.secrets_keys)
    sent = opened(stored, lambda sealed: vault.open(made["id"], sealed))
    assert dict(sent) == {"x-api-key": "s3cr3t", "X-New": "1"}


def test_the_database_holds_no_header_credential(api: Api, store: Store) -> None:
    """W14: what is masked where it is shown is sealed where it is stored."""
    api("POST", "/endpoints", {"url": URL, "headers": {"Authorization": "Bearer s3cr3t"}})
    assert "s3cr3t" not in str(list(store.db.endpoints.find()))


def test_a_key_pair_is_made_once_and_its_public_half_shown(api: Api, store: Store) -> None:
    """G8."""
    made = api("POST", "/endpoints", {"url": URL, "ed25519": True}).json
    assert made["public_key"].startswith("whpk_")
    path = f"/endpoints/{made['id']}"
    kept = api("PATCH", path, {"ed25519": True, "name": "same key"}).json
    assert kept["public_key"] == made["public_key"]
    assert "whsk_" not in str(list(store.db.endpoints.find()))
    assert api("PATCH", path, {"ed25519": False}).json["public_key"] is None
    again = api("PATCH", path, {"ed25519": True}).json
    assert again["public_key"] not in (None, made["public_key"])


def test_null_puts_a_field_back_to_its_default(api: Api) -> None:
    made = api("POST", "/endpoints", {"url": URL, "rate_per_second": 5, "ordered": True}).json
    changed = {"rate_per_second": None, "ordered": None}
    edited = api("PATCH", f"/endpoints/{made['id']}", changed).json
    assert (edited["rate_per_second"], edited["ordered"]) == (None, False)


def test_a_stale_edit_is_refused(api: Api, endpoint: dict[str, Any]) -> None:
    """B59."""
    path = f"/endpoints/{endpoint['id']}"
    assert api("PATCH", path, {"name": "one", "rev": 0}).status_code == 200
    stale = api("PATCH", path, {"name": "two", "rev": 0})
    assert stale.status_code == 409
    assert "reload" in stale.json["message"]
    assert api("GET", path).json["name"] == "one"


def test_the_same_url_twice_is_saved_with_a_warning(api: Api, endpoint: dict[str, Any]) -> None:
    """B58."""
    again = api("POST", "/endpoints", {"url": endpoint["url"]})
    assert again.status_code == 201
    assert again.json["warnings"]


def test_one_more_than_the_limit_is_a_conflict(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """B57."""
    monkeypatch.setattr("relay_web.store.endpoints.ENDPOINTS_PER_TEAM", 2)
    statuses = [api("POST", "/endpoints", {"url": URL}).status_code for _ in range(3)]
    assert statuses == [201, 201, 409]


def test_twenty_saves_of_one_form_are_one_endpoint(api: Api, store: Store) -> None:
    def save(_: int) -> tuple[int, str, str]:
        own = Api(api.client.application.test_client(), api.team_id, api.key)
        answer = own("POST", "/endpoints", {"url": URL}, headers={"Idempotency-Key": "form-1"})
        return answer.status_code, answer.json["id"], answer.json["secret"]

    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(save, range(20)))) == 1
    assert store.db.endpoints.count_documents({}) == 1


def test_pause_and_resume_can_be_repeated(api: Api, endpoint: dict[str, Any]) -> None:
    path = f"/endpoints/{endpoint['id']}"
    states = [
        api("POST", f"{path}/{verb}").json["state"]
        for verb in ("pause", "pause", "resume", "resume")
    ]
    assert states == ["paused", "paused", "active", "active"]
    assert api("GET", path).json["rev"] == 2


def test_a_deleted_endpoint_is_gone_for_every_verb(api: Api, endpoint: dict[str, Any]) -> None:
    """B60 and B61."""
    path = f"/endpoints/{endpoint['id']}"
    assert api("DELETE", path).status_code == 204
    for method, suffix, body in (
        ("DELETE", "", None), ("GET", "", None), ("PATCH", "", {"name": "x"}),
        ("POST", "/pause", None), ("POST", "/test", None), ("POST", "/rotate-secret", None),
    ):  # fmt: skip
        assert api(method, path + suffix, body).status_code == 404, (method, suffix)
    assert api("GET", "/endpoints").json["items"] == []


def test_rotation_keeps_four_old_secrets_and_no_more(api: Api, endpoint: dict[str, Any]) -> None:
    """B62."""
    path = f"/endpoints/{endpoint['id']}/rotate-secret"
    answers = [api("POST", path) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 4 + [409]
    assert len(answers[3].json["secrets"]) == 5
    assert [each["expires_at"] is None for each in answers[3].json["secrets"]] == [True] + 4 * [
        False
    ]
    ended = api("POST", path, {"overlap": 0})
    assert ended.status_code == 200
    assert len(ended.json["secrets"]) == 1


@pytest.mark.parametrize("overlap", [-1, 7 * 86400 + 1, "1", 1.5])
def test_an_odd_overlap_is_refused(api: Api, endpoint: dict[str, Any], overlap: Any) -> None:
    answer = api("POST", f"/endpoints/{endpoint['id']}/rotate-secret", {"overlap": overlap})
    assert (answer.status_code, answer.json["field"]) == (422, "overlap")


def test_a_test_event_goes_to_this_endpoint_alone(api: Api, store: Store) -> None:
    first = api("POST", "/endpoints", {"url": URL, "event_types": ["a.b"]}).json
    api("POST", "/endpoints", {"url": URL})
    sent = api("POST", f"/endpoints/{first['id']}/test")
    assert (sent.status_code, sent.json["deliveries"]) == (202, 1)
    assert [doc["endpoint"] for doc in store.db.deliveries.find()] == [first["id"]]


def test_a_paused_endpoint_takes_no_test_event(api: Api, endpoint: dict[str, Any]) -> None:
    """B63."""
    api("POST", f"/endpoints/{endpoint['id']}/pause")
    assert api("POST", f"/endpoints/{endpoint['id']}/test").status_code == 409


def test_every_change_leaves_one_row_in_the_audit_log(
    api: Api, endpoint: dict[str, Any], store: Store
) -> None:
    path = f"/endpoints/{endpoint['id']}"
    api("PATCH", path, {"headers": {"X-Token": "s3cr3t"}})
    for verb in ("pause", "resume", "test", "rotate-secret"):
        api("POST", f"{path}/{verb}")
    api("DELETE", path)
    rows = store.audit.list(api.team_id).items
    assert [row.action for row in reversed(rows)] == [
        "endpoint.created", "endpoint.edited", "endpoint.paused", "endpoint.resumed",
        "endpoint.tested", "endpoint.secret_rotated", "endpoint.deleted",
    ]  # fmt: skip
    assert "s3cr3t" not in str(rows)
    assert endpoint["secret"] not in str(rows)
    assert all(row.request_id and row.who.startswith("key rk_") for row in rows)
