"""Spans of OpenTelemetry say what was asked and how it was answered, and nothing about who is in an experiment."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from starlette.requests import Request

from heavybandits.service.http import telemetry
from heavybandits.service.http.app import Service
from heavybandits.service.http.table import located
from heavybandits.service.http.telemetry import Spans
from heavybandits.service.storage import open_storage

PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def ask(service: Service, path: str, method: str = "GET") -> int:
    """Ask an application that was never started, whose log refuses every command."""
    headers = [(b"host", b"127.0.0.1"), (b"traceparent", PARENT)]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    found = located(path)
    assert found is not None
    scope["path_params"], methods = found

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"{}"}

    response = asyncio.run(service._handle(methods[method], Request(scope, receive)))
    return response.status_code


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(open_storage(f"sqlite:///{tmp_path}/log.db"))


def test_a_request_is_a_span_below_that_of_the_caller(service: Service) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    service.spans = Spans(provider)
    assert ask(service, "/health") == 200
    assert ask(service, "/ready") == 503
    alive, ready = exporter.get_finished_spans()
    assert (alive.name, alive.kind, alive.status.is_ok) == ("GET /health", SpanKind.SERVER, True)
    assert dict(alive.attributes or {}) == {
        "http.request.method": "GET", "http.route": "/health", "http.response.status_code": 200,
    }  # fmt: skip
    assert alive.parent is not None
    assert f"{alive.parent.span_id:016x}" == "b7ad6b7169203331"
    assert ready.status.is_ok is False


def test_without_opentelemetry_requests_are_answered_all_the_same(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "get_tracer", None)
    service.spans = Spans()
    assert ask(service, "/health") == 200
