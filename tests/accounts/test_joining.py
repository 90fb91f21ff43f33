"""Signing up, invitations, and forgotten passwords."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask

from relay_web.engine import mail
from relay_web.store import Store
from relay_web.store.users import User
from tests.accounts.conftest import PASSWORD, Browser, Crew

GOOD = {"email": "new@example.com", "password": PASSWORD, "team": "Newcomers"}


def test_signing_up_makes_a_user_who_owns_a_team(visitor: Browser, store: Store) -> None:
    assert visitor.post("/signup", GOOD, page="/signup").status_code == 303
    assert visitor.get("/t/newcomers/").status_code == 200
    user = store.accounts.users.by_email("new@example.com")
    assert user is not None
    assert [role.value for _, role in store.accounts.teams.of_user(user.id)] == ["owner"]


def test_all_problems_of_the_form_are_told_at_once(visitor: Browser, store: Store) -> None:
    answer = visitor.post("/signup", {"email": "a@b c", "password": "short", "team": "x"})
    assert answer.status_code == 422
    assert "3 problems" in answer.text
    for said in ("Enter a valid e-mail address.", "Use 12 to 128 characters.", "2 to 100"):
        assert said in answer.text
    assert answer.text.count('aria-invalid="true"') == 3
    assert store.db.users.count_documents({}) == 0


def test_a_taken_address_is_refused_at_its_field(
    visitor: Browser, make_user: Callable[[str], User], store: Store
) -> None:
    make_user("new@example.com")
    answer = visitor.post("/signup", GOOD)
    assert answer.status_code == 422
    assert "already has an account" in answer.text
    assert store.db.teams.count_documents({}) == 0


def test_where_people_join_by_invitation_only_the_first_may_sign_up(
    make_app: Callable[..., Flask],
) -> None:
    app = make_app(RELAY_SIGNUP="invite")
    first, second = (Browser(app.test_client()) for _ in range(2))
    assert first.post("/signup", GOOD, page="/signup").status_code == 303
    answer = second.get("/signup")
    assert answer.status_code == 403
    assert "by invitation" in answer.text


def test_the_first_account_of_a_public_instance_needs_the_setup_token(
    make_app: Callable[..., Flask], store: Store
) -> None:
    app = make_app(RELAY_SETUP_TOKEN="the-operator-knows-this")
    visitor = Browser(app.test_client())
    for wrong in ("", "guess"):
        answer = visitor.post("/signup", {**GOOD, "token": wrong}, page="/signup")
        assert answer.status_code == 422
        assert "not the setup token" in answer.text
    assert store.db.users.count_documents({}) == 0
    right = {**GOOD, "token": "the-operator-knows-this"}
    assert visitor.post("/signup", right, page="/signup").status_code == 303


def invite(
    crew: Crew, email: str = "new@example.com", role: str = "member", by: str = "admin"
) -> Any:
    form = {"email": email, "role": role}
    return crew.browsers[by].post("/t/acme/settings/invites", form, page="/t/acme/settings")


def link(answer: Any) -> str:
    found = re.search(r"http://localhost(/invites/[\w-]+)", answer.text)
    assert found is not None, answer.text
    return found.group(1)


def test_an_invitation_leads_into_the_team_with_its_role(
    crew: Crew, app: Flask, store: Store
) -> None:
    path = link(invite(crew))
    guest = Browser(app.test_client())
    assert "Join Acme" in guest.get(path).text
    assert guest.get(path).status_code == 200  # looking spends nothing
    assert guest.post(path, {"password": "short"}, page=path).status_code == 422
    assert guest.post(path, {"password": PASSWORD}, page=path).status_code == 303
    assert guest.get("/t/acme/").status_code == 200
    user = store.accounts.users.by_email("new@example.com")
    assert user is not None
    member = store.accounts.teams.membership(crew.team.id, user.id)
    assert member is not None
    assert member.role == "member"
    used = Browser(app.test_client()).get(path)
    assert used.status_code == 410
    assert "This invite was already used" in used.text


def test_somebody_with_an_account_signs_in_to_join(crew: Crew, app: Flask) -> None:
    path = link(invite(crew, "stranger@example.com"))
    assert "Sign in to join" in Browser(app.test_client()).get(path).text
    stranger = crew.browsers["stranger"]
    assert stranger.post(path, page=path).status_code == 303
    assert stranger.get("/t/acme/").status_code == 200


def test_an_invitation_of_another_address_cannot_be_taken(crew: Crew) -> None:
    path = link(invite(crew))
    stranger = crew.browsers["stranger"]
    assert "signed in as stranger@example.com" in stranger.get(path).text
    assert stranger.post(path, page=path).status_code == 200
    assert stranger.get("/t/acme/").status_code == 404


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("cut", "is not valid"),
        ("withdrawn", "was withdrawn"),
        ("expired", "has expired"),
        ("team deleted", "is not valid"),
    ],
)
def test_every_dead_invitation_is_one_page(
    crew: Crew, app: Flask, store: Store, how: str, said: str
) -> None:
    """B73."""
    path = link(invite(crew))
    match how:
        case "cut":
            path = path[:-5]
        case "withdrawn":
            ticket = store.accounts.invites.of_team(crew.team.id)[0]
            where = f"/t/acme/settings/invites/{ticket.id}/withdraw"
            crew.browsers["admin"].post(where, page="/t/acme/settings")
        case "expired":
            store.db.invites.update_many({}, [{"$set": {"expires_at": "$$NOW"}}])
        case "team deleted":
            store.accounts.teams.mark_deleted(crew.team.id)
    guest = Browser(app.test_client())
    for answer in (guest.get(path), guest.post(path, {"password": PASSWORD})):
        assert answer.status_code == 410
        assert f"This invite {said}" in answer.text
    assert store.accounts.users.by_email("new@example.com") is None


@pytest.mark.parametrize(
    ("email", "role", "by", "status"),
    [
        ("admin@example.com", "member", "admin", 409),
        ("member@example.com", "viewer", "admin", 409),
        ("new@example.com", "owner", "admin", 403),
        ("new@example.com", "owner", "owner", 200),
        ("new@example.com", "member", "member", 403),
        ("new@example.com", "king", "admin", 422),
        ("a@b c", "member", "admin", 422),
    ],
)
def test_who_may_be_invited_as_what_by_whom(
    crew: Crew, email: str, role: str, by: str, status: int
) -> None:
    """B72."""
    assert invite(crew, email, role, by).status_code == status


def test_a_second_invitation_to_one_address_says_one_is_pending(crew: Crew) -> None:
    invite(crew)
    again = invite(crew)
    assert again.status_code == 409
    assert "pending" in again.text


class Postbox:
    """Stands where the SMTP server would be, for what was handed to it."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []

    def send(self, _: mail.Mailer, to: str, subject: str, text: str) -> None:
        self.messages.append((to, text))


@pytest.fixture
def postbox(monkeypatch: pytest.MonkeyPatch) -> Postbox:
    box = Postbox()
    monkeypatch.setattr(mail.Mailer, "send", lambda *given: box.send(*given))
    return box


@contextmanager
def threads_run_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A thread that is started has finished when `start` returns."""
    import threading

    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        real(thread)
        thread.join(10)

    with monkeypatch.context() as patch:
        patch.setattr("relay_web.web.mailing.threading.Thread.start", start)
        yield


def test_a_forgotten_password_is_answered_alike_for_everybody(
    make_app: Callable[..., Flask],
    make_user: Callable[[str], User],
    postbox: Postbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_user("ana@example.com")
    visitor = Browser(make_app(SMTP_URL="smtp://mail.example").test_client())
    pages = []
    with threads_run_at_once(monkeypatch):
        for email in ("ana@example.com", "eva@example.com"):
            answer = visitor.post("/forgot", {"email": email}, page="/forgot")
            pages.append((answer.status_code, re.sub(email + r"|data-now=\S+", "", answer.text)))
    assert pages[0] == pages[1]
    assert [to for to, _ in postbox.messages] == ["ana@example.com"]


def test_a_reset_link_sets_the_password_once_and_signs_out_everywhere(
    make_app: Callable[..., Flask],
    crew: Crew,
    postbox: Postbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visitor = Browser(make_app(SMTP_URL="smtp://mail.example").test_client())
    with threads_run_at_once(monkeypatch):
        visitor.post("/forgot", {"email": "member@example.com"}, page="/forgot")
    found = re.search(r"http://localhost(/reset/[\w-]+)", postbox.messages[0][1])
    assert found is not None
    path = found.group(1)
    assert visitor.post(path, {"password": "short"}, page=path).status_code == 422
    assert visitor.post(path, {"password": "another long walk"}, page=path).status_code == 303
    assert visitor.post(path, {"password": "yet another walk"}).status_code == 410
    assert crew.browsers["member"].get("/t/acme/").status_code == 303
    assert visitor.sign_in("member@example.com", "another long walk").status_code == 303


def test_without_a_mail_server_the_page_says_who_can_help(visitor: Browser) -> None:
    assert "relay bootstrap" in visitor.get("/forgot").text


def test_signing_up_is_answered_alike_for_everybody_where_mail_can_tell_the_difference(
    make_app: Callable[..., Flask],
    make_user: Callable[[str], User],
    postbox: Postbox,
    monkeypatch: pytest.MonkeyPatch,
    store: Store,
) -> None:
    """W4: without a mail server the form has to say that an address is taken."""
    make_user("ana@example.com")
    visitor = Browser(make_app(SMTP_URL="smtp://mail.example", RELAY_SIGNUP="open").test_client())
    pages = []
    with threads_run_at_once(monkeypatch):
        for email in ("ana@example.com", "new@example.com"):
            answer = visitor.post("/signup", {**GOOD, "email": email}, page="/signup")
            pages.append((answer.status_code, re.sub(email + r"|data-now=\S+", "", answer.text)))
    assert pages[0] == pages[1]
    assert pages[0][0] == 200
    known, new = (text for _, text in postbox.messages)
    assert "has an account already" in known
    assert visitor.sign_in("new@example.com").status_code == 422  # only the link makes the account
    found = re.search(r"http://localhost(/signup/confirm/[\w-]+)", new)
    assert found is not None
    assert "Newcomers" in visitor.get(found.group(1)).text
    assert store.accounts.users.by_email("new@example.com") is None
    assert visitor.post(found.group(1), page=found.group(1)).status_code == 303
    assert visitor.get("/t/newcomers/").status_code == 200
    assert visitor.post(found.group(1), page="/account").status_code == 410
