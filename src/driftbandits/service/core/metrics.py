"""What Prometheus reads at /metrics."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest
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
        self._responses = Counter(
            "driftbandits_responses", "HTTP responses, by status.", ["status"], registry=self.registry
        )
        self._by_status: dict[int, Counter] = {}
        latency = Histogram(
            "driftbandits_request_seconds",
            "Time from a request to its response.",
            ["route"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._latency = {route: latency.labels(route) for route in ROUTES}
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
        if status not in self._by_status:
            self._by_status[status] = self._responses.labels(status)
        self._by_status[status].inc()

    def time_request(self, route: str, seconds: float) -> None:
        """How long a request took; ``route`` is one of ROUTES."""
        self._latency[route].observe(seconds)

    def gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
        """A number that is read when someone asks."""
        Gauge(f"driftbandits_{name}", about, registry=self.registry).set_function(read)

    def add(self, collector: Collector) -> None:
        """More numbers, collected when someone asks."""
        self.registry.register(collector)

    def text(self) -> bytes:
        """In Prometheus's format."""
        return generate_latest(self.registry)
