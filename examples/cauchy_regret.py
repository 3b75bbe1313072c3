"""
Regret under Cauchy noise
=========================

Three policies play ten arms whose locations are 0.1 apart.  Cauchy noise has no mean, so the averages of UCB never
settle.  ``sgd-ucb`` is the paper's policy, which must know the range of the locations.  ``auto`` needs no prior
knowledge.
"""

import matplotlib.pyplot as plt

import heavybandits as hb

policies = {"ucb": hb.UCB(c=1.0), "sgd-ucb": hb.make("sgd-ucb", clip=1.0), "auto": hb.make("auto")}
result = hb.simulate(hb.env2(hb.Cauchy()), policies, horizon=10_000, replications=100)
print(result.summary()[["mean", "se", "failures"]].round(2).to_string())

figure, (curves, ends) = plt.subplots(1, 2, figsize=(7.8, 3.8), width_ratios=(3, 2), layout="constrained")
result.plot(curves, band=["auto"])
curves.set_title("Mean regret over 100 replications")
for row, name in enumerate(policies):
    final = result.regret.sel(policy=name).isel(round=-1)
    line = next(line for line in curves.lines if line.get_label() == name)
    ends.plot(final, row + 0.02 * (final.replication % 20 - 10), "o", color=line.get_color(), alpha=0.5, markersize=3)
ends.set(yticks=range(3), yticklabels=policies, xlabel="regret", title="Each replication at the end")
plt.show()
