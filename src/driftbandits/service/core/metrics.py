"""What Prometheus reads at /metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from driftbandits.live.decisions import Outcome

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)


ROUTES = ("ask", "ask_many", "tell", "tell_many", "other")
"""Requests are timed by these; streams are not."""


class Metrics:
    """Counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.asks = Counter("driftbandits_asks", "Decisions made.", registry=self.registry)
        tells = Counter("driftbandits_tells", "Rewards told, by outcome.", ["outcome"], registry=self.registry)
        self.tells = {outcome: tells.labels(outcome.value) for outcome in Outcome}
        self.settled = Counter(
            "driftbandits_settled", "Decisions settled without their reward.", registry=self.registry
        )
        self._requests = _Requests()
        self.registry.register(self._requests)
        ProcessCollector(registry=self.registry)
        self.commit_seconds = Histogram(
            "driftbandits_commit_seconds", "Time of one commit to disk.", buckets=SECONDS, registry=self.registry
        )
        self.group_events = Histogram(
            "driftbandits_group_events",
            "Events of all experiments in one commit.",
            buckets=SIZES,
            registry=self.registry,
        )
        self.failed_commits = Counter(
            "driftbandits_failed_commits", "Experiments whose commit failed.", registry=self.registry
        )
        self.lost_leases = Counter(
            "driftbandits_lost_leases", "Experiments that another service took over.", registry=self.registry
        )
        Info("driftbandits", "This service.", registry=self.registry).info({"version": version("driftbandits")})
        self.commit_events = Histogram(
            "driftbandits_commit_events",
            "Events of one experiment in one commit.",
            buckets=SIZES,
            registry=self.registry,
        )

    def count_response(self, status: int) -> None:
        """One more response."""
        self._requests.statuses[status] = self._requests.statuses.get(status, 0) + 1

    def time_request(self, route: str, seconds: float) -> None:
        """How long a request took; ``route`` is one of ROUTES."""
        times = self._requests.times[route]
        times.counts[bisect_left(SECONDS, seconds)] += 1
        times.total += seconds

    def gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
        """A number that is read when someone asks."""
        Gauge(f"driftbandits_{name}", about, registry=self.registry).set_function(read)

    def add(self, collector: Collector) -> None:
        """More numbers, collected when someone asks."""
        self.registry.register(collector)

    def text(self) -> bytes:
        """In Prometheus's format."""
        return generate_latest(self.registry)


@dataclass
class _Times:
    counts: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    total: float = 0.0


class _Requests(Collector):
    """Counted at every request, on the event loop alone: so it needs none of the locks of prometheus_client."""

    def __init__(self) -> None:
        # An alert sees a counter grow, not appear: what alerts ask for is there from the start.
        self.statuses: dict[int, int] = {500: 0, 503: 0}
        self.times = {route: _Times() for route in ROUTES}

    def collect(self) -> Iterator[Metric]:
        responses = CounterMetricFamily("driftbandits_responses", "HTTP responses, by status.", labels=["status"])
        for status, count in list(self.statuses.items()):
            responses.add_metric([str(status)], count)
        latency = HistogramMetricFamily(
            "driftbandits_request_seconds", "Time from a request to its response.", labels=["route"]
        )
        for route, times in self.times.items():
            total, names = 0, [*(str(float(limit)) for limit in SECONDS), "+Inf"]
            buckets = [(name, total := total + count) for name, count in zip(names, list(times.counts), strict=True)]
            latency.add_metric([route], buckets, times.total)
        yield from (responses, latency)
