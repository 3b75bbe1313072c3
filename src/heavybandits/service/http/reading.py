"""The endpoints that only read."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ... import __version__
from ..events import iso
from ..forms import Audit, Change, ExperimentList, ExperimentView
from ..log.requests import ReadReplica
from ..log.turn import Outcome, refusal
from ..maintenance.export import FORMATS, check_format, rows, written
from ..replicas.replica import Replica
from ..replicas.report import checked, full_report
from ..storage import Session, Storage, StorageError
from ..storage.rows import Head
from .downloads import Download
from .openapi import openapi_description
from .table import operation
from .web import Refused, respond

if TYPE_CHECKING:
    from .app import Service

CHANGES_PER_ANSWER = 1_000  # changes in one answer
Sequence = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]
Format = Literal["ndjson", "csv", "parquet"]


async def every_experiment(service: Service) -> Outcome:
    """Return a view of every experiment that can be read."""
    found = await service.ask(lambda session: Outcome(200, list(session.progress())))
    if found.status != 200:
        return found
    views = await asyncio.gather(*(service.ask(ReadReplica(name, Replica.view)) for name in found.body))
    return Outcome(200, ExperimentList([view.body for view in views if view.status == 200]))


def changes_of(name: str, after: int) -> Callable[[Session], Outcome]:
    """Return a function that reads who changed what in an experiment, for the log to run."""

    def work(session: Session) -> Outcome:
        head = session.head(name)
        if head is None:
            return refusal(404, "unknown experiment", f"there is no experiment {name!r}")
        found = session.changes(head.id, after, CHANGES_PER_ANSWER)
        changes = [Change(e.seq, iso(e.t), msgspec.Raw((e.body or "null").encode())) for e in found]
        return Outcome(200, Audit(changes))

    return work


@operation("GET", "/v1/experiments", "read", None, {200: ExperimentList})
async def list_experiments(service: Service, request: Request, who: str | None) -> Response:
    """List the experiments."""
    return respond(await every_experiment(service))


@operation("GET", "/v1/experiments/{experiment}", "read", None, {200: ExperimentView})
async def show_experiment(service: Service, request: Request, who: str | None) -> Response:
    """Show an experiment as it is now."""
    return respond(await service.ask(ReadReplica(request.path_params["experiment"], Replica.view)))


@operation("GET", "/v1/experiments/{experiment}/report", "read", None, {200: dict[str, Any]})
async def show_report(service: Service, request: Request, who: str | None) -> Response:
    """Show an experiment's totals, estimates, largest rewards and history."""
    found = await service.ask(ReadReplica(request.path_params["experiment"], checked))
    return respond(Outcome(200, await run_in_threadpool(full_report, *found.body)) if found.status == 200 else found)


@operation("GET", "/v1/experiments/{experiment}/audit", "read", None, {200: Audit}, {"after": Sequence})
async def audit(service: Service, request: Request, who: str | None) -> Response:
    """List who changed what: up to a thousand changes after a sequence number."""
    return respond(await service.ask(changes_of(request.path_params["experiment"], _after(request))))


@operation(
    "GET", "/v1/experiments/{experiment}/export", "read", None, {200: None}, {"after": Sequence, "format": Format}
)  # fmt: skip
async def export(service: Service, request: Request, who: str | None) -> Response:
    """Download the events after a sequence number, as ndjson, csv or parquet."""
    name, after, form = request.path_params["experiment"], _after(request), request.query_params.get("format", "ndjson")
    try:
        check_format(form)
    except ValueError as error:
        raise Refused(422, "invalid", str(error)) from None
    with contextlib.ExitStack() as stack:
        stack.enter_context(service.downloads.one())
        try:
            head = await run_in_threadpool(_head, service.storage, name)
        except StorageError:
            raise Refused(503, "unavailable", "the database cannot be reached") from None
        if head is None:
            raise Refused(404, "unknown experiment", f"there is no experiment {name!r}")
        parts = written(form, rows(service.storage, head, after))
        stack.callback(parts.close)
        return Download(parts, FORMATS[form], stack.pop_all().close)


def _head(storage: Storage, name: str) -> Head | None:
    with contextlib.closing(storage.connect()) as session:
        return session.head(name)


def _after(request: Request) -> int:
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Refused(422, "invalid", f"after must be a sequence number, got {text!r}")
    return int(text)


@operation("GET", "/health", None, None, {200: dict[str, str]})
async def health(service: Service, request: Request, who: str | None) -> Response:
    """Say that the process is alive."""
    return respond(Outcome(200, {"status": "ok", "version": __version__}))


@operation("GET", "/ready", None, None, {200: dict[str, Any]})
async def ready(service: Service, request: Request, who: str | None) -> Response:
    """Say whether decisions can be made, and what is still compiled or replayed; 503 while they cannot."""
    if service.draining:
        raise Refused(503, "not ready", "the server is stopping")
    replaying = [f"{name}: event {seq} of {last}" for name, (seq, last) in service.log.replays.copy().items()]
    if not service.log.ready.is_set():
        why = f"the server replays {'; '.join(replaying)}" if replaying else "the server is starting"
        raise Refused(503, "not ready", why if service.log.available else "the server cannot reach its database")
    if not service.log.available:
        raise Refused(503, "not ready", "the database does not answer or cannot store; the server's own log says why")
    problems, compiling = list(service.log.problems.values()), service.log.compiling()
    found = {"status": "ready", "problems": problems, "compiling": compiling, "replaying": replaying}
    return respond(Outcome(200, found))


@operation("GET", "/metrics", "read", None, {200: None})
async def metrics(service: Service, request: Request, who: str | None) -> Response:
    """Show metrics in the format of Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


@operation("GET", "/openapi.json", None, None, {200: dict[str, Any]})
async def openapi(service: Service, request: Request, who: str | None) -> Response:
    """Describe this interface."""
    return respond(Outcome(200, openapi_description()))
