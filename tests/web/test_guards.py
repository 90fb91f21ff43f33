"""What stands before every page: headers, forgery checks, proxies, https, assets, sign-in."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from relay_web.domain.people import hash_password
from relay_web.settings import Settings
from relay_web.store import Store
from relay_web.web import create_app
from relay_web.web.assets import htmx_file
from tests.web.conftest import PASSWORD, Visitor

KEY = "a-long-random-text-for-tests-only-0123456789"


@pytest.fixture
def production(store: Store, tmp_path: Path) -> Flask:
    settings = Settings.load(
        {
            "MONGODB_URI": "mongodb://db.example/relay",
            "SECRET_KEY": KEY,
            "RELAY_SECRETS_KEY": KEY[::-1],
            "RELAY_PUBLIC_URL": "https://relay.example",
            "RELAY_TRUSTED_PROXIES": "1",
        },
        data_dir=tmp_path,
    )
    return create_app(settings, store)


@pytest.mark.parametrize("path", ["/signin", "/no/such/page", "/static/relay.css", "/healthz"])
def test_every_answer_carries_the_headers(app: Flask, path: str) -> None:
    with app.test_client().get(path) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin"


def test_no_template_holds_an_inline_script_or_style(app: Flask) -> None:
    for path in Path(app.template_folder or "").rglob("*.html"):
        text = path.read_text()
        assert " style=" not in text, path
        assert "<style" not in text, path
        assert "|safe" not in text, path
        assert " hx-on" not in text, path
        assert "<script>" not in text, path


def test_an_unsafe_request_without_a_token_is_refused_and_changes_nothing(
    ana: Visitor, visit: Callable[..., Visitor]
) -> None:
    """B69."""
    other = visit("Elsewhere").token()
    for token in ({}, {"csrf_token": "old"}, {"csrf_token": other}, {"csrf_token": ""}):
        form = {"url": "http://127.0.0.1/", **token}
        answer = ana.client.post(f"{ana.home}/endpoints", data=form)
        assert answer.status_code == 403
        assert "older than your session" in answer.text


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 422)]
)
def test_a_form_that_another_site_sent_is_refused(ana: Visitor, site: str, status: int) -> None:
    assert ana.post("/endpoints", {"url": ""}, Sec_Fetch_Site=site).status_code == status


def test_every_unsafe_route_of_the_pages_asks_for_a_token(app: Flask, ana: Visitor) -> None:
    checked = 0
    for rule in app.url_map.iter_rules():
        if not rule.methods or "POST" not in rule.methods or rule.rule.startswith("/api/"):
            continue
        path = re.sub(r"<[^>]+>", "1", rule.rule.replace("<team>", ana.team.slug))
        assert ana.client.post(path).status_code == 403, rule.rule
        checked += 1
    assert checked > 8


def test_production_sends_browsers_to_https_and_its_cookie_stays_there(production: Flask) -> None:
    client = production.test_client()
    plain = client.get("/signin", base_url="http://relay.example")
    assert plain.status_code == 308
    assert plain.location == "https://relay.example/signin"
    assert client.post("/signin", base_url="http://relay.example").status_code in (400, 403)
    assert client.get("/healthz", base_url="http://relay.example").status_code == 200
    secure = client.get(
        "/signin", base_url="http://relay.example", headers={"X-Forwarded-Proto": "https"}
    )
    assert secure.status_code == 200
    assert secure.headers["Strict-Transport-Security"].startswith("max-age=")
    cookie = secure.headers["Set-Cookie"]
    assert cookie.startswith("__Host-relay=")
    assert "Secure; HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_a_host_that_is_not_ours_is_refused(production: Flask) -> None:
    """B91."""
    client = production.test_client()
    assert client.get("/signin", base_url="https://evil.example").status_code == 400
    # A platform asks for these by the address of the machine.
    assert client.get("/healthz", base_url="http://10.1.2.3:5000").status_code == 200


def test_htmx_is_the_file_we_know_and_is_kept_for_a_year(app: Flask) -> None:
    digest = hashlib.sha256(htmx_file().read_bytes()).hexdigest()
    assert digest == "491955cd1810747d7d7b9ccb936400afb760e06d25d53e4572b64b6563b2784e"
    page = app.test_client().get("/signin").text
    address = page.split('<script src="')[1].split('"')[0]
    with app.test_client().get(address) as answer:
        assert answer.status_code == 200
        assert answer.mimetype == "text/javascript"
        assert "immutable" in answer.headers["Cache-Control"]
    assert app.test_client().get("/static/htmx-0.0.1.js").status_code == 404


def test_sheet_and_script_stay_within_their_budgets(app: Flask) -> None:
    import gzip

    folder = Path(app.static_folder or "")
    assert len(gzip.compress((folder / "relay.css").read_bytes())) <= 20 * 1024
    assert len(gzip.compress((folder / "app.js").read_bytes())) <= 6 * 1024


def test_a_wrong_password_and_an_unknown_address_read_the_same(app: Flask, ana: Visitor) -> None:
    client = app.test_client()
    token = client.get("/signin").text.split('name="csrf_token" value="')[1].split('"')[0]
    pages = []
    for email in (ana.email, "nobody@acme.example"):
        form = {"csrf_token": token, "email": email, "password": "not the right words"}
        answer = client.post("/signin", data=form)
        assert answer.status_code == 422
        assert "Email or password is wrong." in answer.text
        assert f'value="{email}"' in answer.text
        pages.append(answer.text.replace(email, ""))
    # The time of day, and the token that holds it, are all that may differ.
    first, second = (
        [line for line in page.splitlines() if "data-now" not in line and "csrf_token" not in line]
        for page in pages
    )
    assert first == second


@pytest.mark.parametrize(
    "going", ["//evil.example", "https://evil.example", "/\\evil", "javascript:x"]
)
def test_signing_in_leads_to_paths_of_this_site_only(app: Flask, store: Store, going: str) -> None:
    user = store.accounts.users.add("eve@acme.example", hash_password(PASSWORD))
    store.accounts.teams.add("Eves", user.id)
    client = app.test_client()
    page = client.get("/signin", query_string={"next": going}).text
    assert "evil" not in page
    token = page.split('name="csrf_token" value="')[1].split('"')[0]
    form = {"csrf_token": token, "email": user.email, "password": PASSWORD, "next": going}
    assert client.post("/signin", data=form).location == "/"


def test_signing_out_ends_it_and_empties_this_browsers_cache(ana: Visitor) -> None:
    answer = ana.post("/signout")
    assert answer.status_code == 303
    assert answer.headers["Clear-Site-Data"] == '"cache"'
    assert ana.get("/deliveries").status_code == 303


def test_theme_and_zone_are_kept_and_nonsense_is_refused(ana: Visitor) -> None:
    """B76."""
    assert ana.post("/account", {"theme": "dark", "zone": "Europe/Berlin"}).status_code == 303
    page = ana.get("/account").text
    assert 'data-theme="dark"' in page
    assert 'value="Europe/Berlin"' in page
    assert ana.post("/account", {"theme": "dark", "zone": "Mars/Olympus"}).status_code == 422
