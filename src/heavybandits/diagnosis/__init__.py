"""Look at logged rewards: how heavy are the tails, which policy fits, what would it have earned?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms.kit.numerics import LARGEST
from ..protocols import FloatArray
from .advice import UNTOLD, Advice, advise, measured_sgd_ucb, measured_ucb
from .plots import save_plots
from .read import Rewards, Source, read_rewards
from .replay import replay
from .report import ROWS, Report
from .shape import Shape, centred_ranks, drift_of_ranks, measure, quantile, repeated

__all__ = ["Report", "diagnose"]


@np.errstate(invalid="ignore", over="ignore")
def diagnose(source: Source, *, plots: str | os.PathLike[str] | None = None) -> Report:
    r"""Read logged rewards, describe their noise, and find the policy that fits.

    Parameters
    ----------
    source
        A CSV or Parquet file, an open text file, ``"-"`` for standard input, or a pandas table, with the columns
        ``arm``, ``reward`` and perhaps ``time``.  ``ValueError`` says in one line what is wrong with it.
    plots
        A folder for ``hill.png``, ``tails.png`` and ``drift.png``; none by default.

    Examples
    --------
    >>> import io
    >>> rng = np.random.default_rng(0)
    >>> lines = [f"{arm},{3 * arm + rng.standard_cauchy()}" for _ in range(1000) for arm in (0, 1)]
    >>> report = diagnose(io.StringIO("\n".join(["arm,reward", *lines])))
    >>> report.advice.name
    'sgd-ucb'
    >>> print(report.text().splitlines()[0])
    text: 2,000 rewards of 2 arms, in the order of the file
    """
    rewards = read_rewards(source)
    medians = np.array([quantile(np.sort(values), 0.5) for values in rewards.by_arm])
    distances = np.clip(rewards.rewards - medians[rewards.arms], -LARGEST, LARGEST)
    residuals = np.where(np.isinf(rewards.rewards), rewards.rewards, distances)  # infinite only if the reward is
    # Residuals would tie by the medians that are taken off.
    ties = sum(repeated(np.sort(values)) for values in rewards.by_arm) / len(residuals)
    drift = drift_of_ranks(_ranks_within_arms(rewards), residuals)
    pooled = measure(residuals)._replace(ties=ties, drift=drift)
    largest = sorted(range(len(medians)), key=lambda arm: -len(rewards.by_arm[arm]))[:ROWS]
    shapes = {arm: measure(rewards.by_arm[arm]) for arm in sorted(largest)}
    advice = advise(medians, pooled, residuals)
    if plots is not None:
        save_plots(Path(plots), rewards, residuals, pooled, sorted(largest))
    candidates = _candidates(advice, medians, pooled, residuals)
    return Report(rewards, shapes, pooled, advice, replay(rewards.by_arm, candidates))


def _ranks_within_arms(rewards: Rewards) -> FloatArray:
    """Ranks of the rewards among those of their arm: comparable, even if the arms' noises differ."""
    ranks = np.empty(len(rewards.rewards))
    for rows, values in zip(rewards.rows, rewards.by_arm, strict=True):
        ranks[rows] = centred_ranks(values)
    return ranks


def _candidates(advice: Advice, medians: FloatArray, pooled: Shape, residuals: FloatArray) -> dict[str, Any]:
    """Policies to replay: the advised one, the one that is told nothing, UCB and SGD-UCB."""
    others = (Advice(UNTOLD, {}, ""), measured_ucb(pooled, residuals), measured_sgd_ucb(medians, pooled))
    return {str(one): one.policy() for one in (advice, *others)}
