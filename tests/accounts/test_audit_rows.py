"""Every route that changes something leaves exactly one row; the routes are the URL map's (W18)."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from relay_web.domain.bulk import Kind
from relay_web.domain.roles import Role, Scope
from relay_web.engine.bulk_preview import start
from relay_web.engine.registration import Draft, register, rotate_secret
from relay_web.store import Store
from relay_web.store.bulk_jobs import Wish
from relay_web.store.filtering import Filters
from tests import factories
from tests.accounts.conftest import PASSWORD, Browser, Crew
from tests.api.test_deliveries import end, lease
from tests.guard import BY_HAND
from tests.stories import Teller

#: What changes nothing, or is itself the record of what happened.
NO_ROW = {
    "account.save": "theme and time zone are cookies",
    "api.publish": "the event is the record",
    "api.publish_batch": "the events are the record",
    "endpoints.check_url": "looks, and keeps nothing",
    "resetting.forgot": "a row would take time only where there is an account",
}
#: The row that each route leaves, and what it is sent.
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "account.sign_in": ("user.signed_in", {"email": "owner@example.com", "password": PASSWORD}),
    "account.sign_out": ("user.signed_out", {}),
    "bulk.recover": ("bulk.started", {}),
    "bulk.start": ("bulk.started", {}),
    "bulk.stop": ("bulk.stopped", {}),
    "confirming.confirm": ("team.made", {}),
    "deliveries.as_signed_curl": ("delivery.signed_curl", {}),
    "deliveries.cancel": ("delivery.cancelled", {}),
    "deliveries.retry": ("delivery.retried", {}),
    "deliveries.take_over": ("delivery.taken_over", {}),
    "devices.end": ("user.device_ended", {}),
    "devices.end_others": ("user.devices_ended", {}),
    "devices.set_password": (
        "user.password_changed", {"current": PASSWORD, "password": "another long walk"},
    ),
    "endpoints.create": ("endpoint.created", {"url": "http://127.0.0.1:8080/"}),
    "endpoints.delete": ("endpoint.deleted", {"name": "127.0.0.1"}),
    "endpoints.end": ("endpoint.secret_ended", {}),
    "endpoints.pause": ("endpoint.paused", {}),
    "endpoints.resume": ("endpoint.resumed", {}),
    "endpoints.reveal": ("endpoint.secret_revealed", {}),
    "endpoints.rotate": ("endpoint.secret_rotated", {"overlap": "24"}),
    "endpoints.save": ("endpoint.edited", {"url": "http://127.0.0.1:8080/n", "rev": "0"}),
    "endpoints.test": ("endpoint.tested", {}),
    "events.resend_failed": ("event.replayed", {}),
    "events.send_to": ("event.replayed", {}),
    "joining.accept": ("member.joined", {"password": PASSWORD}),
    "joining.sign_up": (
        "team.made", {"email": "new@example.com", "password": PASSWORD, "team": "Newcomers"},
    ),
    "resetting.reset": ("user.password_reset", {"password": "another long walk"}),
    "settings.delete_team": ("team.deleted", {"confirm": "Acme"}),
    "settings.invite": ("invite.made", {"email": "eva@example.com", "role": "member"}),
    "settings.make_key": ("key.made", {"name": "shop", "scope": ["read"], "life": ""}),
    "settings.remove": ("member.removed", {}),
    "settings.rename": ("team.renamed", {"name": "Umbrella"}),
    "settings.resend": ("invite.resent", {}),
    "settings.revoke_key": ("key.revoked", {}),
    "settings.set_role": ("member.role_changed", {"role": "admin"}),
    "settings.withdraw": ("invite.withdrawn", {}),
    "teams.create": ("team.made", {"team": "Second"}),
}  # fmt: skip
API: dict[str, tuple[str, Any]] = {
    "api.cancel_delivery": ("delivery.cancelled", None),
    "api.create_endpoint": ("endpoint.created", {"url": "http://127.0.0.1:8080/x"}),
    "api.create_event_type": ("event_type.created", {"name": "a.b"}),
    "api.delete_endpoint": ("endpoint.deleted", None),
    "api.delete_event_type": ("event_type.deleted", None),
    "api.edit_endpoint": ("endpoint.edited", {"name": "x"}),
    "api.pause_endpoint": ("endpoint.paused", None),
    "api.recover_endpoint": ("bulk.started", {"since": "2020-01-01T00:00:00Z"}),
    "api.replay_event": ("event.replayed", None),
    "api.resume_endpoint": ("endpoint.resumed", None),
    "api.retry_deliveries": ("bulk.started", {"state": ["failed"]}),
    "api.retry_delivery": ("delivery.retried", None),
    "api.rotate_secret": ("endpoint.secret_rotated", None),
    "api.stop_bulk_job": ("bulk.stopped", None),
    "api.try_endpoint": ("endpoint.tested", None),
}
#: Done by somebody who is not signed in.
OUTSIDE = {
    "account.sign_in", "confirming.confirm", "joining.accept", "joining.sign_up", "resetting.reset",
}  # fmt: skip
#: What stands behind the `?` of an address.
QUERY = {"bulk.start": "?state=failed", "bulk.recover": "?since=2020-01-01T00:00:00Z"}
#: Which state a delivery has to be in for what is done with it.
IN_STATE = {
    "deliveries.retry": "failed", "api.retry_delivery": "failed", "api.replay_event": "failed",
    "api.retry_deliveries": "failed", "api.recover_endpoint": "failed",
    "bulk.start": "failed", "bulk.stop": "failed", "bulk.recover": "failed",
    "api.stop_bulk_job": "failed", "deliveries.take_over": "leased",
    "events.resend_failed": "failed",
}  # fmt: skip


def unsafe_routes(app: Flask) -> Iterator[tuple[str, str, str]]:
    """(view, method, rule) of everything but GET."""
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) - {"GET", "HEAD", "OPTIONS"}:
            yield rule.endpoint, method, rule.rule


def test_every_unsafe_route_says_what_row_it_leaves(app: Flask) -> None:
    views = {view for view, _, _ in unsafe_routes(app)}
    assert views == PAGES.keys() | API.keys() | NO_ROW.keys()


@pytest.fixture
def ids(crew: Crew, app: Flask, store: Store, request: pytest.FixtureRequest) -> dict[str, str]:
    """One of everything in the crew's team, by the names that routes give them."""
    parts, team = app.extensions["relay"], crew.team.id
    endpoint, _ = register(
        store, parts.vault, parts.policy, team, Draft(url="http://127.0.0.1:8080/mine")
    )
    view = request.getfixturevalue("view")
    if view == "endpoints.end":
        rotate_secret(store, parts.vault, team, endpoint.id)
    if view == "deliveries.as_signed_curl":
        tries = [{"status": 503, "cause": "server_error", "at": 90, "verdict": "retry"}]
        delivery = Teller(store, team).delivery(endpoint, tries=tries)
    else:
        delivery = factories.make_delivery(store, endpoint).id
        if (state := IN_STATE.get(view)) is not None:
            lease(store, delivery) if state == "leased" else _fail(store, delivery)
    key, _ = store.accounts.keys.add(team, name="mine", scopes=[Scope.READ], by="t")
    ticket, token = store.accounts.invites.invite(
        team=team, email="guest@example.com", role=Role.MEMBER, by=crew.users["owner"].id
    )
    if view == "resetting.reset":
        owner = crew.users["owner"]
        _, token = store.accounts.resets.reset(user=owner.id, email=owner.email)
    if view == "confirming.confirm":
        _, token = store.accounts.signups.sign_up(
            email="new@example.com", password_hash="x", team="Newcomers"
        )
    store.event_types.add(team, "their.type", "", None)
    wish = Wish(team=team, kind=Kind.RETRY, filters=Filters(), as_of=store.now(), pace=None)
    job = start(store, wish, action_id="job-00000001", by="t").id if "stop" in view else ""
    session = store.accounts.sessions.of_user(crew.users["owner"])[0].id
    return {
        "team": crew.team.slug, "endpoint_id": endpoint.id, "delivery": delivery,
        "delivery_id": delivery, "key": key.id, "ticket": ticket.id, "token": token,
        "user": crew.users["member"].id, "session": session, "name": "their.type",
        "secret_id": endpoint.secrets[0].id,
        "job": job, "job_id": job,
        "event": store.deliveries.get(team, delivery).event,
        "event_id": store.deliveries.get(team, delivery).webhook_id,
    }  # fmt: skip


@pytest.mark.parametrize("view", PAGES)
def test_a_form_leaves_one_row(
    crew: Crew, app: Flask, store: Store, ids: dict[str, str], view: str
) -> None:
    action, form = PAGES[view]
    rule = next(rule for found, _, rule in unsafe_routes(app) if found == view)
    outside = view in OUTSIDE
    browser = Browser(app.test_client()) if outside else crew.browsers["owner"]
    page = "/signin" if outside else "/account"
    if view == "endpoints.reveal":
        form = {"password": PASSWORD}
    if view == "events.send_to":  # to one that was registered after the event
        draft = Draft(url="http://127.0.0.1:8080/late")
        parts = app.extensions["relay"]
        form = {"endpoint": register(store, parts.vault, parts.policy, crew.team.id, draft)[0].id}
    sent = {"action_id": "action-00000001", **form}
    answer = browser.post(_at(rule, ids) + QUERY.get(view, ""), sent, page=page)
    assert answer.status_code in (200, 303), answer.text
    assert _actions(store) == [action]


@pytest.mark.parametrize("view", API)
def test_a_call_leaves_one_row(
    crew: Crew, app: Flask, store: Store, ids: dict[str, str], view: str
) -> None:
    action, body = API[view]
    _, key = store.accounts.keys.add(crew.team.id, name="k", scopes=[Scope.ADMIN], by="t")
    method, rule = next((how, at) for found, how, at in unsafe_routes(app) if found == view)
    headers = {"Authorization": f"Bearer {key}"}
    answer = app.test_client().open(_at(rule, ids), method=method, json=body, headers=headers)
    assert answer.status_code < 300, answer.text
    assert _actions(store) == [action]


def _fail(store: Store, delivery: str) -> None:
    end(store, delivery, "failed")
    last = {
        "token": 1, "lease_id": "", "worker": "w1",
        "status": 500, "cause": "server_error", "at": "$$NOW", "ms": 1.0,
    }  # fmt: skip
    ended = [{"$set": {"finished_at": "$$NOW", "last": last}}]
    store.db.deliveries.update_one({"_id": delivery}, ended, comment=BY_HAND)


def _at(rule: str, ids: dict[str, str]) -> str:
    numbered = rule.replace("<int:token>", "1")
    return re.sub(r"<(\w+)>", lambda part: ids[part.group(1)], numbered)


def _actions(store: Store) -> list[str]:
    return [row["action"] for row in store.db.audit.find().sort("_id")]
