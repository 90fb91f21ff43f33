"""What Prometheus reads. The figures are the database's, so any web process gives the same ones."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from relay_web import __version__
from relay_web.store import Store


class Figures(Collector):
    """Reads the store at scrape time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> list[Metric]:
        """Nothing ahead of time: registering must not read the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Raises `Unavailable`, which answers the scrape with 503."""
        build = GaugeMetricFamily("relay_build", "The running version.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        yield from self._queue()
        yield from self._workers()

    def _queue(self) -> Iterator[Metric]:
        depth = self._store.figures.depth()
        states = GaugeMetricFamily(
            "relay_deliveries_live", "Deliveries that have not ended.", labels=["state"]
        )
        for state, number in sorted(depth.live.items()):
            states.add_metric([state], number)
        yield states
        yield GaugeMetricFamily(
            "relay_oldest_due_seconds",
            "How long the oldest due delivery of an active endpoint has waited.",
            value=depth.oldest_due,
        )
        yield GaugeMetricFamily(
            "relay_fanout_pending", "Accepted events not fanned out yet.", value=depth.unfanned
        )

    def _workers(self) -> Iterator[Metric]:
        now = self._store.now()
        health = GaugeMetricFamily("relay_workers", "Worker processes.", labels=["state"])
        in_flight = GaugeMetricFamily("relay_in_flight", "Sends under way.", labels=["worker"])
        fenced = CounterMetricFamily(
            "relay_fenced", "Late results refused for their token.", labels=["worker"]
        )
        counted: dict[str, int] = {}
        for beat in self._store.workers.all():
            state = beat.health(now)
            counted[state] = counted.get(state, 0) + 1
            if state in ("beating", "late", "draining"):
                in_flight.add_metric([beat.name], beat.in_flight)
                fenced.add_metric([beat.name], beat.fenced)
        for state, number in sorted(counted.items()):
            health.add_metric([state], number)
        yield from (health, in_flight, fenced)
