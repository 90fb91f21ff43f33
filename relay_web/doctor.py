"""`relay doctor`: what could make this instance weaker or silent, each with what to do about it."""

import os
import time
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from pymongo.errors import PyMongoError

from relay_web.clock import utcnow
from relay_web.settings import Settings
from relay_web.store import Store

Doc = dict[str, Any]

#: Seconds of difference between this clock and the database's: from here receivers may complain,
#: and from here they refuse (they allow five minutes).
_CLOCK_WARNS: Final = 2.0
_CLOCK_FAILS: Final = 240.0
#: `$dateAdd` and `$$NOW` in updates, and majority journaling, as Relay uses them.
_OLDEST_SERVER: Final = (5, 0)


class Finding(NamedTuple):
    level: Literal["ok", "warn", "fail"]
    subject: str
    sentence: str


def examine(settings: Settings, store: Store) -> Iterator[Finding]:
    """Look at one thing after the other; `store` has answered a ping."""
    hello: Doc = store.db.command("hello")
    yield _server(store)
    yield _replication(hello)
    yield from _write_concern(store, hello)
    yield _clock(store)
    yield from _access(settings, store)
    yield _workers(store)
    yield from _egress(settings)


def _server(store: Store) -> Finding:
    info: Doc = store.client.server_info()
    if tuple(info["versionArray"][:2]) < _OLDEST_SERVER:
        return Finding(
            "fail", "database", f"MongoDB {info['version']} is too old; use 5.0 or newer."
        )
    return Finding("ok", "database", f"MongoDB {info['version']}, database {store.db.name}")


def _replication(hello: Doc) -> Finding:
    if hello.get("msg") == "isdbgrid":
        return Finding("ok", "replica set", "a sharded cluster")
    if "setName" not in hello:
        return Finding(
            "warn",
            "replica set",
            "a standalone server: a write in flight when it restarts may be repeated or refused, "
            "and idle workers poll instead of being woken; make it a set, one node is enough.",
        )
    nodes = len(hello.get("hosts", []))
    if nodes < 3:
        return Finding("ok", "replica set", f"{hello['setName']}, {nodes} node(s): durable, not "
                       "highly available")  # fmt: skip
    return Finding("ok", "replica set", f"{hello['setName']}, {nodes} nodes")


def _write_concern(store: Store, hello: Doc) -> Iterator[Finding]:
    """Relay asks for majority and journal itself; only the set's own switch can weaken that."""
    if "setName" not in hello:
        return
    try:
        config: Doc = store.client.admin.command("replSetGetConfig")["config"]
    except PyMongoError:
        yield Finding(
            "ok", "write concern", "majority and journaled (the set's settings are hidden)"
        )
        return
    if config.get("writeConcernMajorityJournalDefault", True):
        yield Finding("ok", "write concern", "majority and journaled")
    else:
        yield Finding(
            "fail",
            "write concern",
            "the set confirms before the journal is on disk; set "
            "writeConcernMajorityJournalDefault to true with rs.reconfig().",
        )


def _clock(store: Store) -> Finding:
    before = time.monotonic()
    theirs = store.now()
    half_trip = (time.monotonic() - before) / 2
    offset = (utcnow() - theirs).total_seconds() - half_trip
    said = f"{abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'} the database"
    if abs(offset) >= _CLOCK_FAILS:
        return Finding(
            "fail", "clock", f"{said}; receivers refuse signatures; set up time sync here."
        )
    if abs(offset) >= _CLOCK_WARNS:
        return Finding("warn", "clock", f"{said}; workers correct for it; set up time sync here.")
    return Finding("ok", "clock", "agrees with the database's")


def _access(settings: Settings, store: Store) -> Iterator[Finding]:
    if settings.mongodb_uri is None:
        return
    status: Doc = store.db.command("connectionStatus")
    if not status["authInfo"]["authenticatedUsers"]:
        yield Finding(
            "warn",
            "access",
            "the database asks for no password; give it users, or keep it private.",
        )


def _workers(store: Store) -> Finding:
    count = store.workers.live()
    if not count:
        return Finding(
            "fail",
            "workers",
            "none is beating, so nothing is delivered; start `relay worker` "
            "(on Heroku: heroku ps:scale worker=1).",
        )
    return Finding("ok", "workers", f"{count} beating")


def _egress(settings: Settings) -> Iterator[Finding]:
    inner = settings.egress_allow or "nothing"
    kind = "http and https" if settings.allow_http else "https only"
    if settings.development:
        yield Finding("ok", "egress", f"development mode: {kind}, private: {inner}")
    elif settings.allow_http or settings.egress_allow:
        yield Finding(
            "warn", "egress", f"{kind}, private: {inner}; be sure that every team may reach these."
        )
    else:
        yield Finding("ok", "egress", "https only, public addresses only")
    proxies = sorted(name for name in os.environ if name.lower() in ("http_proxy", "https_proxy"))
    if proxies:
        yield Finding(
            "warn", "egress", f"{', '.join(proxies)} is set but deliveries connect directly, "
            "so that the address check holds; open the way out for the workers."
        )  # fmt: skip
