"""
Averages that never settle
==========================

Running averages and running medians of the same rewards, for ten arms at zero.  Under normal noise both settle.  Under
Cauchy noise the average of ten thousand rewards is as far off as a single reward, while the median still settles.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb

N, ARMS = 10_000, 10
rounds = np.unique(np.logspace(0, 4, 120).astype(int))

figure, panels = plt.subplots(2, 2, figsize=(7.8, 4.6), sharex=True, sharey=True, layout="constrained")
for column, noise in zip(panels.T, (hb.Gaussian(), hb.Cauchy()), strict=True):
    rewards = noise.sample(np.random.default_rng(0), (ARMS, N))
    for axes, centre in zip(column, (np.mean, np.median), strict=True):
        lines = np.array([centre(rewards[:, :n], axis=1) for n in rounds])
        axes.plot(rounds, lines, color="#c2185b" if centre is np.median else "#707070", alpha=0.6, linewidth=1)
        axes.set_title(f"{centre.__name__}, {type(noise).__name__} noise")
        axes.set(xscale="log", ylim=(-4, 4))
        print(
            f"{centre.__name__} of {N:,} {type(noise).__name__} rewards: off by {np.abs(lines[-1]).max():.3f} at most"
        )
for axes in panels[1]:
    axes.set_xlabel("rewards")
plt.show()
