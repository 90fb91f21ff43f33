"""Names: dead ones hold up nobody, and answers are used again for moments only."""

import time
from collections.abc import Callable, Iterator

import gevent
import pytest

from relay_web.domain.causes import Cause
from relay_web.engine.failure import SendFailed
from relay_web.engine.resolver import LOOK_UP_WITHIN, Resolver
from tests.nameserver import SERVFAIL, SILENT, NameServer


@pytest.fixture
def names() -> Iterator[NameServer]:
    with NameServer() as names:
        yield names


@pytest.fixture
def make_resolver(names: NameServer) -> Iterator[Callable[..., Resolver]]:
    made: list[Resolver] = []

    def make(**more: float) -> Resolver:
        made.append(Resolver(servers="127.0.0.1", port=names.port, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for resolver in made:
        resolver.close()
    gevent.sleep(0)


def cause_of(resolver: Resolver, name: str) -> Cause:
    with pytest.raises(SendFailed) as caught:
        resolver.resolve(name)
    return caught.value.cause


def test_both_families_are_found(names: NameServer, make_resolver: Callable[..., Resolver]) -> None:
    names.zone["both.test"] = ["127.0.0.1", "::1"]
    assert set(make_resolver().resolve("both.test")) == {"127.0.0.1", "::1"}


def test_a_name_that_does_not_exist_and_one_that_fails_have_their_causes(
    names: NameServer, make_resolver: Callable[..., Resolver]
) -> None:
    resolver = make_resolver()
    names.zone["broken.test"] = SERVFAIL
    names.zone["empty.test"] = []
    assert cause_of(resolver, "missing.test") is Cause.DNS_FAILURE
    assert cause_of(resolver, "broken.test") is Cause.DNS_FAILURE
    assert cause_of(resolver, "empty.test") is Cause.DNS_FAILURE


def test_fifty_dead_names_do_not_hold_up_a_living_one(
    names: NameServer, make_resolver: Callable[..., Resolver]
) -> None:
    """M4: on a pool of threads the living one waited for seconds behind ten dead ones."""
    resolver = make_resolver()
    names.zone |= {f"dead{number}.test": SILENT for number in range(50)}
    names.zone["living.test"] = ["127.0.0.1"]
    began = time.monotonic()
    dead = [gevent.spawn(cause_of, resolver, f"dead{number}.test") for number in range(50)]
    gevent.sleep(0.05)
    assert resolver.resolve("living.test") == ("127.0.0.1",)
    assert time.monotonic() - began < 0.5
    gevent.joinall(dead, raise_error=True)
    assert {job.value for job in dead} == {Cause.DNS_TIMEOUT}
    assert time.monotonic() - began < LOOK_UP_WITHIN + 1


def test_many_who_want_one_name_ask_once(
    names: NameServer, make_resolver: Callable[..., Resolver]
) -> None:
    resolver = make_resolver()
    names.zone["busy.test"] = ["127.0.0.1"]
    jobs = [gevent.spawn(resolver.resolve, "busy.test") for _ in range(100)]
    gevent.joinall(jobs, raise_error=True)
    assert names.asked["busy.test", "A"] == 1


def test_whoever_asked_first_may_be_killed_while_others_wait(
    names: NameServer, make_resolver: Callable[..., Resolver]
) -> None:
    resolver = make_resolver()
    names.zone["busy.test"] = ["127.0.0.1"]
    first = gevent.spawn(resolver.resolve, "busy.test")
    second = gevent.spawn(resolver.resolve, "busy.test")
    gevent.sleep(0)
    first.kill()
    assert second.get(timeout=5) == ("127.0.0.1",)


def test_an_answer_is_kept_for_its_time_only(
    names: NameServer, make_resolver: Callable[..., Resolver]
) -> None:
    resolver = make_resolver(keep=0.2)
    names.zone["moves.test"] = [["127.0.0.1"], ["127.0.0.2"]]
    assert resolver.resolve("moves.test") == resolver.resolve("moves.test") == ("127.0.0.1",)
    gevent.sleep(0.25)
    assert resolver.resolve("moves.test") == ("127.0.0.2",)


def test_a_failure_is_kept_too_so_that_a_dead_name_is_not_asked_for_each_delivery(
    names: NameServer, make_resolver: Callable[..., Resolver]
) -> None:
    resolver = make_resolver()
    for _ in range(5):
        assert cause_of(resolver, "missing.test") is Cause.DNS_FAILURE
    assert names.asked["missing.test", "A"] == 1


def test_names_of_the_hosts_file_work(make_resolver: Callable[..., Resolver]) -> None:
    assert "127.0.0.1" in make_resolver().resolve("localhost")


def test_the_system_s_resolver_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEVENT_RESOLVER", "thread")
    resolver = Resolver()
    assert "127.0.0.1" in resolver.resolve("localhost")
    resolver.close()
