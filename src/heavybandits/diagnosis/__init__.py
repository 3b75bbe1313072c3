"""A look at logged rewards: which arm is best, how heavy the tails are, which policy fits and what it would earn."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from .._validate import require_extra, unknown
from ..engine.progress import say
from ..evidence.comparison import weigh_log
from ..evidence.report import Evidence
from ..logs.frames import Source
from ..logs.rewards import Rewards, read_rewards
from ..numerics import LARGEST_FLOAT
from ..protocols import FloatArray
from .advice import advise, overruled, rivals
from .changes import arms_move_together, ranks_within_arms
from .contexts import weigh_contexts
from .goals import choose_goal
from .means import paid_by
from .plots import save_plots
from .replay import IN_FULL, cap_of, replay_rewards
from .report import ARMS_SHOWN, Report
from .shape import NOT_SOUGHT, drift_of_ranks, level, measure, repeated
from .tails import end_at_caps

__all__ = ["Report", "diagnose"]


@np.errstate(invalid="ignore", over="ignore")
def diagnose(
    source: Source,
    *,
    goal: Literal["mean", "location"] | None = None,
    minimise: bool = False,
    control: str | None = None,
    ordered: bool = False,
    arm_column: str = "arm",
    reward_column: str = "reward",
    feature_columns: Sequence[str] = (),
    plots: str | os.PathLike[str] | None = None,
) -> Report:
    r"""Read logged rewards, describe arms and noise, and advise a policy.

    Parameters
    ----------
    source
        A CSV, NDJSON or Parquet file, an open text file, ``"-"`` for standard input, any data frame, or a list of
        these, with columns for the arm, the reward and optionally ``time``, or with a column of rewards for each arm.
        Columns of a file may be separated by semicolons, with decimal commas.  Rows that lack a value are left out and
        counted.  ``ValueError`` says in one line what is wrong with the source.
    goal
        What makes an arm the best: its ``"mean"``, or its ``"location"``, the median.  By default the mean where it
        exists; the report explains the choice.
    minimise
        Whether rewards are costs, such as latencies, so that less is better.
    control
        The arm with which earnings are compared, beside those as logged.
    ordered
        Whether rows are in order of time although there is no column ``time``.  Drift is sought only in rows that are.
    arm_column, reward_column
        Names of the columns.
    feature_columns
        Names of numeric columns with what was known when the arm was chosen.  The report then says whether these
        contexts matter, and what a policy that uses them would have earned.
    plots
        A folder for ``hill.png``, ``tails.png`` and ``drift.png``; by default nothing is plotted.

    Examples
    --------
    >>> import io
    >>> rng = np.random.default_rng(0)
    >>> lines = [f"{arm},{3 * arm + rng.standard_cauchy()}" for _ in range(1000) for arm in (0, 1)]
    >>> report = diagnose(io.StringIO("\n".join(["arm,reward", *lines])))
    >>> report.goal, report.evidence.winner
    ('location', '1')
    >>> print(report.text().splitlines()[0])
    text: 2,000 rewards of 2 arms
    """
    if goal not in (None, "mean", "location"):
        raise ValueError(f"diagnose: goal must be 'mean' or 'location', got {goal!r}")
    if plots is not None:
        require_extra("plot", "matplotlib")
    say("reading rewards")
    rewards = read_rewards(
        source, arm_column=arm_column, reward_column=reward_column, minimise=minimise, feature_columns=feature_columns
    )
    if control is not None and str(control) not in rewards.labels:
        raise ValueError(f"diagnose: {unknown('control', control, sorted(rewards.labels))}")
    say("measuring tails")
    by_arm = rewards.by_arm
    medians = np.array([level(values, "location") for values in by_arm])
    residuals = _residuals(rewards, medians)
    # Ties are counted in rewards, because subtracting medians would make residuals tie.
    ties = sum(repeated(np.sort(values)) for values in by_arm) / len(residuals)
    pooled = measure(residuals)
    upper, lower = end_at_caps(pooled.upper, pooled.lower, by_arm)
    pooled = pooled._replace(ties=ties, upper=upper, lower=lower)
    if goal == "mean" and pooled.infinite:
        raise ValueError(
            f"{rewards.source}: the goal 'mean' needs finite rewards, got {pooled.infinite} infinite; leave them out, "
            "or use the goal 'location'"
        )
    chosen, why = choose_goal(by_arm, medians, pooled, rewards.noun) if goal is None else (goal, "As requested.")
    ordered = ordered or rewards.timed
    evidence = weigh_log(rewards, chosen, control=control)
    shown = arms_shown(rewards, evidence)
    shapes = {arm: measure(by_arm[arm], chosen) for arm in shown}
    common = arms_move_together(rewards) if ordered else None
    if ordered:
        levels = np.array([level(values, chosen) for values in by_arm])
        drift = drift_of_ranks(ranks_within_arms(rewards), _residuals(rewards, levels), chosen)
        pooled = pooled._replace(drift=drift)
    else:
        pooled, *rest = (shape._replace(drift=NOT_SOUGHT) for shape in (pooled, *shapes.values()))
        shapes = dict(zip(shapes, rest, strict=True))
    if plots is not None:
        save_plots(Path(plots), rewards, residuals, pooled, shown if ordered else [], chosen)
    advice = advise(by_arm, chosen, medians, pooled, residuals, minimised=minimise)
    candidates = [advice, *rivals(chosen, pooled, residuals)]
    replayed = replay_rewards(
        by_arm, {str(one): one.policy() for one in candidates}, chosen,
        control=None if control is None else rewards.labels.index(str(control)),
        cap=cap_of(by_arm, pooled) if chosen == "mean" else IN_FULL, noun=rewards.noun,
    )  # fmt: skip
    contexts = weigh_contexts(rewards, chosen) if rewards.feature_names else None
    return Report(
        rewards=rewards, goal=chosen, why=why, evidence=evidence, levels={arm: paid_by(by_arm[arm]) for arm in shown},
        arms=shapes, pooled=pooled, common=common, advice=overruled(advice, candidates, replayed), replay=replayed,
        reading=_reading(source, arm_column, reward_column, minimise), contexts=contexts,
    )  # fmt: skip


def arms_shown(rewards: Rewards, evidence: Evidence) -> list[int]:
    """Return the numbers of the leader and of the arms with the most rewards, the best first."""
    sizes, numbers = np.bincount(rewards.arms), {label: arm for arm, label in enumerate(rewards.labels)}
    estimates = evidence.estimates
    worth = np.nan_to_num(
        [estimates[label] for label in rewards.labels], nan=-math.inf if not rewards.minimised else math.inf
    )
    order = np.argsort(worth if rewards.minimised else -worth, kind="stable").tolist()
    if evidence.leader is not None:
        order.insert(0, order.pop(order.index(numbers[evidence.leader])))
    kept = {order[0], *sorted(order[1:], key=lambda arm: -sizes[arm])[: ARMS_SHOWN - 1]}
    return [arm for arm in order if arm in kept]


def _reading(source: Source, arm_column: str, reward_column: str, minimise: bool) -> str:
    """Return the arguments with which a program reads the same rewards."""
    what = repr(str(source)) if isinstance(source, str | os.PathLike) else "table"
    if isinstance(source, list | tuple) and all(isinstance(one, str | os.PathLike) for one in source):
        what = repr([str(one) for one in source])
    columns = {"arm_column": (arm_column, "arm"), "reward_column": (reward_column, "reward")}
    given = "".join(f", {name}={column!r}" for name, (column, usual) in columns.items() if column != usual)
    return f"{what}{given}{', minimise=True' if minimise else ''}"


def _residuals(rewards: Rewards, levels: FloatArray) -> FloatArray:
    """Subtract the levels of the arms; a residual is infinite only if the reward is."""
    distances = np.clip(rewards.rewards - levels[rewards.arms], -LARGEST_FLOAT, LARGEST_FLOAT)
    return np.where(np.isinf(rewards.rewards), rewards.rewards, distances)
