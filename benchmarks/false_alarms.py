"""False alarms of the detector of changes on arms that never change: ``python benchmarks/false_alarms.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.policies.epsilon_greedy import EpsilonGreedy
from heavybandits.jit.compiled import compiled
from heavybandits.protocols import FloatArray

RUNS = ((10_000, 500), (300, 20_000), (40, 200_000))  # how many, of how many rewards each


def coins(chance: float) -> Callable[[np.random.Generator, int], FloatArray]:
    """Return how to draw coins."""
    return lambda rng, n: (rng.random(n) < chance).astype(float)


LAWS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "any continuous law": lambda rng, n: rng.random(n),
    "Cauchy, in whole units of its scale": lambda rng, n: np.round(rng.standard_cauchy(n)),
    "Poisson counts, mean 1": lambda rng, n: rng.poisson(1.0, n).astype(float),
    "Poisson counts, mean 0.1": lambda rng, n: rng.poisson(0.1, n).astype(float),
    "coins of 50%": coins(0.5),
    "coins of 20%": coins(0.2),
    "coins of 5%": coins(0.05),
    "coins of 2%": coins(0.02),
    "coins of 0.5%": coins(0.005),
    "orders of 20%": lambda rng, n: np.where(rng.random(n) < 0.2, 1.0 + rng.random(n), 0.0),
    "orders of 2%": lambda rng, n: np.where(rng.random(n) < 0.02, 1.0 + rng.random(n), 0.0),
}


def learn(policy: Any, state: Any, rewards: FloatArray) -> None:
    """Learn from rewards of the only arm."""
    for i in range(len(rewards)):
        policy.update(state, 0, rewards[i])


def alarms(draw: Callable[[np.random.Generator, int], FloatArray], runs: int, n: int) -> int:
    """Return the number of false alarms in so many runs of n rewards."""
    rng, policy, found = np.random.default_rng(5), hb.Restarting(EpsilonGreedy(0.0)), 0
    quickly = compiled(learn, policy, policy.init(1, 1), np.zeros(n))
    for _ in range(runs):
        state = policy.init(1, 1)
        quickly(policy, state, draw(rng, n))
        found += int(state.restarts[0])
    return found


def main() -> None:
    """Print the false alarms under each law, and one in how many rewards that is."""
    heads = [f"{runs:,} runs of {n:,}" for runs, n in RUNS]
    print(f"| rewards | {' | '.join(heads)} | one in |\n|{'---|' * (len(RUNS) + 2)}")
    for name, draw in LAWS.items():
        counts = [alarms(draw, runs, n) for runs, n in RUNS]
        runs, n = RUNS[-1]
        often = f"{round(runs * n / counts[-1], -3):,.0f}"
        print(f"| {name} | {' | '.join(map(str, counts))} | {often} |", flush=True)


if __name__ == "__main__":
    main()
