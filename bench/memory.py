"""P7: resident memory of a worker and of a web process under load."""

from collections.abc import Iterator
from typing import Final

from bench.figures import Figure
from bench.publisher import SINGLE_LINES, Publisher
from bench.run import Run
from bench.seed import TYPE, endpoints
from bench.serving import Browser
from bench.system import wait_for

_MB: Final = 1e6
_BODY: Final = 64 * 1024
#: Ten equal lanes hold 10/11 of the slots: 110 slots are 100 in flight.
_SLOTS: Final = 110
_IN_FLIGHT: Final = 100


def resident(run: Run) -> Iterator[Figure]:
    """The worker with 100 requests of 64 KB hanging; the web process after publishes and pages."""
    yield Figure("P7.worker", _worker(run) / _MB, "MB", 150)
    yield Figure("P7.web", _web(run) / _MB, "MB", 200)


def _worker(run: Run) -> int:
    """After a few thousand such deliveries, with 100 of them under way."""
    with run.field("p7", 10, size=_BODY) as field:
        hanging = endpoints(field.store, run.vault, field.receiver.base, 10, path="hang")
        with run.system.worker(field.store, concurrency=_SLOTS) as worker:
            field.window([worker], run.times(2000, 500))
            before = field.receiver.count()
            field.seeder.deliveries([one.id for one in hanging], 2 * _IN_FLIGHT)
            wait_for(lambda: field.receiver.count() >= before + _IN_FLIGHT, "hanging")
            return worker.memory()


def _web(run: Run) -> int:
    with run.system.store("p7_web") as store:
        account = run.system.account(store)
        endpoints(store, run.vault, "http://127.0.0.1:9", 10, team=account.team_id)
        with run.system.web(store) as (web, port):
            publisher = Publisher(port, account.api_key)
            publisher.flood(publisher.single(TYPE, _BODY), SINGLE_LINES, run.times(5, 2))
            browser = Browser(port)
            browser.sign_in(account)
            for _ in range(50):
                browser.get(f"/t/{account.slug}/deliveries", 200)
            return web.memory()
