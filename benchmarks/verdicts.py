"""How often verdicts on the paper's claims are wrong: the table of docs/verdicts.md, ``python benchmarks/verdicts.py``.

Real regrets are resampled, so that the truth is known: a claim whose margin is exactly zero neither holds nor fails.
Looks are those of ``reproduce --decide``; t tests share a level of 5% among them.  It takes about a minute.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from scipy.special import stdtr

import heavybandits as hb
from heavybandits.protocols import FloatArray
from heavybandits.reproduce.comparisons import Comparison
from heavybandits.reproduce.measures import Measured

LOOKS = (60, 120, 240, 480, 960, 1920, 3840, 7680)
RUNS, LEVEL, HORIZON = 200, 0.05, 2000
POLICIES = {
    "greedy": hb.make("rucb-median", eps=1.0, v=1e-24),
    "SGD-UCB": hb.make("sgd-ucb", coeff=0.2, clip=9.0),
    "UCB": hb.UCB(c=0.1),
}


def errors(a: FloatArray, b: FloatArray, most: float, chances: FloatArray) -> tuple[float, float]:
    """Return how often t tests, and how often evidence, ever decide a claim whose margin is zero on average."""
    factor = float(chances @ a / (chances @ b))
    rng, wrong = np.random.default_rng(1), np.zeros((2, RUNS), bool)
    for run in range(RUNS):
        drawn = rng.choice(len(a), LOOKS[-1], p=chances)
        margins = factor * b[drawn] - a[drawn]
        for n in LOOKS:
            seen = margins[:n]
            error = max(float(seen.std(ddof=1)) / math.sqrt(n), 1e-9)
            wrong[0, run] |= stdtr(n - 1, -abs(float(seen.mean())) / error) < LEVEL / len(LOOKS)
            compared = Comparison.of("", Measured(seen, -most, factor * most))
            wrong[1, run] |= compared.speaks_for() or compared.speaks_against(1)
    return float(wrong[0].mean()), float(wrong[1].mean())


def main() -> None:
    """Print the table."""
    print("| regret of a against b | t tests | evidence |\n| --- | --- | --- |")
    for name, instance in (("Env1", hb.env1(hb.Cauchy())), ("Env2", hb.env2(hb.Cauchy()))):
        played = hb.simulate(instance, POLICIES, horizon=HORIZON, replications=1000)
        regrets, most = played.regret.to_numpy()[:, :, -1], HORIZON * float(instance.gaps.max())
        for (first, a), (second, b) in permutations(zip(POLICIES, regrets, strict=True), 2):
            lost = played.failed[list(POLICIES).index(first)]
            rare = np.where(lost, 0.02 / max(lost.sum(), 1), 0.98 / max((~lost).sum(), 1))
            for words, chances in (("as played", np.ones(len(a))), ("a fails in 2%", rare)):
                t, evidence = errors(a, b, most, chances / chances.sum())
                print(f"| {name}, {first} against {second}, {words} | {t:.1%} | {evidence:.1%} |", flush=True)


if __name__ == "__main__":
    main()
