"""The command-line tool: each command calls one function of the library."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from ._validate import require_extra, unknown, visible
from ._version import __version__
from .service import commands as service_commands

if TYPE_CHECKING:
    from .report.folder import Reported
    from .studies.study import Study

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
    from .reproduce import PAPER_EXPERIMENTS
    from .reproduce.further import decide_further
    from .studies.study import read_study

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
    from .studies.study import read_study

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


@app.command()
def diagnose(
    rewards: Annotated[
        list[str],
        typer.Argument(
            help="CSV, NDJSON or Parquet files with columns arm, reward and optionally time; - reads standard input."
        ),
    ],
    goal: Annotated[
        str | None, typer.Option(help="mean or location; by default the mean if it exists.", show_default=False)
    ] = None,
    minimise: Annotated[bool, typer.Option("--minimise", help="Rewards are costs: lower is better.")] = False,
    control: Annotated[str | None, typer.Option(metavar="ARM", help="The arm to compare earnings with.")] = None,
    in_order: Annotated[bool, typer.Option("--in-order", help="Rows are in order of time.")] = False,
    arm_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the arm.")] = "arm",
    reward_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the reward.")] = "reward",
    feature_column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column with a feature of the decision; may be given several times."),
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="Folder for plots: Hill plot, tails, drift.")] = None,
    html: Annotated[Path | None, typer.Option(help="File for the report as a page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for programs.")] = False,
) -> None:
    """Examine logged rewards: the best arm, tails and drift.

    Also say which policy fits, and what it would have earned.

    Example: heavybandits diagnose latencies.csv --minimise --arm-column server --reward-column ms
    """
    from .engine.progress import bar_shown, say

    chosen: Any = goal  # the library checks it
    with bar_shown():
        say("starting")
        from .diagnosis import diagnose as look

        found = look(
            rewards[0] if len(rewards) == 1 else rewards, goal=chosen, minimise=minimise, control=control,
            ordered=in_order, arm_column=arm_column,
            reward_column=reward_column, feature_columns=feature_column or (), plots=plots,
        )  # fmt: skip
    if html is not None:
        from ._files import named
        from .report.diagnosis_page import diagnosis_page

        with named(html):
            html.write_text(diagnosis_page(found), encoding="utf-8")
    if as_json:
        import json

        from .diagnosis.export import as_values

        print(json.dumps(as_values(found), indent=2))
    else:
        print(visible(found.text()), end="")


@app.command()
def compare(
    log: Annotated[
        str,
        typer.Argument(
            help="A CSV or Parquet file with columns arm, reward and optionally time; - reads standard input."
        ),
    ],
    control: Annotated[str | None, typer.Option(metavar="ARM", help="The arm over which lifts are measured.")] = None,
    cap: Annotated[
        str | None, typer.Option(metavar="C | LOW:HIGH", help="Count rewards up to C, or from LOW to HIGH.")
    ] = None,
    goal: Annotated[str, typer.Option(help="mean, location, or the level of a quantile, such as 0.9.")] = "mean",
    delta: Annotated[float, typer.Option(help="The share of experiments in which a verdict may be wrong.")] = 0.05,
    eps: Annotated[float | None, typer.Option(help="A difference that does not matter.")] = None,
    minimise: Annotated[bool, typer.Option("--minimise", help="Rewards are costs: lower is better.")] = False,
    before: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A column from before the experiment: differences need fewer rewards."),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(metavar="ARM=W,...", help="Planned shares, as weights, or equal: test whether rows fit them."),
    ] = None,
    guardrail: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="Such as 'latency <= +20' or 'orders >= -2%', against the control; repeat it."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Another metric to compare arms by; repeat it.")
    ] = None,
    cost: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Another metric, of which lower is better; repeat it.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Add intervals that hold only if you look once, at the planned end.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    arm_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the arm.")] = "arm",
    reward_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the reward.")] = "reward",
) -> None:
    """Say which arm is best, as far as logged rewards show it.

    That holds however often you look and however arms were chosen.

    Example: heavybandits compare orders.csv --control blue --cap 500
    """
    from .engine.progress import bar_shown, say

    with bar_shown():
        say("starting")
        from .evidence.comparison import compare as look

        say("comparing")
        found = look(
            log, goal=goal if goal in ("mean", "location") else _float("--goal", goal), control=control,
            cap=_cap(cap), delta=delta, eps=eps, minimise=minimise,
            before=before, shares=_weights(shares), guardrails=guardrail or [], metrics=metric or [], costs=cost or [],
            once=once, arm_column=arm_column, reward_column=reward_column,
        )  # fmt: skip
    print(json.dumps(found.as_dict(), indent=2) if as_json else found)


def _weights(text: str | None) -> dict[str, float] | str | None:
    """Return planned shares from text such as ``blue=1,green=2``."""
    if text is None or "=" not in text:
        return text  # the library checks it
    return {arm.strip(): _float("--shares", weight)
            for arm, _, weight in (part.rpartition("=") for part in text.split(","))}  # fmt: skip


@app.command()
def evaluate(
    log: Annotated[
        list[str],
        typer.Argument(help="CSV, NDJSON or Parquet files with columns arm, reward and p, or exports of the service."),
    ],
    arm: Annotated[
        list[str] | None, typer.Option(metavar="ARM", help="Always choose this arm; of several, say which is best.")
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Let a policy learn along the log.")] = None,
    by: Annotated[
        str | None, typer.Option(metavar="FILE.py:FUNCTION", help="Choose by a function of what was known.")
    ] = None,
    method: Annotated[str, typer.Option(help="How the estimate is made.")] = "snips",
    cap: Annotated[
        str | None, typer.Option(metavar="C | LOW:HIGH", help="Count rewards up to C, or from LOW to HIGH.")
    ] = None,
    floor: Annotated[float | None, typer.Option(help="The least probability of any arm, as it was set.")] = None,
    delta: Annotated[float, typer.Option(help="The share of logs in which an interval may be wrong.")] = 0.05,
    arm_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the arm.")] = "arm",
    reward_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the reward.")] = "reward",
    p_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the probability of the choice.")] = "p",
) -> None:
    """Say what another way to decide would have earned.

    The log must have the probabilities of its decisions.

    Example: heavybandits evaluate decisions.csv --arm green --cap 500
    """
    from .algorithms.registry import from_file
    from .evaluation import evaluate as look

    path, _, name = (by or "").rpartition(":")
    if by is not None and not path.endswith(".py"):
        raise ValueError(f"--by: must be a function in a file, as in rules.py:choose, got {by!r}")
    targets: dict[str, Any] = {"arm": arm, "policy": policy, "by": None if by is None else from_file(path, name)}
    print(look(
        log, **{word: target for word, target in targets.items() if target is not None}, method=method,
        cap=_cap(cap), floor=floor, delta=delta, arm_column=arm_column, reward_column=reward_column,
        p_column=p_column,
    ))  # fmt: skip


def _cap(text: str | None) -> Any:
    """Return a cap, or the two numbers between which rewards count; the library checks them."""
    ends = [] if text is None else [_float("--cap", end) for end in text.split(":")]
    return None if not ends else ends[0] if len(ends) == 1 else tuple(ends)


def _float(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option}: must be a number, got {text!r}") from None


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
    from .algorithms.registry import TITLES, estimators, policies
    from .world.environments import instances
    from .world.noises import noises

    if what == "studies":
        from .studies.study import studies

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
    from .report.folder import run_and_report

    try:
        _show(run_and_report(studies, out, workers, scheduler, store, write=_report, **more))
    except KeyboardInterrupt as error:
        raise Interrupted(_notes(error)) from None


def _report(folder: Path, store: str | None, *drawn: Any) -> Reported:
    """Write the report on a folder, with the paper's claims if it holds studies of the paper."""
    require_extra("studies", "jinja2")
    from .report.folder import report_folder
    from .reproduce.folder import holds_paper, report_paper

    write = report_paper if holds_paper(store or folder) else report_folder
    return write(folder, store, *drawn)


def _show(reported: Reported) -> None:
    """Print a summary of a report, and where it is."""
    from .report.terminal import terminal_summary

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
