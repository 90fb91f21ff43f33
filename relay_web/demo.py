"""The demo team: a user, a key, and endpoints that answer well, slowly and badly.

Made once and found again on every start; what somebody changed or deleted stays that way.
"""

from dataclasses import dataclass, replace
from typing import Final

from relay_web.domain.vault import Vault
from relay_web.engine.registration import Draft, edit, register
from relay_web.local_keys import local_key
from relay_web.ports import kept_port
from relay_web.settings import Settings
from relay_web.store import Store

EMAIL: Final = "demo@example.com"
TEAM: Final = "Demo"
#: Paths of the built-in receiver, with the endpoint that each stands for. The last one's schedule
#: is short, so that a newcomer sees retries rather than waits for them.
ENDPOINTS: Final = {
    "good": Draft(url="", name="Warehouse", description="Takes everything at once."),
    "slow": Draft(
        url="",
        name="Accounting",
        event_types=["invoice.*"],
        description="Takes a few seconds over each answer.",
    ),
    "bad": Draft(
        url="",
        name="Old CRM",
        event_types=["order.*"],
        description="Mostly overloaded: retries are under way.",
        retry_schedule=[5, 10, 20, 40, 80],
    ),
}


@dataclass(frozen=True, slots=True)
class Guide:
    """What a newcomer needs to know."""

    email: str
    password: str
    api_key: str
    receiver_port: int


def prepare(store: Store, settings: Settings) -> Guide:
    """Make what is missing of the demo, with its endpoints at the receiver's port of this start."""
    password = local_key(settings.data_dir, "demo_password")[:16]
    made = store.accounts.bootstrap(EMAIL, password, TEAM, secret_key=settings.secret_key)
    port = kept_port(settings.data_dir / "receiver.port")
    vault, policy = Vault(settings.secrets_keys), settings.egress_policy()
    for path, draft in ENDPOINTS.items():
        url = f"http://127.0.0.1:{port}/{path}"
        endpoint, _ = register(
            store, vault, policy, made["team_id"], replace(draft, url=url), action_id=f"demo-{path}"
        )
        # The receiver had to move: its old port was taken.
        if endpoint.url != url and endpoint.deleted_at is None and "127.0.0.1" in endpoint.url:
            edit(store, vault, policy, made["team_id"], endpoint.id, {"url": url})
    return Guide(EMAIL, password, made["api_key"], port)
