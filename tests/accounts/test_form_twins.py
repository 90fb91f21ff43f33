"""What the API refuses at registration, the form refuses in the same words, and saves nothing."""

from typing import Any

import pytest

from relay_web.domain.roles import Scope
from relay_web.store import Store
from tests.accounts.conftest import Crew
from tests.api.test_endpoints import REFUSED

#: What a form cannot say, having no numbers, lists or unknown fields, or says in words of its own.
NOT_IN_A_FORM = {
    *("B39 number", "B39 list", "B49 newline", "B51 none", "B51 number", "B51 1,000"),
    *("B52 break", "B52 value break", "B52 empty name", "C18 leading space", "C18 name"),
    *("B54 -1", "B54 1e9", "B54 text", "B54 1.5", "B54 true", "ordered", "ed25519"),
}
FIELDS = {"url", "name", "event_types", "headers", "rate_per_second", "max_in_flight"}
TWINS = [
    (name, sent)
    for name, sent, _ in REFUSED
    if name not in NOT_IN_A_FORM and sent.keys() <= FIELDS and sent
]


def as_form(sent: dict[str, Any]) -> dict[str, str]:
    form = {key: str(value) for key, value in sent.items()}
    if "event_types" in sent:
        form |= {"which": "some", "event_types": "\n".join(sent["event_types"])}
    if "headers" in sent:
        form["headers"] = "\n".join(f"{name}: {value}" for name, value in sent["headers"].items())
    return form


@pytest.mark.parametrize("sent", [sent for _, sent in TWINS], ids=[name for name, _ in TWINS])
def test_the_form_refuses_what_the_api_refuses(
    crew: Crew, store: Store, sent: dict[str, Any]
) -> None:
    _, key = store.accounts.keys.add(crew.team.id, name="k", scopes=[Scope.ADMIN], by="t")
    headers = {"Authorization": f"Bearer {key}"}
    member = crew.browsers["member"]
    said = member.client.post("/api/v1/endpoints", json=sent, headers=headers).json["message"]
    answer = member.post("/t/acme/endpoints", as_form(sent), page="/t/acme/endpoints/new")
    assert answer.status_code == 422
    assert said.split(".")[0] in answer.text.replace("&#34;", '"').replace("&#39;", "'")
    assert 'aria-invalid="true"' in answer.text
    assert store.db.endpoints.count_documents({}) == 0
