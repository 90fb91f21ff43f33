"""The only importer of pymongo. One `Store` per process; everything it hands out shares its client.

Concerns are set once, here: every write is majority and journaled, retryable writes and reads are
on where the server can do them, and each call is bounded by one timeout (reliability §1.5 E).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pymongo
from pymongo import MongoClient
from pymongo.read_concern import ReadConcern
from pymongo.uri_parser import parse_uri
from pymongo.write_concern import WriteConcern

from relay_web.store.accounts import Accounts
from relay_web.store.attempts import Attempts
from relay_web.store.audit import Audit
from relay_web.store.bulk_jobs import BulkJobs
from relay_web.store.bulk_targets import BulkTargets
from relay_web.store.deliveries import DAY, Deliveries
from relay_web.store.endpoint_health import EndpointHealth
from relay_web.store.endpoint_pace import EndpointPace
from relay_web.store.endpoints import Endpoints
from relay_web.store.event_lists import EventLists
from relay_web.store.event_types import EventTypes
from relay_web.store.events import Events
from relay_web.store.faults import database_errors
from relay_web.store.figures import Figures
from relay_web.store.lanes import Lanes
from relay_web.store.leavings import Leavings
from relay_web.store.outages import Outages
from relay_web.store.overview import Overview
from relay_web.store.rollups import Rollups
from relay_web.store.schema import ensure_schema
from relay_web.store.sealed import Sealed
from relay_web.store.throttle import Throttle
from relay_web.store.timeline import Timeline
from relay_web.store.workers import Workers

DEFAULT_DATABASE = "relay"


class Store:
    """Open connections to one Relay database."""

    def __init__(
        self, client: MongoClient[dict[str, Any]], database: str, *, retention_days: int = 30
    ) -> None:
        self.client = client
        self.db = client.get_database(
            database,
            write_concern=WriteConcern(w="majority", j=True),
            read_concern=ReadConcern("local"),
        )
        self.accounts = Accounts(self.db)
        self.audit = Audit(self.db)
        self.attempts = Attempts(self.db)
        self.bulk_jobs = BulkJobs(self.db)
        self.bulk_targets = BulkTargets(self.db)
        self.deliveries = Deliveries(self.db, retention=retention_days * DAY)
        self.endpoints = Endpoints(self.db)
        self.endpoint_pace = EndpointPace(self.db)
        self.health = EndpointHealth(self.db)
        self.events = Events(self.db, retention=retention_days * DAY)
        self.event_lists = EventLists(self.db)
        self.event_types = EventTypes(self.db)
        self.figures = Figures(self.db)
        self.lanes = Lanes(self.db)
        self.leavings = Leavings(self.db)
        self.outages = Outages(self.db)
        self.rollups = Rollups(self.db)
        self.sealed = Sealed(self.db)
        self.throttle = Throttle(self.db)
        self.overview = Overview(self.db)
        self.timeline = Timeline(self.db)
        self.workers = Workers(self.db)

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        timeout: float = 5.0,
        pool_size: int = 50,
        appname: str = "relay",
        retention_days: int = 30,
    ) -> "Store":
        """Connect lazily to `uri`; its database, or `relay` where it names none.

        `timeout` (seconds) bounds every call, server selection included: the driver's default
        waits without end on a primary that was stopped (reliability §1.5 E).
        """
        client: MongoClient[dict[str, Any]] = MongoClient(
            uri,
            appname=appname,
            maxPoolSize=pool_size,
            serverSelectionTimeoutMS=int(timeout * 1000),
            connectTimeoutMS=int(timeout * 1000),
            timeoutMS=int(timeout * 1000),
            tz_aware=True,
            **retryable(uri),
        )
        database = parse_uri(uri, validate=False)["database"] or DEFAULT_DATABASE
        return cls(client, database, retention_days=retention_days)

    def ensure_schema(self) -> None:
        """Create or update every validator and index; safe to run again, and from several sides."""
        with database_errors():
            ensure_schema(self.db)

    def ping(self) -> None:
        """Raise `Unavailable` unless a primary answers."""
        with database_errors():
            self.db.command("ping")

    def now(self) -> datetime:
        """The database's time (the primary's wall clock), in UTC."""
        with database_errors():
            reply = self.db.command("hello", codec_options=self.db.codec_options)
        at: datetime = reply["localTime"]
        return at

    def discard(self) -> None:
        """Drop the whole database: for one that was made for a rehearsal or a measurement."""
        with database_errors():
            self.client.drop_database(self.db.name)

    def close(self) -> None:
        """Close every connection; pymongo's monitors would hold the gevent hub open otherwise."""
        self.client.close()


def retryable(uri: str) -> Mapping[str, Any]:
    """Client options that follow from the server's kind, unless the URI decides them itself.

    A standalone mongod refuses retryable writes (they need a replica set), and some platforms'
    stock database is one. Asking once at start is cheaper than failing on each first write.
    """
    if "retrywrites" in uri.lower():
        return {}
    with pymongo.MongoClient[dict[str, Any]](uri, serverSelectionTimeoutMS=1500) as probe:
        try:
            hello = probe.admin.command("hello")
        except pymongo.errors.PyMongoError:
            return {}
    standalone = "setName" not in hello and hello.get("msg") != "isdbgrid"
    return {"retryWrites": False} if standalone else {}
