"""Commands on logs for the command line: parsing and printing only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .._validate import visible


def add_log_commands(app: typer.Typer) -> None:
    """Add the commands on logs to the tool."""
    for command in (diagnose, compare, evaluate):
        app.command()(command)


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
        typer.Option(metavar="NAME", help="Column with a feature of the decision, a number; repeat it."),
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="Folder for plots: Hill plot, tails, drift.")] = None,
    html: Annotated[Path | None, typer.Option(help="File for the report as a page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for programs.")] = False,
) -> None:
    """Examine logged rewards: the best arm, tails and drift.

    Also say which policy fits, and what it would have earned.

    Example: heavybandits diagnose latencies.csv --minimise --arm-column server --reward-column ms
    """
    from ..engine.progress import bar_shown, say

    chosen: Any = goal  # the library checks it
    with bar_shown():
        say("starting")
        from ..diagnosis import diagnose as look

        found = look(
            rewards[0] if len(rewards) == 1 else rewards, goal=chosen, minimise=minimise, control=control,
            ordered=in_order, arm_column=arm_column,
            reward_column=reward_column, feature_columns=feature_column or (), plots=plots,
        )  # fmt: skip
    if html is not None:
        from .._files import named
        from ..report.diagnosis_page import diagnosis_page

        with named(html):
            html.write_text(diagnosis_page(found), encoding="utf-8")
    if as_json:
        import json

        from ..diagnosis.export import as_values

        print(json.dumps(as_values(found), indent=2))
    else:
        print(visible(found.text()), end="")


def compare(
    log: Annotated[
        list[str],
        typer.Argument(
            help="CSV, NDJSON or Parquet files with columns arm, reward and optionally time; - reads standard input."
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
        typer.Option(metavar="COLUMN", help="A column from before the experiment, to need fewer rewards."),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(metavar="ARM=W,...", help="Planned shares, as weights, or equal: test whether rows fit them."),
    ] = None,
    guardrail: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="A limit against the control: 'latency <= +20' or 'orders >= -2%'; repeat it."
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
    from ..engine.progress import bar_shown, say

    with bar_shown():
        say("starting")
        from ..evidence.comparison import compare as look

        say("comparing")
        found = look(
            log[0] if len(log) == 1 else log, control=control, delta=delta, eps=eps, minimise=minimise,
            goal=_number_if_any(goal), cap=_cap(cap), before=before,
            shares=_weights(shares), guardrails=guardrail or [], metrics=metric or [], costs=cost or [], once=once,
            arm_column=arm_column, reward_column=reward_column,
        )  # fmt: skip
    print(json.dumps(found.as_dict(), indent=2) if as_json else found)


def _weights(text: str | None) -> dict[str, float] | str | None:
    """Return planned shares from text such as ``blue=1,green=2``."""
    if text is None or "=" not in text:
        return text  # the library checks it
    return {arm.strip(): _float("--shares", weight)
            for arm, _, weight in (part.rpartition("=") for part in text.split(","))}  # fmt: skip


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
    method: Annotated[
        str, typer.Option(help="How to estimate: snips, ips, clipped, shrunk, dr, log-smoothing or median-of-means.")
    ] = "snips",
    cap: Annotated[
        str | None, typer.Option(metavar="C | LOW:HIGH", help="Count rewards up to C, or from LOW to HIGH.")
    ] = None,
    floor: Annotated[float | None, typer.Option(help="The least probability of any arm, as it was set.")] = None,
    delta: Annotated[float, typer.Option(help="The share of logs in which an interval may be wrong.")] = 0.05,
    minimise: Annotated[bool, typer.Option("--minimise", help="Rewards are costs: lower is better.")] = False,
    arm_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the arm.")] = "arm",
    reward_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the reward.")] = "reward",
    p_column: Annotated[str, typer.Option(metavar="NAME", help="Column with the probability of the choice.")] = "p",
) -> None:
    """Say what another way to decide would have earned.

    The log must have the probabilities of its decisions.

    Example: heavybandits evaluate decisions.csv --arm green --cap 500
    """
    from ..algorithms.registry import from_file
    from ..evaluation import evaluate as look

    path, _, name = (by or "").rpartition(":")
    if by is not None and not path.endswith(".py"):
        raise ValueError(f"--by: must be a function in a file, as in rules.py:choose, got {by!r}")
    targets: dict[str, Any] = {"arm": arm, "policy": policy, "by": None if by is None else from_file(path, name)}
    print(look(
        log, **{word: target for word, target in targets.items() if target is not None}, method=method,
        cap=_cap(cap), floor=floor, delta=delta, minimise=minimise, arm_column=arm_column, reward_column=reward_column,
        p_column=p_column,
    ))  # fmt: skip


def _cap(text: str | None) -> Any:
    """Return a cap, or the two numbers between which rewards count; the library checks them."""
    ends = [] if text is None else [_float("--cap", end) for end in text.split(":")]
    return None if not ends else ends[0] if len(ends) == 1 else tuple(ends)


def _number_if_any(text: str) -> float | str:
    """Return a number, or else the text, which the library checks."""
    try:
        return float(text)
    except ValueError:
        return text


def _float(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option}: must be a number, got {text!r}") from None
