"""
One outlier
===========

The worst arm gets a single reward of a million, or the best arm one of minus a million.  UCB believes its averages and
hardly ever pulls the best arm again; ``auto`` pulls it as if nothing had happened.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.palette import look

LEVELS = [0.0, 1.0, 2.0]  # the last arm is best
PULLS, RUNS = 1000, 20
OUTLIERS = {"none": None, "+1,000,000 for the worst arm": (0, 1e6), "-1,000,000 for the best arm": (2, -1e6)}


def best_share(policy, outlier, seed):
    """Return the share of pulls of the best arm if the given arm's fifth reward is the outlier."""
    agent, noise = hb.Agent(policy, n_arms=3, seed=seed), np.random.default_rng(seed).normal(0.0, 1.0, PULLS)
    if outlier:  # the agent starts with the arm's first four rewards and the outlier
        agent.update_many([outlier[0]] * 5, [*(LEVELS[outlier[0]] + noise[:4]), outlier[1]])
    for t in range(PULLS):
        arm = agent.select()
        agent.update(arm, LEVELS[arm] + noise[t])
    return (agent.pulls[2] - 5 * (outlier is not None and outlier[0] == 2)) / PULLS


figure, axes = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
for offset, (name, policy) in zip((0.2, -0.2), {"ucb": hb.UCB(), "auto": hb.make("auto")}.items(), strict=True):
    shares = [np.mean([best_share(policy, outlier, seed) for seed in range(RUNS)]) for outlier in OUTLIERS.values()]
    bars = axes.barh(np.arange(3)[::-1] + offset, shares, height=0.38, color=look(name).colour)
    axes.bar_label(bars, [f"{name} {share:.1%}" for share in shares], padding=4)
    print(name, *(f"{share:.1%}" for share in shares))
axes.set(yticks=[2, 1, 0], yticklabels=OUTLIERS, xlim=(0, 1.25), xticks=[], title="Share of pulls of the best arm")
axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
plt.show()
