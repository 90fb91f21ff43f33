"""A key that is revoked in one web process stops in every other one within two seconds."""

import time

from tests.e2e.stage import Stage
from tests.e2e.waiting import eventually

#: Seconds (reliability W16).
EVERYWHERE_WITHIN = 2.0


def test_a_revoked_key_stops_in_every_web_process_within_two_seconds(stage: Stage) -> None:
    # Given two web processes that both know the key
    first, second = stage.web(WEB_CONCURRENCY="2"), stage.web()
    for web in (first, second):
        for _ in range(8):
            assert (
                web.call("GET", "/events", Authorization=f"Bearer {first.key}").status_code == 200
            )

    # When it is revoked through the database that they share
    key = stage.store.accounts.keys.find(first.key)
    assert key is not None
    stage.store.accounts.keys.revoke(stage.team, key.id)
    revoked = time.monotonic()

    # Then each of them refuses it in time, and goes on refusing it
    def statuses() -> set[int]:
        return {
            web.call("GET", "/events", Authorization=f"Bearer {first.key}").status_code
            for web in (first, second)
            for _ in range(8)
        }

    eventually(lambda: statuses() == {401}, "both refuse it", within=EVERYWHERE_WITHIN)
    assert time.monotonic() - revoked < EVERYWHERE_WITHIN + 1
    assert statuses() == {401}
