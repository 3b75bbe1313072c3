"""
Lipschitz bandits
=================

The arms may be all points between 0 and 1, where nearby points pay about the same: prices, doses, thresholds.  Even
under Cauchy noise ``lipschitz-auto`` first looks everywhere, then divides the line ever more finely where it pays.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.world.functions import functions

NAMES, ROUNDS = ("peak", "double-sine", "plateau"), 1500
grid = np.linspace(0.0, 1.0, 400)

figure, panels = plt.subplots(2, 3, figsize=(10.0, 4.4), sharex=True, layout="constrained", height_ratios=(1, 2))
for (top, bottom), name in zip(panels.T, NAMES, strict=True):
    function = functions()[name].function
    policy, rng = hb.make("lipschitz-auto"), np.random.default_rng(1)
    state, points = policy.init(1, ROUNDS), []
    for t in range(ROUNDS):
        cell = policy.select(state, t, rng)
        points.append(policy.point(state, cell).copy())
        policy.update(state, cell, function(points[-1][None])[0] + 0.2 * rng.standard_cauchy())
    top.plot(grid, function(grid[:, None]), color="#333a45")
    top.set_title(name)
    bottom.plot(points, range(ROUNDS), ".", color="#c2185b", markersize=2)
    bottom.set(xlabel="point")
    bottom.invert_yaxis()
panels[0, 0].set_ylabel("reward")
panels[1, 0].set_ylabel("round")
plt.show()
