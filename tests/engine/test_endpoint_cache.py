"""What the cache leaves out counts as deleted, so it may leave out nothing else."""

from collections.abc import Iterable

import pytest

from relay_web.domain.endpoint import Endpoint
from relay_web.domain.vault import Vault
from relay_web.engine.endpoint_cache import EndpointCache
from relay_web.store import Store
from tests.factories import make_endpoint

VAULT = Vault(["k" * 40])


def test_an_endpoint_forgotten_while_another_is_read_is_still_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, new = make_endpoint(store), make_endpoint(store)
    cache = EndpointCache(store.endpoints, VAULT)
    cache.get([known.id])
    read = store.endpoints.load

    def interrupted(ids: Iterable[str]) -> dict[str, Endpoint]:
        cache.forget(known.id)
        return read(ids)

    monkeypatch.setattr(store.endpoints, "load", interrupted)
    assert set(cache.get([known.id, new.id])) == {known.id, new.id}


def test_an_endpoint_that_is_gone_is_left_out_and_a_deleted_one_is_not(store: Store) -> None:
    deleted = make_endpoint(store)
    store.endpoints.mark_deleted(deleted.team, deleted.id)
    got = EndpointCache(store.endpoints, VAULT).get([deleted.id, "ep_00000000000000000000"])
    assert set(got) == {deleted.id}
    assert got[deleted.id].endpoint.deleted_at is not None
