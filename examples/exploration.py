"""
How policies explore
====================

The first 400 pulls of three policies, one mark each, on five arms half a unit apart under Cauchy noise, with the best
arm on top.  UCB follows its last outlier; Tsallis-INF draws its arms at random; ``auto`` returns to the other arms ever
more rarely.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.palette import look

MEANS, PULLS = [0.0, 0.5, 1.0, 1.5, 2.0], 400
POLICIES = {name: hb.make(name) for name in ("ucb", "tsallis-inf", "auto")}

figure, panels = plt.subplots(3, 1, figsize=(7.2, 4.0), sharex=True, layout="constrained")
for axes, (name, policy) in zip(panels, POLICIES.items(), strict=True):
    agent, noise = hb.Agent(policy, arms=MEANS, horizon=PULLS, seed=1), np.random.default_rng(7).standard_cauchy(PULLS)
    arms = np.empty(PULLS)
    for t in range(PULLS):
        arms[t] = agent.select()
        agent.update(arms[t], arms[t] + noise[t])
    colours = np.where(arms == MEANS[-1], look(name).colour, "#b4bcc8")
    axes.vlines(range(PULLS), 2 * arms - 0.4, 2 * arms + 0.4, color=colours)
    axes.set(yticks=[], xlim=(0, PULLS))
    axes.set_title(f"{name}: {agent.pulls[MEANS[-1]] / PULLS:.0%} of the pulls are right")
    axes.spines[["top", "left", "right"]].set_visible(False)
panels[-1].set_xlabel("round")
plt.show()
