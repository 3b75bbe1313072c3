"""Restarts on arms that change at random, against the best of many windows: ``python benchmarks/drift.py``.

There are 4 to 10 arms and four changes at random times in 20,000 rounds: the best arm falls, then another rises above
all, and both happen once more.  A policy that plays the best arm does not see the rises.  Windows, discounts and
widths are the best in hindsight for each instance.  The instances were drawn after the restarts were finished.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import heavybandits as hb
from heavybandits.algorithms.policies.discounted_ucb import DiscountedUCB
from heavybandits.algorithms.policies.sliding_window_ucb import SlidingWindowUCB

HORIZON, REPLICATIONS, SEEDS = 20_000, 8, range(1000, 1008)
EVERY = [None, 1000, 2000, 5000]
WINDOWS, DISCOUNTS = [125, 250, 500, 1000, 2000, 4000], [0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998]
WIDTHS = [0.125, 0.25, 0.5, 1.0]
NAMES = ["`auto`", "`restarting`", *(f"`every={every}`" for every in EVERY[1:]), "best window", "best discount"]


def instance(seed: int, noise: Any) -> hb.Instance:
    """Return arms that change one at a time."""
    rng = np.random.default_rng(seed)
    first = np.sort(rng.uniform(0.0, 2.0, int(rng.integers(4, 11)))).round(2)
    times = np.zeros(4)
    while np.diff(times).min() <= 1500:
        times = np.sort(rng.integers(1000, 19_000, 4))
    means, changes = first.copy(), {}
    for i, time in enumerate(times):
        if i % 2 == 0:
            means[means.argmax()] -= rng.uniform(1.5, 3.0)
        else:
            means[rng.choice(np.flatnonzero(means < means.max()))] = means.max() + rng.uniform(0.5, 2.0)
        changes[int(time)] = means.tolist()
    return hb.Instance(means=first.tolist(), noise=noise, changes=changes)


def regret(seed: int, noise: Any) -> list[float]:
    """Return the mean regret on an instance, in the order of ``NAMES``."""
    auto = hb.make("auto")
    windows = [SlidingWindowUCB(window, width) for window in WINDOWS for width in WIDTHS]
    discounts = [DiscountedUCB(discount, width) for discount in DISCOUNTS for width in WIDTHS]
    policies = [auto, *(hb.Restarting(auto, every) for every in EVERY), *windows, *discounts]
    labelled = {str(number): policy for number, policy in enumerate(policies)}
    result = hb.simulate(instance(seed, noise), labelled, horizon=HORIZON, replications=REPLICATIONS, seed=seed)
    means = result.summary()["mean"].tolist()
    own = len(EVERY) + 1
    return [*means[:own], min(means[own : own + len(windows)]), min(means[own + len(windows) :])]


def main() -> None:
    """Print geometric means of ratios to the best window or discount, and the regret on each instance."""
    print(f"| | {' | '.join(NAMES[:-2])} |\n|{'---|' * (len(NAMES) - 1)}")
    tables = {}
    for noise in (hb.Cauchy(), hb.Gaussian()):
        tables[noise] = table = pd.DataFrame([regret(seed, noise) for seed in SEEDS], index=list(SEEDS), columns=NAMES)
        ratios = np.exp(np.log(table.div(table[NAMES[-2:]].min(axis=1), axis=0)).mean())
        print(f"| {type(noise).__name__} | {' | '.join(f'{ratio:.2f}' for ratio in ratios[:-2])} |", flush=True)
    for noise, table in tables.items():
        print(f"\n{noise}\n{table.T.round(2).to_string()}")


if __name__ == "__main__":
    main()
