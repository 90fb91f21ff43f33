"""The rules that the database keeps, also when everybody acts at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from relay_web.clock import utcnow
from relay_web.domain.roles import Role
from relay_web.errors import Conflict, Gone, NotFound, RelayError
from relay_web.store import Store
from relay_web.store.throttle import PER_ACCOUNT, PER_ADDRESS, Rule
from relay_web.store.users import User


def at_once(action: Callable[[int], Any], times: int = 20) -> list[Any]:
    """The result of each of many calls at the same time; a refusal is its error."""

    def run(number: int) -> Any:
        try:
            return action(number)
        except RelayError as error:
            return error

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(run, range(times)))


def test_twenty_sign_ups_with_one_address_are_one_account(store: Store) -> None:
    results = at_once(lambda n: store.accounts.sign_up("ana@example.com", "hash", "Acme"))
    refused = [result for result in results if isinstance(result, Conflict)]
    assert len(refused) == 19
    assert {error.field for error in refused} == {"email"}
    assert store.db.users.count_documents({}) == store.db.teams.count_documents({}) == 1


def test_teams_of_one_name_get_addresses_of_their_own(store: Store) -> None:
    teams = at_once(lambda n: store.accounts.teams.add("Acme", f"usr_{n}"), 5)
    assert sorted(team.slug for team in teams) == ["acme", "acme-2", "acme-3", "acme-4", "acme-5"]


def test_the_old_address_of_a_renamed_team_still_leads_there(store: Store) -> None:
    teams = store.accounts.teams
    team = teams.add("Acme", "usr_1")
    renamed = teams.rename(team.id, "Umbrella")
    assert (renamed.slug, teams.by_slug("acme").slug) == ("umbrella", "umbrella")
    assert teams.add("Acme", "usr_2").slug == "acme-2"


def test_the_last_owner_stays(store: Store) -> None:
    teams = store.accounts.teams
    team = teams.add("Acme", "usr_1")
    teams.join(team.id, "usr_2", Role.ADMIN)
    with pytest.raises(Conflict, match="at least one owner"):
        teams.remove(team.id, "usr_1")
    with pytest.raises(Conflict, match="at least one owner"):
        teams.set_role(team.id, "usr_1", Role.ADMIN)
    teams.set_role(team.id, "usr_2", Role.OWNER)
    teams.set_role(team.id, "usr_1", Role.VIEWER)
    assert [m.role for m in teams.members(team.id)] == [Role.VIEWER, Role.OWNER]


def test_two_owners_who_leave_at_once_leave_one(store: Store) -> None:
    teams = store.accounts.teams
    for _ in range(10):
        team = teams.add("Acme", "usr_1")
        teams.join(team.id, "usr_2", Role.OWNER)
        left = at_once(lambda n, team=team: teams.remove(team.id, f"usr_{n + 1}"), 2)
        assert sum(isinstance(result, Conflict) for result in left) == 1
        assert [m.role for m in teams.members(team.id)] == [Role.OWNER]


def test_a_stranger_cannot_be_changed_or_removed(store: Store) -> None:
    teams = store.accounts.teams
    team = teams.add("Acme", "usr_1")
    with pytest.raises(NotFound):
        teams.set_role(team.id, "usr_9", Role.ADMIN)
    with pytest.raises(NotFound):
        teams.remove(team.id, "usr_9")


def test_an_invitation_is_used_once(store: Store) -> None:
    invites = store.accounts.invites
    _, token = invites.invite(team="t", email="a@example.com", role=Role.MEMBER, by="u")
    results = at_once(lambda n: invites.use(token, email="a@example.com"))
    assert sum(isinstance(result, Gone) for result in results) == 19
    assert invites.find(token).state == "used"


def test_an_invitation_is_for_one_address(store: Store) -> None:
    invites = store.accounts.invites
    _, token = invites.invite(team="t", email="a@example.com", role=Role.MEMBER, by="u")
    with pytest.raises(Gone, match="another address"):
        invites.use(token, email="b@example.com")
    assert invites.use(token, email="a@example.com").role is Role.MEMBER


def test_one_address_has_one_open_invitation_to_a_team(store: Store) -> None:
    invites = store.accounts.invites

    def invite(team: str) -> Any:
        return invites.invite(team=team, email="a@example.com", role=Role.MEMBER, by="u")

    ticket, _ = invite("t")
    with pytest.raises(Conflict, match="pending"):
        invite("t")
    invite("other")
    invites.withdraw("t", ticket.id)
    invite("t")
    with pytest.raises(NotFound):
        invites.withdraw("other", ticket.id)


def test_an_expired_link_is_worth_nothing_and_does_not_block_a_new_one(store: Store) -> None:
    invites = store.accounts.invites
    _, token = invites.invite(team="t", email="a@example.com", role=Role.MEMBER, by="u")
    past = utcnow() - timedelta(seconds=1)
    store.db.invites.update_one({}, {"$set": {"expires_at": past}})
    assert invites.find(token).state == "expired"
    with pytest.raises(Gone, match="expired"):
        invites.use(token, email="a@example.com")
    invites.invite(team="t", email="a@example.com", role=Role.ADMIN, by="u")


def test_a_new_reset_link_ends_the_one_before(store: Store) -> None:
    resets = store.accounts.resets
    _, first = resets.reset(user="u", email="a@example.com")
    _, second = resets.reset(user="u", email="a@example.com")
    with pytest.raises(Gone):
        resets.use(first)
    assert resets.use(second).user == "u"
    with pytest.raises(Gone):
        resets.use(second)


def test_the_database_holds_no_token(store: Store, make_user: Callable[[str], User]) -> None:
    user = make_user("ana@example.com")
    _, invite = store.accounts.invites.invite(team="t", email="a@b.co", role=Role.MEMBER, by="u")
    _, reset = store.accounts.resets.reset(user=user.id, email=user.email)
    session = store.accounts.sessions.open(user, address="::1", agent="x")
    dump = str([list(store.db[name].find()) for name in ("invites", "resets", "sessions")])
    assert not any(token in dump for token in (invite, reset, session))


@pytest.mark.parametrize("end", ["password", "everywhere", "one", "others"])
def test_a_sign_in_ends_in_each_of_the_ways(
    store: Store, make_user: Callable[[str], User], end: str
) -> None:
    users, sessions = store.accounts.users, store.accounts.sessions
    user = make_user("ana@example.com")
    token, other = (sessions.open(user, address="::1", agent="x") for _ in range(2))
    found, kept = sessions.find(token), sessions.find(other)
    assert found is not None
    assert kept is not None
    match end:
        case "password":
            users.set_password(user.id, "another hash")
        case "everywhere":
            users.sign_out_everywhere(user.id)
        case "one":
            sessions.end(user.id, found[0].id)
        case "others":
            sessions.end_others(user.id, kept[0].id)
    assert sessions.find(token) is None
    assert (sessions.find(other) is None) is (end in ("password", "everywhere"))


def test_a_sign_in_cannot_be_ended_by_somebody_else(
    store: Store, make_user: Callable[[str], User]
) -> None:
    sessions = store.accounts.sessions
    token = sessions.open(make_user("ana@example.com"), address="::1", agent="x")
    found = sessions.find(token)
    assert found is not None
    sessions.end("usr_other", found[0].id)
    assert sessions.find(token) is not None


def forward(store: Store, seconds: int) -> None:
    """Let a counter see time pass: its own times move back."""
    ms = seconds * 1000
    change = {key: {"$subtract": [f"${key}", ms]} for key in ("until", "expire_at")}
    store.db.throttle.update_many({}, [{"$set": change}])


def test_guesses_are_free_five_times_and_then_cost_twice_as_long_each(store: Store) -> None:
    hit = lambda: store.throttle.hit(PER_ACCOUNT, "ana@example.com")  # noqa: E731
    assert [hit() for _ in range(5)] == [0] * 5
    waits = []
    for _ in range(7):
        waits.append(hit())
        forward(store, waits[-1])
        assert hit() == 0
    assert waits == [30, 60, 120, 240, 480, 900, 900]


def test_asking_while_blocked_does_not_make_the_wait_longer(store: Store) -> None:
    for _ in range(5):
        store.throttle.hit(PER_ACCOUNT, "ana")
    assert {store.throttle.hit(PER_ACCOUNT, "ana") for _ in range(20)} <= {29, 30}


def test_a_hundred_guesses_at_once_are_a_hundred_counted_ones(store: Store) -> None:
    waits = at_once(lambda n: store.throttle.hit(PER_ACCOUNT, "ana"), 50)
    assert sum(wait == 0 for wait in waits) == 5


def test_a_window_opens_again_by_itself(store: Store) -> None:
    rule = Rule("test", 3, first=10, longest=10, memory=60, sliding=False)
    assert [store.throttle.hit(rule, "x") for _ in range(4)] == [0, 0, 0, 10]
    forward(store, 60)
    assert [store.throttle.hit(rule, "x") for _ in range(4)] == [0, 0, 0, 10]


def test_counters_do_not_touch_each_other(store: Store) -> None:
    for _ in range(6):
        store.throttle.hit(PER_ACCOUNT, "ana")
    assert store.throttle.hit(PER_ACCOUNT, "ben") == 0
    assert store.throttle.hit(PER_ADDRESS, "ana") == 0
    store.throttle.clear(PER_ACCOUNT, "ana")
    assert store.throttle.hit(PER_ACCOUNT, "ana") == 0


def test_an_operator_repeats_bootstrap_and_gets_the_same_answer(store: Store) -> None:
    def bootstrap(password: str = "a long walk home") -> Any:
        return store.accounts.bootstrap("Ana@example.com", password, "Acme", secret_key="s" * 32)

    assert len({str(result) for result in at_once(lambda n: bootstrap(), 4)}) >= 1
    first = bootstrap()
    assert bootstrap() == first
    user = store.accounts.users.by_email("ana@example.com")
    assert user is not None
    bootstrap("another long walk")
    changed = store.accounts.users.by_email("ana@example.com")
    assert changed is not None
    assert changed.epoch == user.epoch + 1
