"""
How policies explore
====================

The first 400 pulls of four policies, one mark each, on five arms half a unit apart under Cauchy noise, with the best
arm on top.  UCB follows its last outlier; Tsallis-INF draws its arms at random; ``auto`` returns to the other arms ever
more rarely.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.palette import look

MEANS, PULLS = [0.0, 0.5, 1.0, 1.5, 2.0], 400
POLICIES = {name: hb.make(name) for name in ("ucb", "epsilon-greedy", "tsallis-inf", "auto")}

figure, panels = plt.subplots(4, 1, figsize=(7.2, 5.2), sharex=True, layout="constrained")
for axes, (name, policy) in zip(panels, POLICIES.items(), strict=True):
    agent, rng = hb.Agent(policy, arms=MEANS, horizon=PULLS, seed=1), np.random.default_rng(7)
    for t in range(PULLS):
        arm = agent.select()
        agent.update(arm, arm + rng.standard_cauchy())
        axes.vlines(t, 2 * arm - 0.4, 2 * arm + 0.4, color=look(name).colour if arm == MEANS[-1] else "#b4bcc8")
    axes.set(yticks=[], xlim=(0, PULLS))
    axes.set_title(f"{name}: {agent.pulls[MEANS[-1]] / PULLS:.0%} of the pulls are right")
    axes.spines[["top", "left", "right"]].set_visible(False)
panels[-1].set_xlabel("round")
plt.show()
