"""
How heavy tails are
===================

The chance that the noise exceeds a given size.  On logarithmic axes a heavy tail is a straight line.  If its slope is
-2 or flatter the variance is infinite, and if it is -1 or flatter there is no mean.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb

NOISES = {
    "Gaussian": (hb.Gaussian(), "all moments"), "Student t 3": (hb.StudentT(3.0), "a variance"),
    "Pareto 1.5": (hb.Pareto(1.5), "a mean, no variance"), "Cauchy": (hb.Cauchy(), "no mean"),
    "stable 0.6": (hb.SymmetricStable(0.6), "no mean"),
}  # fmt: skip

sizes = np.logspace(-2, 4, 200)
figure, axes = plt.subplots(layout="constrained")
for colour, (name, (noise, finite)) in zip(
    plt.colormaps["plasma"](np.linspace(0, 0.8, 5)), NOISES.items(), strict=True
):
    chance = 1.0 - noise.cdf(sizes)
    seen = chance > 1e-6
    axes.plot(sizes[seen], chance[seen], color=colour)
    end = sizes[seen][-1], chance[seen][-1]
    side = {"ha": "right", "xytext": (-5, 0)} if name in ("Gaussian", "Student t 3") else {"xytext": (5, 7)}
    axes.annotate(f"{name}: {finite}", end, textcoords="offset points", color=colour, va="center", **side)
axes.set(xscale="log", yscale="log", xlim=(0.01, 3e6), xlabel="size", ylabel="chance of more than that")
axes.set_xticks(10.0 ** np.arange(-2, 5))
plt.show()
