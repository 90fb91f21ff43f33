"""Who may do what: roles of people, scopes of API keys. The one table behind pages and API."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Role(StrEnum):
    VIEWER = "viewer"  #: sees everything, changes nothing
    MEMBER = "member"  #: retries, cancels, tests, pauses; registers and edits endpoints
    ADMIN = "admin"  #: also secrets, deletion, API keys, invites, roles up to admin, audit log
    OWNER = "owner"  #: also owners and the team itself

    @property
    def rank(self) -> int:
        return _RANKS[self]

    def covers(self, needed: "Role") -> bool:
        """Whether this role may do what `needed` may."""
        return self.rank >= needed.rank


_RANKS: Final = {Role.VIEWER: 0, Role.MEMBER: 1, Role.ADMIN: 2, Role.OWNER: 3}


class Scope(StrEnum):
    PUBLISH = "publish"  #: send events
    READ = "read"  #: every GET
    ADMIN = "admin"  #: everything, the two above included


class Deed(StrEnum):
    """What somebody wants to do; the page and the route that offer it name it."""

    SEE = "see"
    PUBLISH = "publish"
    OPERATE = "operate"  #: retry, cancel, replay, recover, test, pause, resume
    EDIT = "edit"  #: register and edit endpoints, event types
    SECRETS = "secrets"  #: reveal or rotate a secret, delete an endpoint
    ADMINISTER = "administer"  #: keys, invites, roles up to admin, audit log
    OWN = "own"  #: change owners, delete the team


NEEDED_ROLE: Final[Mapping[Deed, Role]] = MappingProxyType(
    {
        Deed.SEE: Role.VIEWER,
        Deed.PUBLISH: Role.MEMBER,
        Deed.OPERATE: Role.MEMBER,
        Deed.EDIT: Role.MEMBER,
        Deed.SECRETS: Role.ADMIN,
        Deed.ADMINISTER: Role.ADMIN,
        Deed.OWN: Role.OWNER,
    }
)

#: What a refusal says: "<role>s cannot <this>; ask <who>."
IN_WORDS: Final[Mapping[Deed, str]] = MappingProxyType(
    {
        Deed.SEE: "see this team",
        Deed.PUBLISH: "send events",
        Deed.OPERATE: "retry, cancel, test, pause or resume",
        Deed.EDIT: "register or edit endpoints",
        Deed.SECRETS: "handle signing secrets or delete endpoints",
        Deed.ADMINISTER: "manage keys, people and the audit log",
        Deed.OWN: "change owners or delete the team",
    }
)


def role_may(role: Role, deed: Deed) -> bool:
    return role.covers(NEEDED_ROLE[deed])


def scope_for(deed: Deed) -> Scope:
    """The scope that an API key needs for a deed."""
    return {Deed.SEE: Scope.READ, Deed.PUBLISH: Scope.PUBLISH}.get(deed, Scope.ADMIN)


def scopes_may(scopes: frozenset[Scope], deed: Deed) -> bool:
    return Scope.ADMIN in scopes or scope_for(deed) in scopes
