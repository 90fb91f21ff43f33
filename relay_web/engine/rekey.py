"""Putting every signing secret under the newest key, so that an old one can be dropped."""

from dataclasses import dataclass

from relay_web.domain.vault import Unreadable, Vault
from relay_web.store import Store


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """Secrets that are under the newest key now, and the endpoints with one that no key opens."""

    done: int
    unreadable: tuple[str, ...]


def rekey(store: Store, vault: Vault) -> Rekeyed:
    """Encrypt every secret with the first key; safe to stop, to repeat and to run under load.

    A secret that is rotated in the same moment is under the newest key anyway.
    """
    done, unreadable = 0, set()
    for endpoint, secret, sealed in store.sealed.all():
        try:
            fresh = vault.rotate(sealed)
        except Unreadable:
            unreadable.add(endpoint)
            continue
        done += store.sealed.replace(endpoint, secret, sealed, fresh)
    return Rekeyed(done, tuple(sorted(unreadable)))
