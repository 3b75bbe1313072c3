"""
Bounds that hold at all times
=============================

Intervals for the location of an arm while its Cauchy rewards come in.  Betting gives intervals that are right at all
times at once, with probability 95%, for any symmetric noise.  The usual ones are for normal noise and a single time.
"""

import matplotlib.pyplot as plt
import numpy as np

GRID, ROUNDS = np.linspace(-6.0, 6.0, 241), np.arange(1, 301)
BETS = np.array([0.003, 0.01, 0.03, 0.08, 0.2, 0.4, 0.7, 0.95])[:, None, None]  # as ``hb.BettingUCB`` places them


def betting(rewards, theta):
    """Return which locations each reward leaves possible: no bet against them has won 40 times its stake."""
    z = rewards[:, None] - theta
    bets = BETS * z / np.sqrt(1.0 + z * z)
    return np.maximum(np.cumprod(1.0 - bets, axis=1).mean(axis=0), np.cumprod(1.0 + bets, axis=1).mean(axis=0)) < 40


def usual(rewards, theta):
    n, mean = ROUNDS[:, None], (np.cumsum(rewards) / ROUNDS)[:, None]
    return (mean - theta) ** 2 < 1.96**2 * (np.cumsum(rewards**2)[:, None] / n - mean**2) / n


figure, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.6), layout="constrained")
for interval, colour, name in ((usual, "#707070", "usual, 95%"), (betting, "#c2185b", "betting, 95% at all times")):
    inside, rng = interval(np.random.default_rng(3).standard_cauchy(300), GRID), np.random.default_rng(0)
    left.contourf(ROUNDS, GRID, inside.T, [0.5, 1.5], colors=[colour], alpha=0.35)
    runs = [np.logical_and.accumulate(interval(rng.standard_cauchy(300), np.zeros(1))[9:, 0]) for _ in range(400)]
    share = np.mean(runs, axis=0)
    right.plot(ROUNDS[9:], share, color=colour)
    right.text(300, share[-1] - 0.03, name, color=colour, ha="right", va="top")
    print(f"{name}: right all the time in {share[-1]:.1%} of 400 runs")
left.set(xlabel="rewards", ylabel="location, in truth 0", title="Intervals of one arm")
right.set(xlabel="rewards", ylim=(0, 1.05), title="Share of 400 runs never wrong so far")
plt.show()
