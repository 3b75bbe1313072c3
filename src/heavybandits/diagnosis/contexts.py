"""Whether contexts matter: how much better they predict rewards, and what a policy that uses them would earn.

Each arm gets a line in the features, fitted by least absolute deviations, or by least squares if arms are compared by
their means.  The slopes are shrunk by a common factor.  On held-out rows the lines' predictions are compared with the
arm's median, or mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..algorithms.registry import make
from ..engine.loop import simulate
from ..logs.rewards import Rewards
from ..protocols import FloatArray, IntArray
from ..world.contexts import Disjoint, Logged
from ..world.linear_instances import LinearInstance
from .replay import Resampled

FOLDS = 5
GAIN_QUANTILE = 2.575829  # normal quantile of a 99% interval
SHRINKAGES = (0.25, 0.5, 0.75, 1.0)  # by which slopes may be shrunk
REWEIGHTINGS = 25  # of least squares
LEAST_RESIDUAL = 0.02  # of the scale: smaller residuals are weighted as if they were this large
SLOPE_RIDGE = 1e-6
MOST_CONTEXT_ROWS = 10_000  # from which the replay draws contexts
MOST_CONTEXT_PULLS, CONTEXT_REPLAYS = 2000, 20
MOST_COEFFICIENTS = 200  # in a replay
CAP_QUANTILE, CAP_FACTOR = 0.99, 3.0  # errors are capped at this factor of this quantile of those without contexts


class ContextsWorth(NamedTuple):
    """What the features are worth.

    Attributes
    ----------
    names
        The names of the features.
    gain
        The share by which the lines lower the loss on held-out rows, with a 99% interval.
    policy, earned
        A policy that uses the features, and what it earns per pull in a replay, with the middle nine tenths of
        replays; NaN if there was no replay.
    one, each
        What the arm that is best overall earns, and what choosing the best arm in each context earns.
    pulls, replays
        The numbers of pulls and of replays; 0 if there was no replay.
    """

    names: tuple[str, ...]
    gain: tuple[float, float, float]
    policy: str
    earned: tuple[float, float, float]
    one: float
    each: float
    pulls: int
    replays: int

    @property
    def matter(self) -> bool:
        """Whether contexts significantly improve the prediction of rewards."""
        return self.gain[1] > 0

    @property
    def pay(self) -> bool:
        """Whether the policy that uses the features earns more than the best arm, in a replay."""
        return self.pulls > 0 and self.earned[0] > self.one

    def snippet(self, n_arms: int, paid: str) -> str:
        """Return a program that uses the features online."""
        n_features = n_arms * (1 + len(self.names))
        return (
            "import heavybandits as hb\n\n"
            f"agent = hb.LinearAgent(hb.make({self.policy!r}), n_features={n_features})\n"
            f"context = [1.0{', 0.0' * len(self.names)}]  # a one, then {', '.join(map(repr, self.names))}\n"
            f"rows = hb.blocks(context, n_arms={n_arms})  # a row for each arm, in the order of the table\n"
            "arm = agent.select(rows)  # the number of its row\n"
            f"agent.update(rows[arm], 0.0)  # {paid}\n"
            "print(agent)\n"
        )


def weigh_contexts(rewards: Rewards, goal: str) -> ContextsWorth:
    """Measure what the features of logged rewards are worth; rows with infinite rewards are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from heavybandits.logs.rewards import read_rewards
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"arm": rng.integers(2, size=400), "age": rng.normal(size=400)})
    >>> table["reward"] = np.where(table["arm"] == 1, table["age"], -table["age"]) + 0.1 * rng.standard_cauchy(400)
    >>> weigh_contexts(read_rewards(table, feature_columns=["age"]), "location").matter
    True
    """
    kept = np.isfinite(rewards.rewards)
    arms, y, features = rewards.arms[kept], rewards.rewards[kept], _standardised(rewards.features[kept])
    policy = "linear-auto-mean" if goal == "mean" else "linear-auto"
    gain, factor = _gain(arms, y, features, goal)
    found = ContextsWorth(rewards.feature_names, gain, policy, (math.nan,) * 3, math.nan, math.nan, 0, 0)
    n_arms = len(rewards.labels)
    counts = np.bincount(arms, minlength=n_arms)
    if not found.matter or n_arms < 2 or counts.min() <= features.shape[1] + 2:
        return found
    return _replayed(found, arms, y, features, goal, factor)


def _standardised(features: FloatArray) -> FloatArray:
    """Return the features with mean 0 and deviation 1; one that never varies stays 0."""
    sizes = np.abs(features).max(axis=0, initial=0.0)
    features = features / np.where(sizes > 0, sizes, 1.0)  # so that no square overflows or vanishes
    deviations = features.std(axis=0)
    scaled: FloatArray = (features - features.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    return scaled


def _gain(arms: IntArray, y: FloatArray, features: FloatArray, goal: str) -> tuple[tuple[float, float, float], float]:
    """Return the gain in held-out loss at the best factor, and that factor."""
    folds = np.random.default_rng(0).permutation(len(y)) % FOLDS
    plain, slope = np.empty(len(y)), np.empty(len(y))
    for fold in range(FOLDS):
        for arm in np.unique(arms):
            held = np.flatnonzero((arms == arm) & (folds == fold))
            train = np.flatnonzero((arms == arm) & (folds != fold))
            centre = _centre(y[train], goal) if len(train) else _centre(y, goal)
            plain[held], slope[held] = centre, 0.0
            if len(train) > features.shape[1] + 2:
                level, slopes = fit_line(features[train], y[train], goal)
                slope[held] = level - centre + features[held] @ slopes
    before = _losses(y - plain, y - plain, goal)
    after = {factor: _losses(y - plain - factor * slope, y - plain, goal) for factor in SHRINKAGES}
    factor = min(SHRINKAGES, key=lambda factor: float(after[factor].sum()))
    total, difference = float(before.sum()), before - after[factor]
    if not total > 0.0:
        return (0.0, 0.0, 0.0), factor
    middle = float(difference.sum()) / total
    error = GAIN_QUANTILE * float(difference.std()) * math.sqrt(len(y)) / total
    return (middle, middle - error, middle + error), factor


def _centre(y: FloatArray, goal: str) -> float:
    return float(np.mean(y) if goal == "mean" else np.median(y))


def _losses(errors: FloatArray, reference: FloatArray, goal: str) -> FloatArray:
    """Return losses that no single error can dominate, in units of the errors without contexts."""
    sizes = np.abs(reference)
    if goal == "mean":
        largest = CAP_FACTOR * float(np.quantile(sizes, CAP_QUANTILE))
        return np.asarray(np.minimum(np.abs(errors) / largest, 1.0) ** 2) if largest > 0.0 else np.zeros(len(errors))
    scale = float(np.median(sizes)) or 1.0
    return np.asarray(np.log1p(np.square(np.minimum(np.abs(errors) / scale, 1e100))))


def fit_line(features: FloatArray, y: FloatArray, goal: str) -> tuple[float, FloatArray]:
    """Fit an intercept and slopes: by least squares for means, else by least absolute deviations.

    Examples
    --------
    >>> x = np.arange(20.0)[:, None]
    >>> y = 3.0 + 2.0 * x[:, 0]
    >>> y[5] = 1e9
    >>> level, slopes = fit_line(x, y, "location")
    >>> round(level, 1), slopes.round(1).tolist()
    (3.0, [2.0])
    """
    rows = np.column_stack([np.ones(len(y)), features])
    ridge = SLOPE_RIDGE * np.diag([0.0, *[float(len(y))] * features.shape[1]])
    centre = _centre(y, goal)
    shifted, weights = y - centre, np.ones(len(y))
    scale = float(np.median(np.abs(shifted))) or 1.0
    for _ in range(1 if goal == "mean" else REWEIGHTINGS):
        weighted = rows * weights[:, None]
        found = np.linalg.lstsq(weighted.T @ rows + ridge, weighted.T @ shifted, rcond=None)[0]
        if goal != "mean":
            weights = 1.0 / np.maximum(np.abs(shifted - rows @ found) / scale, LEAST_RESIDUAL)
    return float(found[0]) + centre, np.asarray(found[1:])


def _replayed(
    found: ContextsWorth, arms: IntArray, y: FloatArray, features: FloatArray, goal: str, factor: float
) -> ContextsWorth:
    """Play a policy with contexts drawn from the file, and rewards from the lines plus their residuals."""
    n_arms, width = int(arms.max()) + 1, features.shape[1] + 1
    if n_arms * width > MOST_COEFFICIENTS:
        return found
    lines, residuals = np.empty((n_arms, width)), []
    for arm in range(n_arms):
        rows = arms == arm
        centre = _centre(y[rows], goal)
        level, slopes = fit_line(features[rows], y[rows], goal)
        lines[arm] = centre + factor * (level - centre), *(factor * slopes)
        errors = y[rows] - lines[arm, 0] - features[rows] @ lines[arm, 1:]
        residuals.append(Resampled(errors - _centre(errors, goal)))
    contexts = np.column_stack([np.ones(len(y)), features])
    if len(contexts) > MOST_CONTEXT_ROWS:
        contexts = np.random.default_rng(0).choice(contexts, MOST_CONTEXT_ROWS, replace=False)
    instance = LinearInstance(lines.ravel(), Disjoint(n_arms, Logged(contexts)), residuals)
    pulls = min(MOST_CONTEXT_PULLS, len(y))
    result = simulate(
        instance, {found.policy: make(found.policy)}, horizon=pulls, replications=CONTEXT_REPLAYS, checkpoints="end"
    )
    paid = contexts @ lines.T
    each = float(paid.max(axis=1).mean())
    earned = each - result.arrays.regret[0, :, -1] / pulls
    low, high = np.quantile(earned, (0.05, 0.95)).tolist()
    band = (float(earned.mean()), low, high)
    one = float(paid.mean(axis=0).max())
    return found._replace(earned=band, one=one, each=each, pulls=pulls, replays=CONTEXT_REPLAYS)
