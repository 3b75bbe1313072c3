"""
What did the other arm earn? Usual bounds fail
==============================================

A log chose the second arm with probability 5%.  Its value is estimated by weighted rewards, and bounded from above by
1.645 standard errors, as usual, and by betting, for rewards that count up to 10.  The usual bound promises to miss in
5% of logs.
"""

import matplotlib.pyplot as plt
import numpy as np

from heavybandits.evaluation.bounds import least_mean

N, RUNS, P, CAP = 20_000, 100, 0.05, 10.0
LAWS = {
    "exponential": (lambda rng: rng.exponential(size=N), 1.0),
    "orders": (lambda rng: (rng.random(N) < 0.2) * rng.lognormal(0.0, 1.3, N), 0.2 * np.exp(1.3**2 / 2)),
    "Pareto 1.5": (lambda rng: 1.0 + rng.pareto(1.5, N), 3.0),
    "Pareto 1.2": (lambda rng: 1.0 + rng.pareto(1.2, N), 6.0),
}
figure, axes = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
for row, (name, (draw, mean)) in enumerate(LAWS.items()):
    capped = np.minimum(np.concatenate([draw(np.random.default_rng(seed)) for seed in range(50)]), CAP).mean()
    usual, ours = 0, 0
    for run in range(RUNS):
        rng = np.random.default_rng([1, run])
        weights, rewards = np.where(rng.random(N) < P, 1.0 / P, 0.0), draw(rng)
        value = (weights * rewards).sum() / weights.sum()
        usual += value + 1.645 * np.sqrt(((weights * (rewards - value)) ** 2).sum()) / weights.sum() < mean
        ours += CAP - least_mean(weights, weights * (CAP - np.minimum(rewards, CAP)), 1.0 / P, 0.05) < capped
    for y, misses, colour in ((row + 0.2, usual, "#707070"), (row - 0.2, ours, "#c2185b")):
        axes.barh(y, misses, 0.35, color=colour)
        axes.text(misses + 0.7, y, f"{misses}%", color=colour, va="center")
    print(f"{name}: the usual bound misses in {usual} of {RUNS} logs, betting in {ours}")
axes.axvline(5, color="black", linewidth=0.8)
axes.set(yticks=range(len(LAWS)), yticklabels=LAWS, xlabel="logs in which the upper bound misses, %; 5 are promised")
axes.legend(axes.containers[:2], ["SNIPS + 1.645 standard errors", "betting, for rewards up to 10"], loc="lower right")
plt.show()
