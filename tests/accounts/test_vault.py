"""Signing secrets at rest: who can open them, and how their key is changed."""

import pytest

from relay_web.clock import utcnow
from relay_web.domain.endpoint import Endpoint, SealedSecret
from relay_web.domain.vault import Unreadable, Vault
from relay_web.engine.rekey import rekey
from relay_web.errors import BadSetting
from relay_web.store import Store

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_a_secret_opens_for_its_own_endpoint_only() -> None:
    vault = Vault(["any text at all"])
    sealed = vault.seal("ep_1", SECRET)
    assert SECRET.encode() not in sealed
    assert vault.open("ep_1", sealed) == SECRET
    with pytest.raises(Unreadable, match="another endpoint"):
        vault.open("ep_2", sealed)


def test_every_key_opens_and_the_first_one_seals() -> None:
    old, new = Vault(["old"]), Vault(["new", "old"])
    assert new.open("ep_1", old.seal("ep_1", SECRET)) == SECRET
    with pytest.raises(Unreadable, match="RELAY_SECRETS_KEY"):
        old.open("ep_1", new.seal("ep_1", SECRET))


@pytest.mark.parametrize("sealed", [b"", b"nonsense", b"gAAAA\xff"])
def test_what_is_no_ciphertext_is_unreadable(sealed: bytes) -> None:
    with pytest.raises(Unreadable):
        Vault(["key"]).open("ep_1", sealed)


@pytest.mark.parametrize("keys", [[], [""]])
def test_without_a_key_there_is_no_vault(keys: list[str]) -> None:
    with pytest.raises(BadSetting, match="RELAY_SECRETS_KEY"):
        Vault(keys)


def add(store: Store, vault: Vault, endpoint: str) -> None:
    now = utcnow()
    sealed = SealedSecret("sec_1", vault.seal(endpoint, SECRET), now)
    store.endpoints.add(
        Endpoint(
            id=endpoint, team="t", url="https://example.com/", name="x",
            created_at=now, state_since=now, secrets=(sealed,),
        )
    )  # fmt: skip


def test_after_rekeying_the_old_key_can_be_dropped(store: Store) -> None:
    add(store, Vault(["old"]), "ep_1")
    add(store, Vault(["lost"]), "ep_2")
    result = rekey(store, Vault(["new", "old"]))
    assert (result.done, result.unreadable) == (1, ("ep_2",))
    kept = store.endpoints.get("t", "ep_1")
    assert Vault(["new"]).open("ep_1", kept.secrets[0].sealed) == SECRET
