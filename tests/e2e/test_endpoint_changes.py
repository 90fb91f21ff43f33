"""An endpoint that is edited, paused, deleted or given a new secret while retries wait (C11)."""

from datetime import timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from relay_web.domain.delivery import State, Word
from relay_web.domain.endpoint import Endpoint
from relay_web.engine.actions import Actions
from relay_web.engine.registration import edit, rotate_secret
from relay_web.errors import Conflict
from tests.e2e import invariants
from tests.e2e.stage import Stage
from tests.e2e.waiting import SOON, eventually
from tests.receiver import answer

WAITING = 3
#: So many retries, and the pauses between them outlast the second that a worker may go on with
#: what it last read of an endpoint.
RETRIES_MEANWHILE = 3


def _worker_with_retries_under_way(stage: Stage) -> Endpoint:
    """An endpoint that fails; each of its deliveries was tried once and waits for its next turn."""
    stage.receiver.script("/old", answer(500))
    endpoint = stage.endpoint("/old")
    stage.publish_many(WAITING, to=endpoint)
    stage.worker(RELAY_RETRY_SCHEDULE=",".join(["600ms"] * 40))
    stage.receiver.wait(WAITING, "/old", within=SOON)
    return endpoint


def _three_retries_of_another_endpoint(stage: Stage, path: str) -> None:
    """Let as much time pass as three retries take, by the worker's own measure."""
    stage.receiver.script(path, *[answer(500)] * RETRIES_MEANWHILE, answer(200))
    stage.publish(to=stage.endpoint(path))
    stage.receiver.wait(RETRIES_MEANWHILE + 1, path, within=SOON)


def test_pending_retries_go_to_the_new_address(stage: Stage) -> None:
    endpoint = _worker_with_retries_under_way(stage)

    moved = {"url": stage.receiver.url("/new")}
    edit(stage.store, stage.vault, stage.policy, stage.team, endpoint.id, moved)

    stage.settled(delivered=WAITING)
    last_old = max(request.at for request in stage.receiver.requests("/old"))
    first_new = min(request.at for request in stage.receiver.requests("/new"))
    assert last_old < first_new
    invariants.hold(stage)


def test_a_paused_endpoint_gets_nothing_and_loses_nothing(stage: Stage) -> None:
    endpoint = _worker_with_retries_under_way(stage)

    # When it is paused, and one more event is published
    stage.store.endpoints.pause(stage.team, endpoint.id, "Ada")
    _three_retries_of_another_endpoint(stage, "/meanwhile")
    before = len(stage.receiver.requests("/old"))
    held = stage.publish(to=endpoint)
    _three_retries_of_another_endpoint(stage, "/later")

    # Then nothing is sent to it, and everything is held
    assert len(stage.receiver.requests("/old")) == before
    rows = stage.store.timeline.of_event(stage.team, held.event)
    assert [row.word for row in rows] == [Word.HELD]

    # And resumed, it gets all of it
    stage.receiver.script("/old", answer(200))
    stage.store.endpoints.resume(stage.team, endpoint.id, "Ada")
    stage.settled(delivered=WAITING + 1 + 2)
    invariants.hold(stage)


def test_deliveries_of_a_deleted_endpoint_are_cancelled_and_say_why(stage: Stage) -> None:
    # Given retries that are due at once, and such as are due in hours
    soon = _worker_with_retries_under_way(stage)
    late = stage.endpoint("/old", retry_schedule=[36_000.0])
    stage.publish_many(WAITING, to=late)
    eventually(
        lambda: len(stage.deliveries(endpoint=late.id, tries=1)) == WAITING, "all were tried"
    )

    # When both endpoints are deleted
    for endpoint in (soon, late):
        stage.store.endpoints.mark_deleted(stage.team, endpoint.id)
    stage.settled(cancelled=2 * WAITING)
    before = len(stage.receiver.requests("/old"))
    _three_retries_of_another_endpoint(stage, "/meanwhile")

    # Then nothing more is sent, each delivery can still be read, and cannot be retried
    assert len(stage.receiver.requests("/old")) == before
    for delivery in stage.deliveries(state="cancelled"):
        told = " ".join(f"{line.title} {line.detail}" for line in stage.journal(delivery))
        assert "endpoint was deleted" in told
        with pytest.raises(Conflict, match="deleted"):
            Actions(stage.store).retry(stage.team, delivery.id, action_id="a", by="Ada")
    invariants.hold(stage)


def test_the_next_attempt_is_signed_with_the_new_secret(stage: Stage) -> None:
    endpoint = _worker_with_retries_under_way(stage)

    new = rotate_secret(
        stage.store, stage.vault, stage.team, endpoint.id, overlap=timedelta(0)
    ).secret
    _three_retries_of_another_endpoint(stage, "/meanwhile")
    before = len(stage.receiver.requests("/old"))
    stage.receiver.script("/old", answer(200))
    stage.settled(delivered=WAITING + 1)

    first, *_ = stage.receiver.requests("/old")
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(first.body, first.headers)
    later = stage.receiver.requests("/old")[before:]
    assert later
    for request in later:
        Webhook(new).verify(request.body, request.headers)
    assert {delivery.state for delivery in stage.deliveries()} == {State.DELIVERED}
