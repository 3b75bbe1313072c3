"""
Ten ideas of a mean
===================

Of thirty-one rewards around zero one may be large.  How far does it move an estimate of their centre?  The average,
which most bandit libraries keep, and the moving average follow the outlier however far it goes.  The others stop.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from heavybandits import make
from heavybandits.algorithms.parts.choice.estimates import value_of


def of(policy, rewards):  # its estimate of its only arm; policies are plain Python, and nothing is compiled here
    state = policy.init(n_arms=1, horizon=1000)
    for reward in rewards:
        policy.update(state, 0, reward)
    return value_of(policy, state, 0)


IDEAS = {
    "average": np.mean, "median of means": lambda x: of(make("rucb-median", eps=1.0, v=1.0), x),
    "moving average": lambda x: pd.Series(x).ewm(span=20).mean().iloc[-1], "auto": lambda x: of(make("auto"), x),
    "trimmed mean": lambda x: stats.trim_mean(x, 0.1), "sigma-clipped mean": lambda x: stats.sigmaclip(x)[0].mean(),
    "mid-quartile": lambda x: np.quantile(x, (0.25, 0.75)).mean(), "sgd-ucb": lambda x: of(make("sgd-ucb"), x),
    "median": np.median, "winsorised mean": lambda x: stats.mstats.winsorize(x, (0.1, 0.1)).mean()}  # fmt: skip
rewards, outliers = np.random.default_rng(1).normal(size=30), [10.0, 1e3, 1e6]
centres = {name: [idea(np.append(rewards, last)) for last in (0.0, *outliers)] for name, idea in IDEAS.items()}
moved = pd.DataFrame({name: abs(np.subtract(x[1:], x[0])) for name, x in centres.items()}, outliers).T.sort_values(1e6)
figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
for outlier, colour in zip(outliers, ("#b4bcc8", "#707a87", "#c2185b"), strict=True):
    axes.plot(moved[outlier].clip(0.001), moved.index, "o", color=colour, label=f"a reward of {outlier:,.0f}")
axes.set(xscale="log", xlabel="how far the estimate moves, in standard deviations of the noise", title="One outlier")
axes.legend()
plt.show()
