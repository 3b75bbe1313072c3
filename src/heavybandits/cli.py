"""The command line tool: one function of the library behind each command."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from ._version import __version__

if TYPE_CHECKING:
    from .report import Section
    from .studies.run import Step
    from .studies.study import Study

app = typer.Typer(
    help="Bandits for heavy-tailed rewards: redo the paper, run studies, look at rewards.",
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
console = Console()
INTERRUPTED = 130  # the exit status that shells expect
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for results and report.")]
Store = Annotated[
    str | None, typer.Option(metavar="URL", help="Where to keep results if not in that folder: any fsspec address.")
]
Workers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Threads; by default one per core.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler to run on instead, such as tcp://host:8786.")
]


@app.command()
def reproduce(
    out: Out = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="An experiment; may be given several times.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A twentieth of the replications, and no remarks.")] = False,
    paper_only: Annotated[bool, typer.Option("--paper-only", help="Leave out the curve of auto.")] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    store: Store = None,
) -> None:
    """Redo the experiments of the paper, draw its figures and judge its claims.

    Example: heavybandits reproduce --only cauchy --only runtime --out paper
    """
    from ._validate import unknown
    from .reproduce import EXPERIMENTS
    from .studies.study import read_study

    for name in only or ():
        if name not in EXPERIMENTS:
            raise ValueError(unknown("experiment", name, EXPERIMENTS))
    names = only or [name for name in EXPERIMENTS if not (quick and name.startswith("remarks"))]
    chosen = [read_study(name) for name in EXPERIMENTS if name in names]
    if quick:
        chosen = [study.with_replications(study.spec["study"]["replications"] // 20) for study in chosen]
    if paper_only:
        chosen = [study.without("auto") for study in chosen]
    folder = "paper" + "-only" * paper_only + "-quick" * quick
    _run(chosen, out or Path(folder), workers, scheduler, store)


@app.command()
def run(
    study: Annotated[str, typer.Argument(help="A study file *.toml, or the name of one that comes with the package.")],
    out: Out = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    store: Store = None,
) -> None:
    """Run a study, going on where it stopped, and report on it.

    Example: heavybandits run my-study.toml --out my-results
    """
    from .studies.study import read_study

    chosen = read_study(study)
    _run([chosen], out or Path(chosen.name), workers, scheduler, store)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="Folder of a study that was run.")], store: Store = None
) -> None:
    """Make figures, tables and report.html from what is stored.

    Example: heavybandits report paper
    """
    _report(directory, store)


@app.command()
def diagnose(
    rewards: Annotated[str, typer.Argument(help="A CSV or Parquet file with columns arm, reward, perhaps time; or -.")],
    plots: Annotated[Path | None, typer.Option(help="Folder for pictures: Hill plot, tails, drift.")] = None,
) -> None:
    """Look at logged rewards: tails, symmetry, drift, which policy fits, and what it would have earned.

    Example: heavybandits diagnose rewards.csv --plots pictures
    """
    from .diagnosis import diagnose as look

    print(look(rewards, plots=plots).text(), end="")


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="policies, estimators, noises, instances or studies.")],
) -> None:
    """List what there is.

    Example: heavybandits list policies
    """
    listed = _listed(what)
    width = max(map(len, listed))
    for name, line in listed.items():
        print(f"{name:{width}}  {line}")


def _listed(what: str) -> dict[str, str]:
    from ._validate import unknown
    from .algorithms.registry import estimators, policies
    from .studies.study import read_study, studies
    from .world.environments import instances
    from .world.noises import noises

    if what == "studies":
        return {name: read_study(name).spec["study"]["title"] for name in studies()}
    known: dict[str, Any] = {
        "policies": policies, "estimators": estimators, "noises": noises, "instances": instances
    }  # fmt: skip
    if what not in known:
        raise ValueError(unknown("list", what, [*known, "studies"]))
    return {name: _first_line(thing) for name, thing in known[what]().items()}


def _first_line(thing: Any) -> str:
    """What a class or a function says of itself; if some of its parameters are fixed, these too."""
    if not isinstance(thing, functools.partial):
        return re.sub(r":\w+:`|`|\\", "", str(thing.__doc__).strip().splitlines()[0])
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
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    pass


def _run(studies: list[Study], out: Path, threads: int | None, scheduler: str | None, store: str | None) -> None:
    from .report import Artist
    from .studies.run import run_studies, workers

    if threads and scheduler:
        raise ValueError("--workers and --scheduler exclude each other")
    places = {f"{store or out}/{study.name}.zarr": study for study in studies}
    with workers(threads, scheduler) as executor, Artist(out) as artist, Progress() as progress:
        damaged = run_studies(places, executor, progress, artist.draw)
        drawn = artist.sections()
    for item in damaged:
        print(f"damaged in the store, and computed again: {item}", file=sys.stderr)
    _report(out, store, drawn)


def _report(directory: Path, store: str | None, drawn: Mapping[str, Section] = MappingProxyType({})) -> None:
    """Write the page, and figures and tables that are not drawn yet, by the place of their store."""
    from .report import study_section, terminal_summary, write_page
    from .reproduce import DIFFERENCES, EXPERIMENTS, verdicts
    from .studies.store import Archive

    sections = [drawn.get(place) or study_section(directory, Archive(place).load())
                for place in _stores(str(store or directory))]  # fmt: skip
    order = {name: place for place, name in enumerate(EXPERIMENTS)}
    sections.sort(key=lambda section: order.get(section.study.name, len(order)))
    studies = [section.study for section in sections]
    decided = verdicts({study.name: study for study in studies})
    page = write_page(directory, sections, decided, DIFFERENCES if decided else ())
    for study in studies:
        if not study.provenance["complete"]:
            missing = study.provenance["missing replications"]
            print(f"{study.name} is not finished: {missing} replications are missing", file=sys.stderr)
    for part in terminal_summary(studies, decided):
        console.print(part)
    print(f"Open {page.resolve()}")


def _stores(place: str) -> list[str]:
    """The stores in a folder, or at an address that fsspec understands."""
    if "://" in place:
        import fsspec

        files = fsspec.open(place).fs
        found = [files.unstrip_protocol(path) for path in files.glob(f"{place}/*.zarr")]
    else:
        if not Path(place).is_dir():
            raise ValueError(f"{place}: there is no such folder")
        found = [str(path) for path in Path(place).glob("*.zarr")]
    if not found:
        raise ValueError(f"{place} has no results: there is no *.zarr in it")
    return sorted(found)


class Progress:
    """Shows how far a run is: a bar on a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._start = self._shown = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, step: Step) -> None:
        """Take a step."""
        if not step.total:
            print("everything is stored already")
        elif console.is_terminal:
            self._draw(step)
        elif time.monotonic() - self._shown > 5 or step.pulls == step.total:
            self._shown = time.monotonic()
            print(f"{step.last}: {self._words(step)}", flush=True)

    def _words(self, step: Step) -> str:
        speed = step.pulls / max(time.monotonic() - self._start, 1e-9)
        left = (step.total - step.pulls) / speed if speed else 0.0
        return f"{_amount(step.pulls)} of {_amount(step.total)} pulls, {_amount(speed)} per second, {left:.0f} s left"

    def _draw(self, step: Step) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(TextColumn("{task.fields[last]}"), BarColumn(), TextColumn("{task.fields[words]}"),
                            console=console, transient=True)  # fmt: skip
            self._task = self._bar.add_task("", total=step.total, last="compiling", words="")
            self._bar.start()
        if step.pulls:
            self._bar.update(self._task, completed=step.pulls, last=step.last, words=self._words(step))

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _amount(number: float) -> str:
    return f"{number / 1e6:.1f} million" if number >= 1e5 else f"{number:,.0f}"


def main() -> NoReturn:
    """Run the tool; what goes wrong is one line on standard error and the exit status."""
    try:
        if app(standalone_mode=False) == INTERRUPTED:  # newer versions of typer return it, older ones raise
            raise KeyboardInterrupt
        status = 0
    except (KeyboardInterrupt, typer.Abort):
        print(f"\ninterrupted{_goes_on()}", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # not waiting for threads in compiled code; chunks are stored whole or not at all
    except (ValueError, TypeError) as error:
        status = _complain(str(error))
    except ImportError as error:
        status = _complain(f"{error}; addresses such as s3://bucket need fsspec, and the package that it asks for")
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        status = _complain(f"{error.strerror or error}{where}{_goes_on() if error.errno in NO_SPACE else ''}")
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises for wrong usage
            raise
        status = _complain(error.format_message())
    sys.exit(status)


def _goes_on() -> str:
    """What to know of a command that stopped half-way; nothing if it stores no results."""
    stores = sys.argv[1:2] in (["run"], ["reproduce"])
    return "; what is done is stored: the same command goes on from there" if stores else ""


def _complain(message: str) -> int:
    print(f"heavybandits: {message}", file=sys.stderr)
    return 2
