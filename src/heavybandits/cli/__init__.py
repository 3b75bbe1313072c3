"""The command-line tool: each command calls one function of the library."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from .._validate import require_extra, unknown, visible
from .._version import __version__
from ..service import commands as service_commands
from . import logs

if TYPE_CHECKING:
    from ..report.folder import Reported
    from ..studies.study import Study

app = typer.Typer(
    help="Bandits for heavy-tailed rewards: reproduce the paper, run studies, judge rewards, serve decisions.",
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
console = Console()
INTERRUPTED = 130  # the exit status that shells expect

Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for results and report.")]
Store = Annotated[
    str | None, typer.Option(metavar="URL", help="Where results are stored if not in the folder: any fsspec URL.")
]
Workers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of threads; by default one per core.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler to run on instead, such as tcp://host:8786.")
]


@app.command()
def reproduce(
    out: Out = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run only this experiment; may be given several times.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a twentieth of the replications, and skip the remarks.")
    ] = False,
    paper_only: Annotated[
        bool, typer.Option("--paper-only", help="Leave out auto, which is not in the paper.")
    ] = False,
    decide: Annotated[
        bool, typer.Option("--decide", help="Run undecided claims for longer: about ten minutes on two cores.")
    ] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    store: Store = None,
) -> None:
    """Reproduce the paper: its experiments, figures and claims.

    Example: heavybandits reproduce --only cauchy --only runtime --out paper
    """
    from ..reproduce import PAPER_EXPERIMENTS
    from ..reproduce.further import decide_further
    from ..studies.study import read_study

    for name in only or ():
        if name not in PAPER_EXPERIMENTS:
            raise ValueError(unknown("experiment", name, PAPER_EXPERIMENTS))
    names = only or [name for name in PAPER_EXPERIMENTS if not (quick and name.startswith("remarks"))]
    chosen = [read_study(name) for name in PAPER_EXPERIMENTS if name in names]
    if quick:
        chosen = [study.with_replications(study.spec.study.replications // 20) for study in chosen]
    if paper_only:
        chosen = [study.without("auto") for study in chosen]
    folder = out or Path("paper" + "-only" * paper_only + "-quick" * quick)
    play_further = functools.partial(
        decide_further, {study.name: study for study in chosen}, str(store or folder),
        tell=functools.partial(print, flush=True),
    )  # fmt: skip
    _run(chosen, folder, workers, scheduler, store, **{"further": play_further} if decide else {})


@app.command()
def run(
    study: Annotated[str, typer.Argument(help="A study file (*.toml), or the name of a study in the package.")],
    out: Out = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    store: Store = None,
) -> None:
    """Run a study, or resume it, and write its report.

    Example: heavybandits run my-study.toml --out my-results
    """
    from ..studies.study import read_study

    chosen = read_study(study)
    _run([chosen], out or Path(chosen.name), workers, scheduler, store)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="Folder of a study that has been run.")], store: Store = None
) -> None:
    """Write figures, tables and report.html from stored results.

    Example: heavybandits report paper
    """
    _show(_report(directory, store))


logs.add_log_commands(app)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="policies, estimators, noises, instances or studies.")],
) -> None:
    """List what is available.

    Example: heavybandits list policies
    """
    groups = _listed(what)
    width = max(len(name) for group in groups.values() for name in group)
    for title, group in groups.items():
        if title:
            print(f"# {title}")
        for name, line in group.items():
            print(f"{name:{width}}  {line}")


service_commands.add_to(app)


def _listed(what: str) -> dict[str, dict[str, str]]:
    """Return a line about each name, in groups by title."""
    from ..algorithms.registry import TITLES, estimators, policies
    from ..world.environments import instances
    from ..world.noises import noises

    if what == "studies":
        from ..studies.study import studies

        files = {name: tomllib.loads(path.read_text("utf-8")) for name, path in studies().items()}
        return {"": {name: file["study"]["title"] for name, file in files.items()}}
    known: dict[str, Any] = {"estimators": estimators, "noises": noises, "instances": instances}
    if what == "policies":
        groups = {title: policies(kind) for kind, title in TITLES.items()}
    elif what in known:
        groups = {"": known[what]()}
    else:
        raise ValueError(unknown("list", what, ["policies", *known, "studies"]))
    return {title: {name: _first_line(thing) for name, thing in group.items()} for title, group in groups.items()}


def _first_line(thing: Any) -> str:
    """Return the first line of a docstring as a noun phrase, with the fixed parameters, if any."""
    if not isinstance(thing, functools.partial):
        line = re.sub(r":\w+:`|`|\\", "", str(thing.__doc__).strip().splitlines()[0]).removeprefix("Return ")
        return f"{line[0].upper()}{line[1:]}"
    fixed = ", ".join(
        f"{name}={value}" for name, value in zip(inspect.signature(thing.func).parameters, thing.args, strict=False)
    )
    return f"{_first_line(thing.func).removesuffix('.')}; {fixed}."


def _version(show: bool) -> None:
    if show:
        print(f"heavybandits {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


class Interrupted(Exception):
    """Ctrl-C during a run, with notes for the user; typer would turn a KeyboardInterrupt into a bare exit status."""


def _run(
    studies: list[Study], out: Path, workers: int | None, scheduler: str | None, store: str | None, **more: Any
) -> None:
    from ..report.folder import run_and_report

    try:
        _show(run_and_report(studies, out, workers, scheduler, store, write=_report, **more))
    except KeyboardInterrupt as error:
        raise Interrupted(_notes(error)) from None


def _report(folder: Path, store: str | None, *drawn: Any) -> Reported:
    """Write the report on a folder, with the paper's claims if it holds studies of the paper."""
    require_extra("studies", "jinja2")
    from ..report.folder import report_folder
    from ..reproduce.page import holds_paper, report_paper

    write = report_paper if holds_paper(store or folder) else report_folder
    return write(folder, store, *drawn)


def _show(reported: Reported) -> None:
    """Print a summary of a report, and where it is."""
    from ..report.terminal import terminal_summary

    for item in reported.damaged:
        print(f"damaged in the store and recomputed: {item}", file=sys.stderr)
    for study in reported.studies:
        if missing := study.provenance["missing replications"]:
            print(f"{study.name} is not finished: {missing} replications are missing", file=sys.stderr)
    for table in terminal_summary(reported.studies):
        console.print(table)
    if reported.closing:
        console.print(reported.closing)
    print(visible(f"Open {reported.page.resolve()}"))


def main() -> NoReturn:
    """Run the tool; an error becomes one line on standard error and the exit status."""
    try:
        if app(standalone_mode=False) == INTERRUPTED:  # newer versions of typer return it, older ones raise
            raise KeyboardInterrupt
        status = 0
    except (Interrupted, KeyboardInterrupt, typer.Abort) as error:
        print(f"\ninterrupted{error}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # without waiting for threads in compiled code; chunks are stored whole or not at all
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        status = _complain(f"{error.strerror or error}{where}{_notes(error)}")
    except (ValueError, TypeError, ImportError) as error:
        status = _complain(f"{error}{_notes(error)}")
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's errors about wrong usage have it
            raise
        message: str = error.format_message()
        if (usage := getattr(error, "ctx", None)) is not None and "\n" not in message:
            message = f"{message.removesuffix('.')}; see {usage.command_path} --help"
        status = _complain(message) if "\n" not in message else _help(message)
    sys.exit(status)


def _help(text: str) -> int:
    """Print the help of a command that was called without arguments."""
    print(text, file=sys.stderr)
    return 2


def _notes(error: BaseException) -> str:
    """Return the notes of an error, which say what a command that stopped half-way left behind."""
    return "".join(f". {note}" for note in getattr(error, "__notes__", ()))


def _complain(message: str) -> int:
    print(visible(f"heavybandits: {message}").replace("\n", " "), file=sys.stderr)
    return 2
