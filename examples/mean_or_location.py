"""
Means or locations
==================

One of two arms has the higher median, the other the higher mean, because of rare large rewards.  No policy can know
which of them you want: ``auto`` maximises the location, ``auto-mean`` the mean.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.palette import look

LAWS = {"steady": hb.Shifted(hb.Gaussian(1.0), 2.0), "rare": hb.LogNormal(1.6)}
instance = hb.Instance(laws=list(LAWS.values()))
policies = {"auto": hb.make("auto"), "auto-mean": hb.make("auto-mean")}
result = hb.simulate(instance, policies, horizon=5000, replications=50)
rng = np.random.default_rng(0)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.2), layout="constrained")
for row, law in enumerate(LAWS.values()):
    rewards = law.sample(rng, 2000)
    left.plot(np.clip(rewards, None, 20), row + rng.uniform(-0.25, 0.25, 2000), ".", color="#b4bcc8", markersize=2)
    left.plot(np.median(rewards), row, "|", color="#c2185b", markersize=40, markeredgewidth=2)
    left.plot(law.mean, row, "|", color="#333a45", markersize=40, markeredgewidth=2)
left.set(yticks=[0, 1], yticklabels=LAWS, xlabel="reward; median red, mean black", title="Two arms")
shares = result.pulls.mean("replication") / result.horizon
bars = right.barh(list(policies), shares.isel(arm=1), color=[look(name).colour for name in policies])
right.bar_label(bars, [f"{share:.0%}" for share in shares.isel(arm=1).to_numpy()], padding=4)
right.set(xlim=(0, 1.15), xticks=[], title="Pulls of the rare arm")
plt.show()
