"""Signing secrets at rest: who can open them, and how their key is changed."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from relay_web.clock import utcnow
from relay_web.domain.endpoint import Endpoint, KeyPair, SealedSecret
from relay_web.domain.vault import Unreadable, Vault
from relay_web.engine.rekey import rekey
from relay_web.errors import BadSetting
from relay_web.store import Store
from relay_web.store.sealed import Held

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
    """One of everything that is sealed, in clear always the same."""
    now, sealed = utcnow(), vault.seal(endpoint, SECRET)
    store.endpoints.add(
        Endpoint(
            id=endpoint, team="t", url="https://example.com/", name="x",
            created_at=now, state_since=now, secrets=(SealedSecret("sec_1", sealed, now),),
            headers=(("X-Plain", "1"), ("X-Token", sealed)), key_pair=KeyPair(sealed, "whpk_x"),
        )
    )  # fmt: skip


def test_after_rekeying_the_old_key_can_be_dropped(store: Store) -> None:
    add(store, Vault(["old"]), "ep_1")
    add(store, Vault(["lost"]), "ep_2")
    result = rekey(store, Vault(["new", "old"]))
    assert (result.done, result.unreadable) == (3, ("ep_2",))
    kept = store.endpoints.get("t", "ep_1")
    assert kept.key_pair is not None
    held = (kept.secrets[0].sealed, kept.headers[1][1], kept.key_pair.sealed)
    assert {Vault(["new"]).open("ep_1", each) for each in held} == {SECRET}
    assert kept.headers[0] == ("X-Plain", "1")


def test_rekeying_starts_an_endpoint_again_that_changed_under_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, Vault(["old"]), "ep_1")
    seen, both = [], Vault(["new", "old"])
    real = store.sealed.replace

    def replace(held: Held, fresh: Mapping[str, bytes]) -> bool:
        if not seen:
            sealed = SealedSecret("sec_2", both.seal("ep_1", SECRET), utcnow())
            store.endpoints.add_secret("t", "ep_1", sealed, overlap=timedelta(hours=1))
        seen.append(held.rev)
        return real(held, fresh)

    monkeypatch.setattr(store.sealed, "replace", replace)
    assert rekey(store, both).done == 4
    assert len(seen) == 2
    for secret in store.endpoints.get("t", "ep_1").secrets:
        assert Vault(["new"]).open("ep_1", secret.sealed) == SECRET
