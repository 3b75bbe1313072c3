"""
A million arms
==============

What a pull costs with a hundred arms, and with a million.  ``sgd-ucb`` keeps its indices in a tournament, so a choice
takes O(log K) time; most of the remaining cost is memory that does not fit into the cache.  Thompson sampling draws a
number for every arm.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.palette import look

POLICIES = {"sgd-ucb": hb.make("sgd-ucb", init_pulls=1), "thompson-gaussian": hb.ThompsonGaussian()}
MOST = {"sgd-ucb": 10**6, "thompson-gaussian": 10**4}  # arms; limited to keep the script fast
COSTS = {name: {} for name in POLICIES}

for size in 10 ** np.arange(2, 7):
    instance = hb.Instance(means=np.linspace(0.0, 1.0, size), noise=hb.Gaussian())
    for name, policy in POLICIES.items():
        if size <= MOST[name]:
            pulls = 12_000 if name == "thompson-gaussian" else max(100_000, 3 * size // 2)
            result = hb.simulate(instance, {name: policy}, horizon=pulls, replications=1, checkpoints="end")
            COSTS[name][size] = float(result.wall_time.median())

figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
for name, costs in COSTS.items():
    (first, least), *_, (last, most) = costs.items()
    axes.plot(list(costs), list(costs.values()), marker="o", **look(name).line)
    axes.annotate(name, (last, most), (8, 0), textcoords="offset points", color=look(name).text, va="center")
    print(f"{name}: {most / least:.0f} times the cost for {last // first:,} times the arms")
axes.set(xscale="log", yscale="log", xlim=(80, 5e6), xlabel="arms", ylabel="nanoseconds per pull, noise not included")
axes.set_xticks(10 ** np.arange(2, 7), [f"{10**power:,}" for power in range(2, 7)])
plt.show()
