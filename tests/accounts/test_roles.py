"""Every page route × everybody who might try it. A route that is not listed here fails the run."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from relay_web.domain.event import Publish
from relay_web.domain.roles import Role, Scope
from relay_web.engine.intake import Intake
from relay_web.engine.registration import Draft, register
from relay_web.store import Store
from tests.accounts.conftest import Browser, Crew

#: The least role for each unsafe route of a team, and for the reading ones that viewers may not.
LEAST = {
    "bulk.preview": Role.MEMBER,
    "bulk.recover": Role.MEMBER,
    "bulk.recover_preview": Role.MEMBER,
    "bulk.start": Role.MEMBER,
    "bulk.stop": Role.MEMBER,
    "deliveries.as_signed_curl": Role.ADMIN,
    "deliveries.cancel": Role.MEMBER,
    "deliveries.retry": Role.MEMBER,
    "deliveries.take_over": Role.MEMBER,
    "endpoints.check_url": Role.MEMBER,
    "endpoints.create": Role.MEMBER,
    "endpoints.delete": Role.ADMIN,
    "endpoints.edit_page": Role.MEMBER,
    "endpoints.end": Role.ADMIN,
    "endpoints.new": Role.MEMBER,
    "endpoints.pause": Role.MEMBER,
    "endpoints.resume": Role.MEMBER,
    "endpoints.reveal": Role.ADMIN,
    "endpoints.rotate": Role.ADMIN,
    "endpoints.save": Role.MEMBER,
    "endpoints.test": Role.MEMBER,
    "events.resend_failed": Role.MEMBER,
    "events.send_to": Role.MEMBER,
    "settings.audit": Role.ADMIN,
    "settings.audit_csv": Role.ADMIN,
    "settings.delete_team": Role.OWNER,
    "settings.invite": Role.ADMIN,
    "settings.make_key": Role.ADMIN,
    "settings.remove": Role.ADMIN,
    "settings.rename": Role.ADMIN,
    "settings.resend": Role.ADMIN,
    "settings.revoke_key": Role.ADMIN,
    "settings.set_role": Role.ADMIN,
    "settings.withdraw": Role.ADMIN,
}
#: Reading needs no more than being in the team.
READING = {
    "bulk.live",
    "bulk.show",
    "deliveries.as_curl",
    "deliveries.attempt",
    "deliveries.compare",
    "deliveries.index",
    "deliveries.live",
    "deliveries.show",
    "deliveries.show_live",
    "endpoints.index",
    "endpoints.match",
    "endpoints.show",
    "endpoints.test_result",
    "events.index",
    "export.deliveries",
    "export.endpoints",
    "export.events",
    "export.workers",
    "events.payload",
    "events.show",
    "overview.index",
    "settings.general",
    "settings.index",
    "settings.keys",
    "workers.index",
    "workers.missing",
}

Route = tuple[str, str, str]


def routes(app: Flask) -> Iterator[Route]:
    """(view, method, rule) of every page below a team."""
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/t/<team>"):
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                yield rule.endpoint, method, rule.rule


def at(rule: str, ids: Any, team: str = "acme") -> str:
    path = rule.replace("<team>", team).replace("<int:token>", "1")
    return re.sub(r"<(\w+)>", lambda part: ids.get(part.group(1), "nothing"), path)


def call(browser: Browser, method: str, path: str) -> Any:
    if method == "GET":
        return browser.get(path, buffered=True)  # an answer that streams is read to its end
    return browser.post(path, page="/account")


def test_every_team_route_has_its_least_role_written_down(app: Flask) -> None:
    views = {view for view, _, _ in routes(app)}
    assert views == LEAST.keys() | READING
    assert not LEAST.keys() & READING


def test_each_role_opens_what_it_should_and_nothing_else(crew: Crew, app: Flask) -> None:
    wrong = []
    for view, method, rule in routes(app):
        least = LEAST.get(view, Role.VIEWER)
        for role in Role:
            answer = call(crew.browsers[role], method, at(rule, {}))
            if (answer.status_code != 403) is not role.covers(least):
                wrong.append((view, role.value, answer.status_code))
            if answer.status_code >= 500:
                wrong.append((view, role.value, answer.status_code))
    assert wrong == []


def test_who_is_not_signed_in_is_led_to_the_sign_in(app: Flask) -> None:
    nobody = Browser(app.test_client())
    for view, method, rule in routes(app):
        answer = call(nobody, method, at(rule, {}))
        assert answer.status_code == 303, view
        assert answer.location.startswith("/signin"), view


def comparable(answer: Any, ids: Any = ()) -> str:
    """The page without what differs each time: request id, time, form token, what was typed."""
    text = re.sub(r"req_\w+|data-now=\S+|value=\"[\w.-]{60,}\"", "", answer.text)
    for each in dict(ids).values():
        text = text.replace(each, "nothing")
    return text


def test_a_strangers_team_and_a_missing_one_are_the_same_404(crew: Crew, app: Flask) -> None:
    stranger = crew.browsers["stranger"]
    for view, method, rule in routes(app):
        foreign = call(stranger, method, at(rule, {}))
        missing = call(stranger, method, at(rule, {}, team="no-such-team"))
        assert foreign.status_code == missing.status_code == 404, view
        assert comparable(foreign) == comparable(missing), view


@pytest.fixture
def theirs(crew: Crew, app: Flask, store: Store) -> dict[str, str]:
    """Ids of the stranger's team, by the name that routes give them."""
    parts = app.extensions["relay"]
    team = store.accounts.teams.by_slug("elsewhere").id
    stranger = crew.users["stranger"].id
    draft = Draft(url="http://127.0.0.1:8080/theirs")
    endpoint, _ = register(store, parts.vault, parts.policy, team, draft)
    event = Intake(store).accept(team, Publish(type="a", data=b'"theirs"'))
    delivery = store.db.deliveries.find_one({"team": team})
    key, _ = store.accounts.keys.add(team, name="theirs", scopes=[Scope.READ], by=stranger)
    ticket, _ = store.accounts.invites.invite(
        team=team, email="x@example.com", role=Role.MEMBER, by=stranger
    )
    assert delivery is not None
    return {
        "endpoint_id": endpoint.id,
        "event": event.id,
        "delivery": delivery["_id"],
        "key": key.id,
        "ticket": ticket.id,
        "user": stranger,
    }


def test_foreign_ids_inside_ones_own_team_are_ids_that_do_not_exist(
    crew: Crew, app: Flask, store: Store, theirs: dict[str, str]
) -> None:
    names = ("endpoints", "deliveries", "events", "api_keys", "invites", "memberships")
    before = {name: list(store.db[name].find().sort("_id")) for name in names}
    owner, checked = crew.browsers["owner"], 0
    for view, method, rule in routes(app):
        if "<" not in rule.removeprefix("/t/<team>"):
            continue
        foreign = call(owner, method, at(rule, theirs))
        missing = call(owner, method, at(rule, {}))
        assert foreign.status_code == missing.status_code, view
        assert comparable(foreign, theirs) == comparable(missing), view
        checked += 1
    assert checked > 15
    after = {name: list(store.db[name].find().sort("_id")) for name in names}
    assert after == before
