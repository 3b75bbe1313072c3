"""Metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..log.log import Log

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)


class Metrics:
    """Counters of one server.

    Parameters
    ----------
    log
        The log whose queue and batches are shown.
    """

    def __init__(self, log: Log) -> None:
        self._registry = registry = CollectorRegistry()
        labels = ("method", "path", "status")
        self._requests = Counter("heavybandits_requests", "Requests answered.", labels, registry=registry)
        self._counters: dict[tuple[str, str, int], Counter] = {}  # looked up before
        self._seconds = Histogram(
            "heavybandits_request_seconds", "Seconds until the answer.", buckets=BUCKETS, registry=registry
        )
        gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "waiting": ("Waiting requests.", lambda: log.waiting),
            "batches": ("Batches stored.", lambda: log.batches),
            "events": ("Events stored.", lambda: log.events),
            "database_up": ("Whether the database answers and stores.", lambda: log.available),
            "ready": ("Whether all experiments have been read.", log.ready.is_set),
            "unreadable": ("Experiments that cannot be read.", lambda: len(log.problems)),
        }
        for name, (what, value) in gauges.items():
            Gauge(f"heavybandits_{name}", what, registry=registry).set_function(value)

    def observe(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        counter = self._counters.get((method, path, status))
        if counter is None:
            counter = self._counters[method, path, status] = self._requests.labels(method, path, str(status))
        counter.inc()
        self._seconds.observe(seconds)

    def text(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self._registry)
