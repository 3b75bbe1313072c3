"""
Personalised offers
===================

Which of four offers suits which visitor?  A visitor is a profile of three numbers, and the profit of each offer is a
linear function of its own.  A few orders are huge and a few are sent back, so least squares follow the latest of
these.  ``linear-auto`` does not, and it needs no prior knowledge.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb

OFFERS = ("sale", "bundle", "voucher", "gift")
models = np.array([[1.0, 0.2, -0.5], [-0.3, 1.0, 0.3], [0.2, -0.8, 0.8], [-0.8, -0.4, -0.6]])  # of each offer's profit
visitors = hb.Disjoint(n_arms=4, context=hb.Cube(1, 3, low=-1.0, high=1.0, normalised=False))
instance = hb.LinearInstance(models.ravel(), visitors, hb.StudentT(df=1.2))
policies = {"oful": hb.make("oful", beta_scale=0.3), "linear-auto": hb.make("linear-auto")}
result = hb.simulate(instance, policies, horizon=3000, replications=30)
print(result.summary()[["mean", "se", "worst"]].round(0).to_string())

agent, rng = hb.LinearAgent(policies["linear-auto"], n_features=12), np.random.default_rng(0)
shown = []
for _ in range(3000):
    profile = rng.uniform(-1.0, 1.0, 3)
    features = dict(zip(OFFERS, hb.blocks(profile, n_arms=4), strict=True))
    shown.append((*profile[:2], agent.select(features)))
    agent.update(features[shown[-1][2]], features[shown[-1][2]] @ models.ravel() + rng.standard_t(1.2))

figure, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.6), layout="constrained")
result.plot(left)
left.set(xlabel="visitors", ylabel="profit lost", title="Regret, 30 replications")
for offer in OFFERS:
    right.plot(*zip(*[(x, y) for x, y, chosen in shown[-1000:] if chosen == offer], strict=True), ".", label=offer)
right.set(xlabel="first number of the profile", ylabel="second", title="Offers to the last thousand visitors")
right.legend(loc="upper right", fontsize="small")
plt.show()
