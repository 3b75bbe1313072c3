"""The service's commands for the command line: parsing and printing only."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from .._validate import visible

DEFAULT_DATABASE = "sqlite:///heavybandits.db"
Db = Annotated[str, typer.Option("--db", metavar="URL", help="sqlite:///path or postgresql://user@host/name.")]
token_app = typer.Typer(
    help="Create, list and revoke tokens of the service.", no_args_is_help=True, rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    """Add the service's commands to the tool."""
    for command in (serve, export, verify, prune, migrate):
        app.command()(command)
    app.add_typer(token_app, name="token")


def serve(
    db: Db = DEFAULT_DATABASE,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond loopback, tokens are required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")] = 8765,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Maximum requests per second per token, counting each item of a batch."),
    ] = None,
) -> None:
    """Serve decisions over HTTP, and show experiments on a page.

    Example: heavybandits serve --db sqlite:///checkout.db --port 8000
    """
    run = _needs_extra("http.server").serve
    run(db, host, port, rate)


def export(
    experiment: Annotated[str, typer.Argument(help="Name of the experiment.")],
    db: Db = DEFAULT_DATABASE,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File to write; standard output by default.")] = None,
    form: Annotated[str, typer.Option("--format", help="ndjson, csv or parquet.")] = "ndjson",
    after: Annotated[int, typer.Option(min=0, help="Skip events up to this sequence number.")] = 0,
) -> None:
    """Write an experiment's log, with propensities, to a file.

    Example: heavybandits export checkout --format parquet --out checkout.parquet
    """
    from ..online.replace import replacing

    exports = _needs_extra("maintenance.export")
    exports.check_format(form)
    with _session(db) as session:
        head = session.head(experiment)
    if head is None:
        raise ValueError(f"export: there is no experiment {experiment!r}")
    parts = exports.written(form, exports.rows(_needs_extra("storage").open_storage(db), head, after))
    if out is None:
        sys.stdout.buffer.writelines(parts)
    else:
        is_special = out.exists() and not out.is_file()  # a pipe or a device, which nothing can replace
        with out.open("wb") if is_special else replacing(out) as file:
            file.writelines(parts)


def verify(db: Db = DEFAULT_DATABASE) -> None:
    """Check everything that is stored.

    Replay every experiment from its log, and compare with all else bit for bit.

    Example: heavybandits verify --db sqlite:///checkout.db
    """
    _go_through(db, _needs_extra("maintenance.verification").verify, "verify: something is wrong with {}")


def prune(
    days: Annotated[float, typer.Option(min=0, help="Remove events older than this many days.")],
    db: Db = DEFAULT_DATABASE,
) -> None:
    """Remove old events.

    What was learned from them stays, and so do open decisions.

    Example: heavybandits prune --days 90
    """
    before = time.time_ns() // 1000 - round(days * 86_400e6)
    work = _needs_extra("maintenance.retention").prune
    _go_through(db, lambda session: work(session, before), "prune: nothing was removed from {}")


def _go_through(db: str, work: Any, complaint: str) -> None:
    """Print what some work finds in a database, and complain at the end about what was wrong."""
    import logging

    logging.getLogger("heavybandits").addHandler(logging.NullHandler())  # what is printed says it
    with _session(db) as session:
        findings = work(session)
    for finding in findings:
        print(finding.text)
    wrong = [finding.experiment or finding.text.partition(":")[0] for finding in findings if not finding.ok]
    if wrong:
        named = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
        raise ValueError(f"{complaint.format(named)}; the lines on standard output say why")


def migrate(db: Db = DEFAULT_DATABASE) -> None:
    """Bring the schema of a database up to date; serve does this too.

    Example: heavybandits migrate --db postgresql://localhost/bandits
    """
    with _session(db, new=True) as session:
        print(f"schema {session.schema_version()}, up to date")


@token_app.command("create")
def create_token(
    role: Annotated[str, typer.Option(help="admin, decide or read.")],
    db: Db = DEFAULT_DATABASE,
    name: Annotated[str, typer.Option(help="What the token is for.")] = "",
) -> None:
    """Create a token and print it once; only its hash is stored."""
    secret, row = _needs_extra("http.auth").new_token(role, name, time.time_ns() // 1000)
    with _session(db, new=True) as session, session.transaction():
        session.put_token(row)
    print(f"Token {row.id} with role {role}.  Save the next line; it is not shown again.")
    print(secret)


@token_app.command("list")
def list_tokens(db: Db = DEFAULT_DATABASE) -> None:
    """List tokens: their ids, roles, states and names."""
    with _session(db) as session:
        for row in session.tokens():
            name = visible(row.name).replace("\n", r"\n")  # of a token that another program may have stored
            print(f"{row.id}  {row.role:6}  {'revoked' if row.revoked else 'valid':7}  {name}")


@token_app.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(help="Id of the token, as token list shows it.")], db: Db = DEFAULT_DATABASE
) -> None:
    """Revoke a token; servers notice within a second or two."""
    with _session(db) as session, session.transaction():
        if token not in {row.id for row in session.tokens()}:
            raise ValueError(f"token: there is no token {token!r}")
        session.revoke_token(token, time.time_ns() // 1000)
    print(f"Token {token} is revoked.")


def _needs_extra(module: str) -> Any:
    """Return a module of the service, or say how to install what it needs."""
    import importlib

    try:
        return importlib.import_module(f"heavybandits.service.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("heavybandits"):
            raise
        raise ValueError(f"the service needs {error.name}: pip install 'heavybandits[serve]'") from None


def _session(db: str, *, new: bool = False) -> Any:
    """Return a context manager for a connection to a database, its schema up to date; ``new`` may create it."""
    import contextlib

    storage = _needs_extra("storage").open_storage(db)
    if not (new or storage.exists()):
        raise ValueError(f"there is no database {storage.shown}; serve creates one, or name another with --db")
    session = storage.connect()
    try:
        session.migrate()
    except BaseException:
        session.close()
        raise
    return contextlib.closing(session)
