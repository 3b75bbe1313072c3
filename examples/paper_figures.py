"""
The paper's figures
===================

The three environments of the paper under Cauchy noise, with a few replications.  ``heavybandits reproduce`` plays them
in full, with a grid of settings for each algorithm.
"""

import matplotlib.pyplot as plt

import heavybandits as hb

ENVIRONMENTS = {"Env1: 10 arms, 1 apart": hb.env1, "Env2: 10 arms, 0.1 apart": hb.env2, "Env3: 100 arms": hb.env3}

figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
for axes, (title, environment) in zip(panels, ENVIRONMENTS.items(), strict=True):
    instance = environment(hb.Cauchy())
    policies = {
        "ucb": hb.UCB(c=1.0),
        "sgd-ucb": hb.make("sgd-ucb", clip=float(max(instance.means)), coeff=0.2),
        "sgd-ucb-median": hb.make("sgd-ucb-median", clip=float(max(instance.means)), coeff=0.2),
    }
    result = hb.simulate(instance, policies, horizon=10_000, replications=30)
    result.plot(axes, band=[])
    axes.set_title(title)
plt.show()
