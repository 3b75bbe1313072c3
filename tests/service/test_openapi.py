"""The interface does what its OpenAPI description says, for whatever requests are made up."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from services import ARMS, Running, call, running

from heavybandits.service.http.openapi import openapi_description
from heavybandits.service.storage import open_storage

SCHEMA = schemathesis.openapi.from_dict(openapi_description())
CHECKS: list[Any] = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("log")
    with running(open_storage(f"sqlite:///{folder}/log.db")) as server:
        server("PUT", "/x", {"arms": ARMS, "policy": "ucb"})
        yield server


@pytest.mark.slow
@SCHEMA.parametrize()
@settings(max_examples=15, derandomize=True, suppress_health_check=list(HealthCheck))
def test_made_up_requests_are_answered_as_described(case: Any, server: Running) -> None:
    if case.operation.path == "/v1/experiments/{experiment}" and case.method == "PUT" and isinstance(case.body, dict):
        case.body["policy"] = "ucb"  # others would be compiled
    if "experiment" in (case.path_parameters or {}) and case.method != "PUT":
        case.path_parameters["experiment"] = "x"  # otherwise nearly all would be 404
    case.call_and_validate(base_url=f"http://{server.address}", checks=CHECKS)
    if case.operation.path == "/v1/experiments/{experiment}" and case.method == "DELETE":
        server("PUT", "/x", {"arms": ARMS, "policy": "ucb"})


@pytest.mark.slow
def test_the_description_is_served_and_other_addresses_are_not(server: Running) -> None:
    served = call(server.address, "GET", "/openapi.json")
    assert served.status == 200
    assert served.body == openapi_description()
    for method, path, status in [
        ("GET", "/nowhere", 404),
        ("POST", "/health", 405),
        ("GET", "/v1/experiments/x/y", 404),
    ]:
        refused = call(server.address, method, path)
        assert (refused.status, refused.headers["content-type"]) == (status, "application/problem+json")
