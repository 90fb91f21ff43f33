"""Putting everything sealed under the newest key, so that an old one can be dropped."""

from dataclasses import dataclass

from relay_web.domain.vault import Unreadable, Vault
from relay_web.store import Store


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """Ciphertexts that are under the newest key now; endpoints with one that no key opens."""

    done: int
    unreadable: tuple[str, ...]


def rekey(store: Store, vault: Vault) -> Rekeyed:
    """Encrypt every secret with the first key; safe to stop, to repeat and to run under load."""
    done, unreadable = 0, set()
    for endpoint in store.sealed.endpoints():
        while (held := store.sealed.of(endpoint)) is not None:
            fresh = {}
            for path, ciphertext in held.values.items():
                try:
                    fresh[path] = vault.rotate(ciphertext)
                except Unreadable:
                    unreadable.add(endpoint)
            if not fresh or store.sealed.replace(held, fresh):
                done += len(fresh)
                break
    return Rekeyed(done, tuple(sorted(unreadable)))
