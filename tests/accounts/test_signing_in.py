"""Signing in and out, as a visitor does it."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from relay_web.store import Store
from relay_web.store.users import User
from tests.accounts.conftest import PASSWORD, Browser, Crew

WRONG = "Email or password is wrong."


def test_a_wrong_password_and_an_unknown_user_get_the_same_page(
    visitor: Browser, make_user: Callable[[str], User]
) -> None:
    """B67."""
    make_user("ana@example.com")
    pages = []
    for email in ("ana@example.com", "eva@example.com"):
        answer = visitor.sign_in(email, "not the password")
        assert answer.status_code == 422
        assert WRONG in answer.text
        pages.append(answer.text.replace(email, ""))
    without_tokens = [page.split("csrf_token")[0] for page in pages]
    assert without_tokens[0].split("data-now")[0] == without_tokens[1].split("data-now")[0]


def test_an_unknown_user_costs_a_hash_too(
    visitor: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B67."""
    seen: list[Any] = []

    def compare(stored: str | None, password: str) -> bool:
        seen.append(stored)
        return False

    monkeypatch.setattr("relay_web.web.auth.password_matches", compare)
    visitor.sign_in("nobody@example.com")
    visitor.sign_in("not an address")
    assert seen == [None, None]


def test_the_sixth_try_waits_even_with_the_right_password(
    visitor: Browser, make_user: Callable[[str], User], store: Store
) -> None:
    """B68."""
    make_user("ana@example.com")
    for _ in range(5):
        assert visitor.sign_in("ana@example.com", "wrong").status_code == 422
    answer = visitor.sign_in("ANA@example.com")
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 30
    assert f"Try again in {answer.headers['Retry-After']} s." in answer.text
    store.db.throttle.update_many({}, [{"$set": {"until": "$$NOW"}}])
    assert visitor.sign_in("ana@example.com").status_code == 303


def test_a_forwarded_address_that_nobody_vouches_for_does_not_help(
    visitor: Browser, make_user: Callable[[str], User]
) -> None:
    statuses = []
    for number in range(31):
        form = {"email": f"u{number}@example.com", "password": "x"}
        headers = {"X-Forwarded-For": f"203.0.113.{number}"}
        statuses.append(visitor.post("/signin", form, headers=headers).status_code)
    assert statuses[:30] == [422] * 30
    assert statuses[30] == 429


@pytest.mark.parametrize(
    "going",
    [
        "//evil.test",
        "/\\evil.test",
        "https:evil.test",
        "javascript:alert(1)",
        "/a\r\nX: y",
        "/" + "a" * 3000,
        "evil",
    ],
)
def test_after_signing_in_one_stays_on_this_site(
    visitor: Browser, make_user: Callable[[str], User], going: str
) -> None:
    """B71."""
    make_user("ana@example.com")
    form = {"email": "ana@example.com", "password": PASSWORD, "next": going}
    answer = visitor.post("/signin", form)
    assert (answer.status_code, answer.location) == (303, "/")


def test_signing_in_drops_what_the_browser_had_before(
    visitor: Browser, make_user: Callable[[str], User]
) -> None:
    make_user("ana@example.com")
    with visitor.client.session_transaction() as session:
        session["planted"] = "by somebody else"
    visitor.sign_in("ana@example.com")
    with visitor.client.session_transaction() as session:
        assert "planted" not in session


def test_a_stolen_cookie_dies_with_the_sign_out(crew: Crew, app: Flask) -> None:
    owner = crew.browsers["owner"]
    cookie = owner.client.get_cookie("relay")
    assert cookie is not None
    thief = Browser(app.test_client())
    thief.client.set_cookie("relay", cookie.value)
    assert thief.get("/t/acme/").status_code == 200
    assert owner.post("/signout", page="/account").status_code == 303
    answer = thief.get("/t/acme/")
    assert answer.status_code == 303
    assert answer.location.startswith("/signin?next=")


def test_an_htmx_request_without_a_sign_in_moves_the_whole_page(app: Flask) -> None:
    """B92."""
    headers = {"HX-Request": "true", "HX-Current-URL": "http://localhost/t/acme/"}
    answer = app.test_client().get("/t/acme/", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/signin?next=%2Ft%2Facme%2F"


def test_changing_the_password_signs_out_everywhere_else(crew: Crew, app: Flask) -> None:
    here, there = crew.browsers["member"], Browser(app.test_client())
    there.sign_in("member@example.com")
    form = {"current": PASSWORD, "password": "another long walk"}
    assert here.post("/account/password", form, page="/account/devices").status_code == 303
    assert here.get("/account").status_code == 200
    assert there.get("/account").status_code == 303
    assert there.sign_in("member@example.com").status_code == 422
    assert there.sign_in("member@example.com", "another long walk").status_code == 303


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"current": "wrong", "password": "another long walk"}, "not your current password"),
        ({"current": PASSWORD, "password": "short"}, "12 to 128"),
        ({}, "not your current password"),
    ],
)
def test_a_password_that_cannot_be_changed_says_why(
    crew: Crew, form: dict[str, str], said: str
) -> None:
    answer = crew.browsers["member"].post("/account/password", form, page="/account/devices")
    assert answer.status_code == 422
    assert said in answer.text


def test_devices_are_listed_and_ended_one_by_one(crew: Crew, app: Flask, store: Store) -> None:
    here, there = crew.browsers["viewer"], Browser(app.test_client())
    there.sign_in("viewer@example.com")
    sessions = list(store.db.sessions.find({"user": crew.users["viewer"].id}).sort("_id"))
    assert here.get("/account/devices").text.count("(this one)") == 1
    here.post(f"/account/devices/{sessions[-1]['_id']}/end", page="/account/devices")
    assert there.get("/account").status_code == 303
    assert here.get("/account").status_code == 200


def test_a_form_field_sent_twice_or_with_an_operator_is_refused(visitor: Browser) -> None:
    """B70."""
    token = visitor.token("/signin")
    for body in ("email=a&email=b", "email[$ne]=1", "a[]=1"):
        answer = visitor.client.post(
            "/signin",
            data=f"csrf_token={token}&{body}",
            content_type="application/x-www-form-urlencoded",
        )
        assert answer.status_code == 400, body


def test_a_password_of_ten_megabytes_is_too_large(visitor: Browser) -> None:
    """B66."""
    assert visitor.sign_in("ana@example.com", "x" * 10_000_000).status_code == 413
