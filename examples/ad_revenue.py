"""
Revenue per visitor
===================

Which of three ads earns most, when nearly all visitors buy nothing and some buy a lot?  All medians are zero, so only
means tell the ads apart.  UCB does well if it is told the scale of the noise, 15 or so, but not if it is told 1.
``auto-mean`` needs no such knowledge.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb

rng = np.random.default_rng(0)  # past orders
ads = {
    "bargains": hb.ZeroInflated(0.15, hb.Empirical(rng.lognormal(2.3, 0.8, 5000))),
    "classics": hb.ZeroInflated(0.10, hb.Empirical(rng.lognormal(3.0, 1.0, 5000))),
    "luxury": hb.ZeroInflated(0.02, hb.Empirical(60.0 * (1.0 + rng.pareto(2.5, 5000)))),
}
instance = hb.Instance(laws=list(ads.values()))  # compared by their means
policies = {"ucb c=1": hb.UCB(c=1.0), "ucb c=15": hb.UCB(c=15.0), "auto-mean": hb.make("auto-mean")}
result = hb.simulate(instance, policies, horizon=20_000, replications=60)
print(result.summary()[["mean", "se"]].round(0).to_string())

figure, (curves, shares) = plt.subplots(1, 2, figsize=(7.8, 3.6), layout="constrained")
result.plot(curves, band=[])
curves.set_title("Revenue lost, mean of 60 replications")
left = 0.0
pulled = (result.pulls.mean("replication") / result.horizon).to_numpy()
for (ad, law), colour, share in zip(ads.items(), ("#b4bcc8", "#c2185b", "#707a87"), pulled.T, strict=True):
    shares.barh(list(policies), share, left=left, color=colour, label=f"{ad}, {law.mean:.2f}")
    left = left + share
shares.set(xlim=(0, 1), xticks=[0, 0.5, 1], xticklabels=["0", "50%", "100%"], title="Share of visitors by ad")
shares.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
plt.show()
