"""A team worth looking at: one delivery in every state, endpoints that do well and badly."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from relay_web.domain.delivery import State
from relay_web.domain.people import hash_password
from relay_web.domain.roles import Role
from relay_web.domain.vault import Vault
from relay_web.engine.registration import Draft, register
from relay_web.settings import Settings
from relay_web.store import Store
from tests.stories import Teller

EMAIL = "ana@acme.example"
PASSWORD = "correct horse battery"
#: One person of the team for each role; all have the same password.
PEOPLE = {role: f"{role.value}@acme.example" for role in Role} | {Role.OWNER: EMAIL}

#: Deliveries to Billing that fail on an expired certificate (`crowds.expired` adds more).
FAILING = 9

#: Scrypt is slow on purpose; one hash serves everybody but the owner.
_HASH = hash_password(PASSWORD)

#: Seconds after the first attempt, and until the next one.
_SCHEDULE = (
    (0, 5), (5, 301), (306, 1801), (2107, 7201), (9308, 18001), (27309, 36001), (63310, 36000),
    (99310, 0),
)  # fmt: skip

#: A busy day in short: what each endpoint's deliveries came to, newest last.
_DAY = "ddddddfddddrddddddhddd"


@dataclass(frozen=True)
class Other:
    """The other team, and its one delivery."""

    slug: str
    team: str
    endpoint: str
    delivery: str


@dataclass(frozen=True)
class Scene:
    """Ids to open: each delivery by its story."""

    slug: str
    team: str
    endpoints: dict[str, str]
    deliveries: dict[str, str]
    event: str
    other: Other


def build(store: Store, settings: Settings) -> Scene:
    """Fill the database; returns what is where."""
    made = store.accounts.bootstrap(EMAIL, PASSWORD, "Acme", secret_key=settings.secret_key)
    team = made["team_id"]
    vault = Vault(settings.secrets_keys)

    def endpoint(name: str, url: str, **more: Any) -> Any:
        draft = Draft(url=url, name=name, **more)
        return register(store, vault, settings.egress_policy(), team, draft).endpoint

    billing = endpoint("Billing", "https://hooks.acme.example/billing", event_types=["invoice.*"])
    crm = endpoint("CRM sync", "https://crm.acme.example/in", description="Keeps contacts current")
    ledger = endpoint("Ledger", "https://ledger.acme.example/webhooks", ordered=True)
    search = endpoint(
        "Search index",
        "https://search.acme.example/relay",
        event_types=["user.*", "order.created", "order.paid"],
    )
    store.endpoints.pause(team, ledger.id, EMAIL)
    for role, email in PEOPLE.items():
        if role is not Role.OWNER:
            store.accounts.teams.join(team, store.accounts.users.add(email, _HASH).id, role)
    tell = Teller(store, team)
    with tell.together():
        stories = _stories(tell, billing, crm, ledger)
        _ordinary_day(tell, billing, crm, search)
        _failing(tell, billing)
    _sums(store, tell, billing, crm, search)
    beat(store)
    found = {one.name: one.id for one in (billing, crm, ledger, search)}
    event = store.events.list(team, limit=1).items[0]["_id"]
    return Scene("acme", team, found, stories, event, _other(store, vault, settings))


def _other(store: Store, vault: Vault, settings: Settings) -> Other:
    owner = store.accounts.users.add("olli@other.example", _HASH)
    team = store.accounts.teams.add("Other", owner.id)
    draft = Draft(url="https://hooks.other.example/in", name="Warehouse")
    endpoint = register(store, vault, settings.egress_policy(), team.id, draft).endpoint
    told = Teller(store, team.id).delivery(endpoint, tries=[{"at": 50, "status": 200}])
    return Other(team.slug, team.id, endpoint.id, told)


def _sums(store: Store, tell: Teller, *endpoints: Any) -> None:
    """Hourly sums for the charts: Billing has had trouble for two hours, once at night too."""
    top = tell.now.replace(minute=0, second=0, microsecond=0)
    for place, endpoint in enumerate(endpoints):
        for back in range(24):
            good = 40 + (back * 37 + place * 11) % 60 + (60 if 6 < back < 14 else 0)
            counts = {
                "delivered": good,
                "status_200": good,
                "ms_50": good // 2,
                "ms_200": good // 2,
            }
            if place == 0 and back in (0, 1, 9):
                counts |= {"errors": 34, "cause_tls_expired": 30, "status_503": 4}
            hour = top - timedelta(hours=back)
            store.rollups.add("endpoint", [(endpoint.id, tell.team, hour, counts)])
    for back, counts in ((3, {"lost": 2, "fenced": 1}), (9, {"stalls": 4, "stall_ms": 2600})):
        store.rollups.add("worker", [("worker.2-7c1f", "", top - timedelta(hours=back), counts)])


def beat(store: Store) -> None:
    """Two workers report."""
    for number, busy in enumerate((3, 0)):
        store.workers.beat(
            f"worker.{number + 1}-7c{number}f",
            state="beating",
            version="0.1.0",
            host="dyno",
            pid=40 + number,
            slots=100,
            in_flight=busy,
            stall_ms=1.2,
            clock_offset_ms=0.4,
            fenced=number,
        )


def _stories(tell: Teller, billing: Any, crm: Any, ledger: Any) -> dict[str, str]:
    down = {"status": 503, "cause": "server_error", "ms": 812.0}
    hang = {
        "cause": "response_timeout",
        "ms": 15000.0,
        "reason": "timed out waiting for the answer",
    }
    user = b'{"user":"usr_81","email":"kim@example.org","plan":"team"}'
    stories = {
        "first-time": tell.delivery(
            crm, kind="user.created", data=user, ago=95, tries=[{"at": 94.9, "status": 200}]
        ),
        "retrying": tell.delivery(
            billing, kind="invoice.paid", ago=3200, state=State.PENDING,
            due_at=tell.now + timedelta(minutes=4, seconds=12),
            tries=[
                down | {"at": 3199, "delay": 5.2, "worker": "worker.2"},
                hang | {"at": 3193, "delay": 302.0},
                down | {"at": 2870, "delay": 3100.0, "ms": 143.0, "worker": "worker.2",
                        "body": b'<html><h1>503</h1><script>window.x=1</script></html>'},
            ],
        ),
        "fenced": tell.delivery(
            crm, kind="order.paid", ago=240, first_token=7,
            tries=[
                {"at": 239.5, "status": 200, "ms": 41200.0, "worker": "worker.2", "lost": 209.0},
                {"at": 208.5, "status": 200, "ms": 143.0, "worker": "worker.1"},
            ],
        ),
        "failed": tell.delivery(
            billing, kind="invoice.voided", ago=100000, state=State.FAILED,
            tries=[
                down | {"at": 99999 - wait, "ms": 90.0 + step * 40, "delay": delay,
                        "worker": f"worker.{1 + step % 2}",
                        "verdict": "failed" if step == 7 else "retry",
                        "rule": "no tries left" if step == 7 else f"backoff step {step + 1}"}
                for step, (wait, delay) in enumerate(_SCHEDULE)
            ],
        ),
        "held": tell.delivery(ledger, kind="order.paid", ago=1800, state=State.PENDING),
        "sending": tell.delivery(
            crm, kind="order.created", ago=4, state=State.LEASED, lease_token=1, unresolved=1,
            due_at=tell.now + timedelta(seconds=27),
            lease={"id": "lease-now", "worker": "worker.1-7c0f", "granted_at": tell.at(3)},
        ),
        "lost": tell.delivery(
            crm, kind="user.deleted", ago=600,
            tries=[
                {"at": 599, "silent": True, "lost": 568.0, "worker": "worker.2"},
                {"at": 567, "status": 200, "worker": "worker.1"},
            ],
        ),
        "cancelled": tell.delivery(
            billing, kind="invoice.draft", ago=5400, state=State.CANCELLED,
            tries=[down | {"at": 5399, "delay": 9000.0}],
            actions=[
                {"id": "action-1", "kind": "cancel", "by": EMAIL, "at": tell.at(5000), "token": 2}
            ],
            finished_at=tell.at(5000),
        ),
    }  # fmt: skip
    odd = (
        b'{"big":9007199254740993,"a":1,"a":2,"list":[],"text":"caf\\u00e9",'
        b'"html":"</pre><script>window.x=1</script>{{7*7}}","filler":"%s"}' % (b"relay " * 200_000)
    )
    stories["odd-payload"] = tell.delivery(
        crm,
        kind="order.refunded",
        ago=700,
        data=odd,
        tries=[{"at": 699, "status": 204, "body": b""}],
    )
    return stories


def _ordinary_day(tell: Teller, *endpoints: Any) -> None:
    kinds = ("invoice.paid", "user.created", "order.created", "order.paid", "user.updated")
    for place, endpoint in enumerate(endpoints):
        for step, letter in enumerate(_DAY):
            ago = 84000 - step * 3600 - place * 511
            kind = kinds[(step + place) % len(kinds)]
            data = json.dumps({"n": step, "shop": place}).encode()
            if letter == "f" and place == 0:
                tries = [
                    {"at": ago - 1, "cause": "connection_refused", "ms": 21.0, "verdict": "failed"}
                ]
                tell.delivery(
                    endpoint, kind=kind, ago=ago, data=data, state=State.FAILED, tries=tries
                )
            else:
                tries = [
                    {
                        "at": ago - 1,
                        "status": 200,
                        "ms": 80.0 + 7 * step,
                        "worker": f"worker.{1 + step % 2}",
                    }
                ]
                tell.delivery(endpoint, kind=kind, ago=ago, data=data, tries=tries)


def _failing(tell: Teller, billing: Any) -> None:
    for step in range(FAILING):
        ago = 2400 - step * 220
        tries = [{"at": ago - 1, "cause": "tls_expired", "ms": 38.0, "delay": 7200.0,
                  "reason": "certificate expired on 2026-12-01 02:10 UTC"}]  # fmt: skip
        tell.delivery(
            billing, ago=ago, state=State.PENDING, tries=tries,
            due_at=tell.now + timedelta(hours=1, minutes=step),
        )  # fmt: skip
