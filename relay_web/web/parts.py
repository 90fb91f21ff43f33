"""What views work with, made once in `create_app`. Nothing else in the web layer is global."""

from dataclasses import dataclass

from flask import current_app

from relay_web.domain.target import EgressPolicy
from relay_web.domain.vault import Vault
from relay_web.engine.event_schemas import EventSchemas
from relay_web.engine.intake import Intake
from relay_web.settings import Settings
from relay_web.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    store: Store
    intake: Intake
    vault: Vault
    policy: EgressPolicy
    schemas: EventSchemas


def parts() -> Parts:
    """The parts of the application that serves this request."""
    found: Parts = current_app.extensions["relay"]
    return found
