"""
Drift and restarts
==================

Every 2,000 rounds the arms change places.  ``auto`` keeps believing what it has learned.  ``restarting`` watches the
ranks of each arm's rewards and starts again when they show a change, which works for any noise, here Cauchy noise.
"""

import matplotlib.pyplot as plt

import heavybandits as hb

instance = hb.Instance(
    means=[0.0, 1.0, 2.0],
    noise=hb.Cauchy(),
    changes={2000: [2.0, 0.0, 1.0], 4000: [0.0, 2.0, 1.0], 6000: [0.0, 1.0, 2.0]},
)
policies = {"auto": hb.make("auto"), "restarting": hb.Restarting(hb.make("auto"))}
result = hb.simulate(instance, policies, horizon=8000, replications=40, checkpoints=range(50, 8001, 50))
print(result.summary()[["mean", "se"]].round(0).to_string())

figure, axes = plt.subplots(layout="constrained")
result.plot(axes, band=["restarting"])
axes.set_ylim(0, 1.1 * float(result.regret.mean("replication").max()))
for change in instance.changes:
    axes.axvline(change, color="#c9ced6", linewidth=1, zorder=0)
    axes.text(change, axes.get_ylim()[1], " arms change", va="top", fontsize="small")
axes.set(xlabel="round", title="Arms that change places, Cauchy noise, 40 replications")
plt.show()
