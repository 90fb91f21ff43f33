"""Members, keys, the log and the team itself, as its pages change them."""

import re
from typing import Any

import pytest
from flask import Flask

from relay_web.store import Store
from tests.accounts.conftest import Crew


def act(crew: Crew, who: str, path: str, form: Any = ()) -> Any:
    return crew.browsers[who].post(f"/t/acme/settings{path}", form, page="/t/acme/settings")


def role_of(store: Store, crew: Crew, name: str) -> str | None:
    found = store.accounts.teams.membership(crew.team.id, crew.users[name].id)
    return found.role.value if found else None


def test_an_admin_changes_roles_up_to_admin(crew: Crew, store: Store) -> None:
    path = f"/members/{crew.users['viewer'].id}/role"
    assert act(crew, "admin", path, {"role": "admin"}).status_code == 303
    assert role_of(store, crew, "viewer") == "admin"
    assert act(crew, "admin", path, {"role": "owner"}).status_code == 403
    assert act(crew, "owner", path, {"role": "owner"}).status_code == 303
    assert act(crew, "admin", path, {"role": "viewer"}).status_code == 403
    assert role_of(store, crew, "viewer") == "owner"


def test_the_last_owner_can_neither_leave_nor_step_down(crew: Crew, store: Store) -> None:
    """B74."""
    own = f"/members/{crew.users['owner'].id}"
    for path, form in ((f"{own}/role", {"role": "member"}), (f"{own}/remove", {})):
        answer = act(crew, "owner", path, form)
        assert answer.status_code == 409
        assert "at least one owner" in answer.text
    assert role_of(store, crew, "owner") == "owner"


def test_anyone_may_leave_and_a_removed_person_is_out_at_once(crew: Crew, store: Store) -> None:
    assert act(crew, "viewer", f"/members/{crew.users['viewer'].id}/remove").status_code == 303
    assert act(crew, "admin", f"/members/{crew.users['member'].id}/remove").status_code == 303
    for name in ("viewer", "member"):
        assert crew.browsers[name].get("/t/acme/").status_code == 404


def test_a_lowered_role_refuses_the_next_action_with_words(crew: Crew) -> None:
    path = f"/members/{crew.users['member'].id}/role"
    act(crew, "owner", path, {"role": "viewer"})
    answer = crew.browsers["member"].post("/t/acme/endpoints", {"url": "x"}, page="/account")
    assert answer.status_code == 403
    assert "Viewers cannot register or edit endpoints. Ask a member of Acme." in answer.text


KEY = {"name": "shop", "scope": "publish", "life": "", "action_id": "form-1"}


def test_a_key_is_shown_once_and_the_same_form_makes_one(
    crew: Crew, store: Store, app: Flask
) -> None:
    shown = set()
    for _ in range(2):
        answer = act(crew, "admin", "/keys", KEY)
        assert answer.headers["Cache-Control"] == "private, no-store"
        shown |= set(re.findall(r"rk_[0-9A-Za-z]{40}", answer.text))
    assert len(shown) == 1
    text = shown.pop()
    assert text not in crew.browsers["admin"].get("/t/acme/settings/keys").text
    keys = store.accounts.keys.of_team(crew.team.id)
    assert [(key.name, set(key.scopes)) for key in keys] == [("shop", {"publish"})]
    headers = {"Authorization": f"Bearer {text}"}
    sent = {"type": "a", "data": 1}
    assert app.test_client().post("/api/v1/events", json=sent, headers=headers).status_code == 202


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": " "}, "visible character"),
        ({"name": "n" * 61}, "60 characters"),
        ({"scope": "root"}, "scopes shown"),
        ({"scope": []}, "at least one scope"),
        ({"life": "forever"}, "times shown"),
    ],
)
def test_a_key_that_cannot_be_made_says_why(
    crew: Crew, store: Store, change: Any, said: str
) -> None:
    answer = act(crew, "admin", "/keys", {**KEY, **change})
    assert answer.status_code == 422
    assert said in answer.text
    assert store.db.api_keys.count_documents({}) == 0


def test_a_revoked_key_stays_revoked_and_in_the_list(crew: Crew, store: Store) -> None:
    act(crew, "admin", "/keys", KEY)
    key = store.accounts.keys.of_team(crew.team.id)[0]
    for _ in range(2):
        assert act(crew, "admin", f"/keys/{key.id}/revoke").status_code == 303
    assert "revoked" in crew.browsers["viewer"].get("/t/acme/settings/keys").text
    assert act(crew, "admin", "/keys/key_none/revoke").status_code == 404


def test_a_renamed_team_is_found_under_both_addresses(crew: Crew) -> None:
    assert act(crew, "admin", "/general", {"name": "Umbrella"}).location.startswith("/t/umbrella/")
    moved = crew.browsers["viewer"].get("/t/acme/settings")
    assert (moved.status_code, moved.location) == (301, "/t/umbrella/settings")


@pytest.mark.parametrize("name", ["x", "n" * 101, "   "])
def test_a_name_that_a_team_cannot_have_is_refused(crew: Crew, name: str) -> None:
    """B75."""
    assert act(crew, "admin", "/general", {"name": name}).status_code == 422


def test_only_an_owner_who_writes_its_name_deletes_a_team(crew: Crew, store: Store) -> None:
    act(crew, "admin", "/keys", KEY)
    assert act(crew, "admin", "/delete", {"confirm": "Acme"}).status_code == 403
    assert act(crew, "owner", "/delete", {"confirm": "acme"}).status_code == 422
    assert act(crew, "owner", "/delete", {"confirm": "Acme"}).status_code == 303
    for name in ("owner", "viewer"):
        assert crew.browsers[name].get("/t/acme/").status_code == 404
    assert all(key.revoked_at for key in store.accounts.keys.of_team(crew.team.id))


def test_the_log_names_who_did_what_and_no_secret(crew: Crew, store: Store) -> None:
    made = act(crew, "admin", "/keys", KEY).text
    act(crew, "owner", f"/members/{crew.users['viewer'].id}/role", {"role": "member"})
    page = crew.browsers["admin"].get("/t/acme/settings/audit").text
    for said in ("key.made", "member.role_changed", "admin@example.com", "owner@example.com"):
        assert said in page
    text = re.search(r"rk_[0-9A-Za-z]{40}", made)
    assert text is not None
    assert text.group() not in page
    narrowed = crew.browsers["admin"].get("/t/acme/settings/audit?action=key.made").text
    assert "member.role_changed" not in narrowed


def test_a_spreadsheet_runs_nothing_out_of_the_log(crew: Crew) -> None:
    act(crew, "admin", "/general", {"name": "=HYPERLINK(1)"})
    slug = crew.browsers["admin"].get("/t/acme/settings/audit.csv").location
    lines = crew.browsers["admin"].get(slug).text.splitlines()
    assert lines[0] == "at,who,action,target,address,request,details"
    assert len(lines) == 2
    assert not any(cell.strip('"').startswith("=") for line in lines for cell in line.split(","))
