"""A look at logged rewards: which arm is best, how heavy the tails are, which policy fits and what it would earn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from .._validate import require_extra, unknown
from ..engine.progress import say
from ..evidence.comparison import weigh_log
from ..logs.frames import Source
from ..logs.rewards import Rewards, read_rewards
from ..numerics import LARGEST_FLOAT
from ..protocols import FloatArray
from .advice import advise, overruled, rivals
from .contexts import weigh_contexts
from .goals import choose_goal
from .means import paid_by
from .plots import save_plots
from .replay import IN_FULL, cap_of, replay_rewards
from .report import ARMS_SHOWN, Report
from .shape import Drift, centred_ranks, drift_of_ranks, level, measure, repeated

__all__ = ["Report", "diagnose"]


@np.errstate(invalid="ignore", over="ignore")
def diagnose(
    source: Source,
    *,
    goal: Literal["mean", "location"] | None = None,
    minimise: bool = False,
    control: str | None = None,
    arm_column: str = "arm",
    reward_column: str = "reward",
    feature_columns: Sequence[str] = (),
    plots: str | os.PathLike[str] | None = None,
) -> Report:
    r"""Read logged rewards, describe arms and noise, and advise a policy.

    Parameters
    ----------
    source
        A CSV or Parquet file, an open text file, ``"-"`` for standard input, or a pandas table, with columns for the
        arm, the reward and optionally ``time``.  Columns may be separated by semicolons, with decimal commas.  Rows
        that lack a value are left out and counted.  ``ValueError`` says in one line what is wrong with the source.
    goal
        What makes an arm the best: its ``"mean"``, or its ``"location"``, the median.  By default the mean where it
        exists; the report explains the choice.
    minimise
        Whether rewards are costs, such as latencies, so that less is better.
    control
        The arm with which earnings are compared, beside those as logged.
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
    text: 2,000 rewards of 2 arms, in the order of the file
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
    pooled = measure(residuals)._replace(ties=ties)
    if goal == "mean" and pooled.infinite:
        raise ValueError(
            f"{rewards.source}: the goal 'mean' needs finite rewards, got {pooled.infinite} infinite; leave them out, "
            "or use the goal 'location'"
        )
    chosen, why = choose_goal(by_arm, medians, pooled, rewards.noun) if goal is None else (goal, "As requested.")
    largest = sorted(sorted(range(len(medians)), key=lambda arm: -len(by_arm[arm]))[:ARMS_SHOWN])
    shapes = {arm: measure(by_arm[arm], chosen) for arm in largest}
    pooled = pooled._replace(drift=_pooled_drift(rewards, chosen))
    if plots is not None:
        save_plots(Path(plots), rewards, residuals, pooled, largest, chosen)
    levels = {arm: paid_by(by_arm[arm]) for arm in largest}
    advice = advise(by_arm, chosen, medians, pooled, residuals, minimised=minimise)
    candidates = [advice, *rivals(chosen, pooled, residuals)]
    replayed = replay_rewards(
        by_arm, {str(one): one.policy() for one in candidates}, chosen,
        control=None if control is None else rewards.labels.index(str(control)),
        cap=cap_of(by_arm, pooled) if chosen == "mean" else IN_FULL, noun=rewards.noun,
    )  # fmt: skip
    contexts = weigh_contexts(rewards, chosen) if rewards.feature_names else None
    return Report(
        rewards=rewards, goal=chosen, why=why, evidence=weigh_log(rewards, chosen), levels=levels, arms=shapes,
        pooled=pooled,
        advice=overruled(advice, candidates, replayed), replay=replayed, contexts=contexts,
    )  # fmt: skip


def _residuals(rewards: Rewards, levels: FloatArray) -> FloatArray:
    """Subtract the levels of the arms; a residual is infinite only if the reward is."""
    distances = np.clip(rewards.rewards - levels[rewards.arms], -LARGEST_FLOAT, LARGEST_FLOAT)
    return np.where(np.isinf(rewards.rewards), rewards.rewards, distances)


def _pooled_drift(rewards: Rewards, goal: str) -> Drift:
    """Look for a change in ranks within arms, which are comparable even if the arms' noises differ."""
    ranks = np.empty(len(rewards.rewards))
    for rows, values in zip(rewards.rows, rewards.by_arm, strict=True):
        ranks[rows] = centred_ranks(values)
    levels = np.array([level(values, goal) for values in rewards.by_arm])
    return drift_of_ranks(ranks, _residuals(rewards, levels), goal)
