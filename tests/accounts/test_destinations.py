"""No way of saving a URL lets one pass that leads inside: API, form, either's edit, the hint."""

from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from relay_web.domain.egress import EgressPolicy
from relay_web.domain.roles import Scope
from relay_web.store import Store
from tests.accounts.conftest import Crew
from tests.bypasses import INSIDE, URLS, urls

#: Neighbours of what is refused.
S2 = ("172.32.0.1", "100.128.0.1", "100.63.255.254", "11.0.0.1", "169.253.1.1", "192.0.3.1")


@pytest.fixture
def guarded(app: Flask) -> Flask:
    """An instance that allows http and nothing else beyond the defaults."""
    parts = app.extensions["relay"]
    policy = EgressPolicy(allow_http=True, own_hosts=frozenset({"relay.example"}))
    app.extensions["relay"] = replace(parts, policy=policy)
    return app


@pytest.mark.parametrize("row", [*INSIDE, *URLS])
def test_no_way_of_saving_takes_a_url_that_leads_inside(
    crew: Crew, store: Store, guarded: Flask, row: str
) -> None:
    """S1 to S6, S8, S11 to S14, S17, and S19 for the edits; B42 and B43 in full."""
    api, member = _api(crew, store), crew.browsers["member"]
    home = "/t/acme/endpoints"
    kept = api("POST", "/endpoints", {"url": "https://ok.test/"}).json["id"]
    before = list(store.db.endpoints.find())
    token = member.token("/account")
    for url in urls(row):
        form = {"url": url, "which": "all", "csrf_token": token}
        answers = [
            api("POST", "/endpoints", {"url": url}),
            api("PATCH", f"/endpoints/{kept}", {"url": url}),
            member.client.post(home, data=form),
            member.client.post(f"{home}/{kept}/edit", data=form),
        ]
        assert [answer.status_code for answer in answers] == [422] * 4, url
        assert answers[0].json["message"] == answers[1].json["message"]
        assert answers[0].json["field"] == "url"
        hint = member.client.post(f"{home}/check-url", data=form).text
        assert 'data-tone="bad"' in hint, (url, hint)
    assert list(store.db.endpoints.find()) == before


@pytest.mark.parametrize("host", S2)
def test_the_neighbours_of_what_is_refused_are_saved(
    crew: Crew, store: Store, guarded: Flask, host: str
) -> None:
    """S2."""
    assert _api(crew, store)("POST", "/endpoints", {"url": f"https://{host}/"}).status_code == 201


def test_plain_http_is_refused_where_the_instance_wants_https(
    crew: Crew, store: Store, app: Flask
) -> None:
    """B41, by API and form."""
    app.extensions["relay"] = replace(app.extensions["relay"], policy=EgressPolicy())
    sent = {"url": "http://ok.test/"}
    answer = _api(crew, store)("POST", "/endpoints", sent)
    assert (answer.status_code, answer.json["field"]) == (422, "url")
    assert "https only on this instance" in answer.json["message"]
    form = crew.browsers["member"].post("/t/acme/endpoints", sent)
    assert form.status_code == 422
    assert "https only on this instance" in form.text


def test_an_international_name_is_stored_in_its_wire_form_and_shown_in_both(
    crew: Crew, store: Store, guarded: Flask
) -> None:
    """B48."""
    made = _api(crew, store)("POST", "/endpoints", {"url": "https://bücher.example/in"})
    assert made.json["url"] == "https://xn--bcher-kva.example/in"
    page = crew.browsers["viewer"].get(f"/t/acme/endpoints/{made.json['id']}").text
    assert "xn--bcher-kva.example" in page
    assert "bücher.example" in page


@pytest.mark.parametrize("text", ["x" * 500, ".*", "$where", '{"$gt":""}', "a[$ne]", "\\Q", "‮x"])
def test_a_search_is_literal(crew: Crew, store: Store, guarded: Flask, text: str) -> None:
    """B82: nothing is found by an operator, and the answer says what can be searched."""
    _api(crew, store)("POST", "/endpoints", {"url": "https://ok.test/", "name": "Billing"})
    viewer = crew.browsers["viewer"]
    found = viewer.get("/t/acme/deliveries", query_string={"q": text}, follow_redirects=True)
    assert found.status_code == 200
    listed = viewer.get("/t/acme/endpoints", query_string={"q": text})
    assert listed.status_code == 200
    assert "Billing" not in listed.text


def _api(crew: Crew, store: Store) -> Any:
    _, key = store.accounts.keys.add(crew.team.id, name="k", scopes=[Scope.ADMIN], by="t")
    client = crew.browsers["admin"].client
    headers = {"Authorization": f"Bearer {key}"}

    def call(method: str, path: str, body: Any = None) -> Any:
        return client.open(f"/api/v1{path}", method=method, json=body, headers=headers)

    return call
