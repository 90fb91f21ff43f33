"""More deliveries than one tells one by one, for lists: known in number and order."""

import json
from datetime import timedelta
from typing import Any

from relay_web.domain.delivery import State
from relay_web.domain.endpoint import Endpoint
from relay_web.store import Store
from tests.browser.scenery import EMAIL, FAILING, Scene
from tests.stories import Teller

#: In all: the failing ones of the scene are among them.
EXPIRED = 214
ARCHIVED = 12_050
MIXED = 120

_DAYS = 86_400


def expired(store: Store, scene: Scene) -> None:
    """Billing's certificate ran out a while ago: so many deliveries wait for their next try."""
    tell, billing = Teller(store, scene.team), _endpoint(store, scene, "Billing")
    with tell.together():
        for step in range(EXPIRED - FAILING):
            ago = 9000 - step * 30
            tries = [{"at": ago - 1, "cause": "tls_expired", "ms": 38.0, "delay": 7200.0,
                      "reason": "certificate expired on 2026-12-01 02:10 UTC"}]  # fmt: skip
            tell.delivery(
                billing, ago=ago, state=State.PENDING, tries=tries,
                due_at=tell.now + timedelta(hours=2, seconds=step),
            )  # fmt: skip


def archive(store: Store, scene: Scene) -> None:
    """Old ones that arrived, all of one type: more than a page counts."""
    tell, crm = Teller(store, scene.team), _endpoint(store, scene, "CRM sync")
    with tell.together():
        for step in range(ARCHIVED):
            ago = 20 * _DAYS - step * 60
            tell.delivery(crm, kind="archive.kept", ago=ago, tries=[{"at": ago - 1, "status": 200}])


def mixed(store: Store, scene: Scene) -> None:
    """One after another in every state, to two endpoints, numbered in their data."""
    tell = Teller(store, scene.team)
    endpoints = [_endpoint(store, scene, name) for name in ("Billing", "CRM sync")]
    with tell.together():
        for step in range(MIXED):
            ago = 5 * _DAYS - step * 60
            tell.delivery(
                endpoints[step % 2],
                kind=("mixed.one", "mixed.two", "mixed.three")[step % 3],
                ago=ago,
                data=json.dumps({"n": step}).encode(),
                **_in_turn(tell, step, ago),
            )


def _in_turn(tell: Teller, step: int, ago: float) -> dict[str, Any]:
    failed = {"at": ago - 1, "status": 503, "cause": "server_error", "delay": 9 * _DAYS}
    match step % 5:
        case 0 | 1:
            return {"tries": [{"at": ago - 1, "status": 200}]}
        case 2:
            return {"state": State.FAILED, "tries": [failed | {"verdict": "failed"}]}
        case 3:
            later = tell.now + timedelta(days=4, minutes=step)
            return {"state": State.PENDING, "tries": [failed], "due_at": later}
        case _:
            at = tell.at(ago - 5)
            action = {"id": f"cancel-{step}", "kind": "cancel", "by": EMAIL, "at": at, "token": 1}
            return {
                "state": State.CANCELLED,
                "tries": [failed],
                "actions": [action],
                "finished_at": at,
            }


def _endpoint(store: Store, scene: Scene, name: str) -> Endpoint:
    return store.endpoints.get(scene.team, scene.endpoints[name])
