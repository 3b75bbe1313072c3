"""What a server tells about itself: a log of JSON lines, metrics for Prometheus, and spans for OpenTelemetry.

There are spans only if OpenTelemetry is installed (the extra ``telemetry``).
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request

from ..events import iso
from ..log.log import Log
from .table import Operation

try:
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer
except ImportError:
    get_tracer = None  # type: ignore[assignment]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)
_USUAL = set(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """A formatter that writes a record as a line of JSON, with whatever was given as ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry = {
            "time": iso(int(record.created * 1e6)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        entry |= {name: value for name, value in record.__dict__.items() if name not in _USUAL}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def write_to_stderr() -> None:
    """Write the service's own messages, and warnings of the service, of libraries and of Python, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("heavybandits").setLevel(logging.INFO)
    logging.captureWarnings(True)
    threading.excepthook = _log_failed_thread


def _log_failed_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        logging.getLogger("heavybandits.service").error("a thread failed", exc_info=failed.exc_value)


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


class Spans:
    """Spans of one server: what was asked, by whom in a trace, and how it was answered.

    Nothing is sent unless the process has a tracer provider, as ``opentelemetry-instrument heavybandits serve`` sets up
    from the environment.  Names and ids of experiments and decisions are not part of a span.

    Parameters
    ----------
    provider
        Another tracer provider than that of the process.
    """

    def __init__(self, provider: Any = None) -> None:
        self._tracer = None if get_tracer is None else get_tracer("heavybandits", tracer_provider=provider)

    def begin(self, item: Operation, request: Request) -> AbstractContextManager[Any]:
        """Return a context for handling a request; its span is a child of the caller's, if the headers name one."""
        if self._tracer is None:
            return nullcontext()
        about = {"http.request.method": item.method, "http.route": item.path}
        return self._tracer.start_as_current_span(
            f"{item.method} {item.path}", extract(request.headers), SpanKind.SERVER, about, record_exception=False
        )

    def answered(self, span: Any, status: int) -> None:
        """Add the status of the answer; one of the server's own failures marks the span."""
        if span is not None:
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                span.set_status(Status(StatusCode.ERROR))
