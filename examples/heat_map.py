"""
Policies and noises
===================

Four policies play five arms half a unit apart under six noises.  A cell is the mean regret, as a share of what choosing
at random loses.  UCB and Thompson sampling do well where the noise has a variance, and fail where it has no mean.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb

NOISES = {
    "Gaussian": hb.Gaussian(), "Laplace": hb.Laplace(), "Student t 3": hb.StudentT(3.0),
    "log-normal": hb.LogNormal(1.5), "Pareto 1.2": hb.Pareto(1.2), "Cauchy": hb.Cauchy(),
}  # fmt: skip
POLICIES = {
    "ucb": hb.UCB(), "thompson-gaussian": hb.ThompsonGaussian(), "sgd-ucb": hb.make("sgd-ucb", clip=2.0),
    "auto": hb.make("auto"),
}  # fmt: skip
MEANS, HORIZON = [0.0, 0.5, 1.0, 1.5, 2.0], 2000

shares = np.empty((len(POLICIES), len(NOISES)))
for column, noise in enumerate(NOISES.values()):
    result = hb.simulate(hb.Instance(MEANS, noise), POLICIES, horizon=HORIZON, replications=40, checkpoints="end")
    shares[:, column] = result.summary()["mean"] / HORIZON  # at random, a pull loses 1
figure, axes = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
axes.imshow(shares, cmap="RdPu", vmin=0, vmax=0.8, aspect="auto")
for (row, column), share in np.ndenumerate(shares):
    axes.text(column, row, f"{share:.1%}", ha="center", va="center", color="white" if share > 0.4 else "#333a45")
axes.set(xticks=range(len(NOISES)), xticklabels=NOISES, yticks=range(len(POLICIES)), yticklabels=POLICIES)
axes.set_title("Regret as a share of choosing at random")
axes.spines[:].set_visible(False)
axes.tick_params(length=0)
plt.show()
