"""Work and waits that are longer than one would like, and settings that cannot work (C02)."""

from tests.e2e import invariants
from tests.e2e.stage import LEASE, Stage
from tests.receiver import answer

SECONDS_PAST_THE_LEASE = 2


def test_a_wait_for_longer_than_a_lease_is_not_handed_to_another_worker(stage: Stage) -> None:
    wait = round(LEASE) + SECONDS_PAST_THE_LEASE
    later = answer(503, headers=[("Retry-After", f"{wait}")])
    for number in range(20):
        stage.receiver.script(f"/{number}", later, answer(200))
        stage.publish(to=stage.endpoint(f"/{number}"))
    stage.worker()
    stage.worker()
    stage.settled(delivered=20, within=4 * LEASE)

    for number in range(20):
        first, second = stage.receiver.requests(f"/{number}")
        assert second.at - first.at >= wait
    invariants.hold(stage)


def test_a_lease_that_a_send_could_outlive_is_refused_at_start(stage: Stage) -> None:
    for kind in ("worker", "web"):
        process = stage.start(kind, RELAY_LEASE="10s", RELAY_SEND_DEADLINE="25s", PORT="1")
        assert process.wait() == 78
        assert "RELAY_LEASE must be at least 32 s" in process.output()
