"""When ``auto`` compares means: the tables of docs/means-measured.md on rounded rewards and on atoms.

``python benchmarks/rounding.py`` prints them for five arms in a few minutes; an argument is another number of arms, or
``linear`` for ``linear-auto``, which chooses among twenty rows of five features.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.jit.compiled import compiled
from heavybandits.protocols import FloatArray, IntArray

RUNS, PULLS = 400, (300, 3000, 10_000)
SOON = 100
ROWS, FEATURES, HEIGHT = 20, 5, 5.0  # rows of length 1; the highest possible level
Draw = Callable[[Any, FloatArray], FloatArray]  # rewards of arms at these levels, an arm in each column


def student(df: float, step: float) -> Draw:
    """Return Student noise, rounded to a step in units of its scale; levels are half a scale apart."""
    return lambda rng, levels: np.round((rng.standard_t(df, levels.shape) + 0.5 * levels) / step)


def pareto_times(index: float, shortest: float) -> Draw:
    """Return times in whole units; those of arms at lower levels take half a unit longer for each."""
    return lambda rng, levels: (
        -np.round((shortest + 0.5 * (levels.max() - levels)) * (1.0 + rng.pareto(index, levels.shape)))
    )


def log_normal_times(median: float) -> Draw:
    """Return times in whole units, the longest with this median."""
    return lambda rng, levels: -np.round(median * np.exp(rng.standard_normal(levels.shape) - 0.1 * levels))


def orders(share: float, size: Callable[[Any, tuple[int, ...]], FloatArray]) -> Draw:
    """Return zeros and orders; the best arm has this share of orders."""
    return lambda rng, levels: np.where(
        rng.random(levels.shape) < share * (1.0 - 0.05 * (levels.max() - levels)), size(rng, levels.shape), 0.0
    )


ROUNDED: dict[str, Draw] = {
    **{
        f"Student {df:g}, in steps of {step:g} scale{'s' * (step > 1)}": student(df, step)
        for df, steps in (
            (1.0, (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)),
            (1.25, (0.5, 1.0, 2.0, 3.0)),
            (1.5, (0.5, 1.0, 2.0, 3.0)),
        )
        for step in steps
    },
    **{
        f"Pareto {index:g}, in whole units, from {shortest:g} on": pareto_times(index, shortest)
        for index in (0.8, 1.1, 1.5)
        for shortest in (1.0, 10.0)
    },
    "log-normal, sigma 1, in whole units, median 20": log_normal_times(20.0),
    "the same, median 1.5": log_normal_times(1.5),
}
ATOMS: dict[str, Draw] = {
    "coins of 2%": lambda rng, levels: (rng.random(levels.shape) < 0.02 + 0.01 * levels) * 1.0,
    "coins of 30%": lambda rng, levels: (rng.random(levels.shape) < 0.3 + 0.03 * levels) * 1.0,
    "Poisson counts, mean 0.5": lambda rng, levels: rng.poisson(0.5 + 0.02 * levels) * 1.0,
    "Poisson counts, mean 1": lambda rng, levels: rng.poisson(1.0 + 0.05 * levels) * 1.0,
    "Poisson counts, mean 3": lambda rng, levels: rng.poisson(3.0 + 0.1 * levels) * 1.0,
    "geometric counts, mean 1": lambda rng, levels: rng.geometric(0.5 - 0.01 * levels) - 1.0,
    "negative binomial counts, n = 0.5, mean 1.5": lambda rng, levels: (
        rng.negative_binomial(0.5, 0.25 - 0.005 * levels) * 1.0
    ),
    "ratings from 1 to 5": lambda rng, levels: 1.0 + rng.binomial(4, 0.6 + 0.02 * levels),
    "orders of 2%, Pareto 1.5": orders(0.02, lambda rng, shape: 1.0 + rng.pareto(1.5, shape)),
    "orders of 50%, Pareto 1.5": orders(0.5, lambda rng, shape: 1.0 + rng.pareto(1.5, shape)),
    "orders of 50%, Cauchy": orders(0.5, lambda rng, shape: rng.standard_cauchy(shape)),
    "orders of 50%, log-normal, sigma 1, in whole units, median 10": orders(
        0.5, lambda rng, shape: np.round(10.0 * np.exp(rng.standard_normal(shape)))
    ),
}


def play(policy: Any, state: Any, rewards: FloatArray, by_means: IntArray) -> None:
    """Play one round per row, and record the goal after each."""
    for t in range(len(rewards)):
        arm = policy.select(state, t, None)
        policy.update(state, arm, rewards[t, arm])
        by_means[t] = state.by_means[0]


def goals(draw: Draw, n_arms: int) -> IntArray:
    """Return whether means are compared, by run and pull; in every other run, the best arm is listed first."""
    policy: Any = hb.make("auto")
    by_means = np.zeros((RUNS, PULLS[-1]), np.int64)
    game = compiled(play, policy, policy.init(n_arms, None), np.zeros((1, n_arms)), by_means[0])
    for run in range(RUNS):
        levels = np.tile(np.arange(float(n_arms))[:: 1 if run % 2 else -1], (PULLS[-1], 1))
        game(policy, policy.init(n_arms, None), draw(np.random.default_rng(run), levels), by_means[run])
    return by_means


def play_rows(policy: Any, state: Any, features: FloatArray, rewards: FloatArray, by_means: IntArray) -> None:
    """Play one round per row of ``rewards``, and record the goal after each."""
    for t in range(len(rewards)):
        row = policy.select(state, features, t, None)
        policy.update(state, features[row], rewards[t, row])
        by_means[t] = state.numbers[0].law == len(state.laws) - 1


def linear_goals(draw: Draw) -> IntArray:
    """Return whether means are compared, by run and pull, if levels are linear in features."""
    policy: Any = hb.make("linear-auto")
    by_means = np.zeros((RUNS, PULLS[-1]), np.int64)
    game = compiled(play_rows, policy, policy.init(FEATURES, None), np.eye(FEATURES), np.zeros((1, ROWS)), by_means[0])
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        features, theta = (hb.Sphere(n, FEATURES).sample(rng, 1)[0] for n in (ROWS, 1))
        levels = np.tile(0.5 * HEIGHT * (1.0 + features @ theta[0]), (PULLS[-1], 1))
        game(policy, policy.init(FEATURES, None), features, draw(rng, levels), by_means[run])
    return by_means


def main() -> None:
    """Print the tables."""
    arms = sys.argv[1] if len(sys.argv) > 1 else "5"
    label = "20 rows" if arms == "linear" else f"{arms} arms"

    def found_for(draw: Draw) -> IntArray:
        return linear_goals(draw) if arms == "linear" else goals(draw, int(arms))

    print(f"| rounded rewards, {label} | " + " | ".join(f"ever by {n:,}" for n in PULLS) + f" | at {PULLS[0]} |")
    print("|---" * (len(PULLS) + 2) + "|")
    for name, draw in ROUNDED.items():
        found = found_for(draw)
        shares = [*(found[:, :n].max(axis=1).mean() for n in PULLS), found[:, PULLS[0] - 1].mean()]
        print(f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |", flush=True)
    print(f"\n| atoms, {label} | " + " | ".join(f"at {n:,}" for n in (SOON, *PULLS)) + " |")
    print("|---" * (len(PULLS) + 2) + "|")
    for name, draw in ATOMS.items():
        found = found_for(draw)
        print(f"| {name} | " + " | ".join(f"{found[:, n - 1].mean():.0%}" for n in (SOON, *PULLS)) + " |", flush=True)


if __name__ == "__main__":
    main()
