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
from heavybandits.palette import look

RUNS, OFFERS = 6, ("sale", "bundle", "voucher", "gift")
models = np.array([[1.0, 0.2, -0.5], [-0.3, 1.0, 0.3], [0.2, -0.8, 0.8], [-0.8, -0.4, -0.6]])  # of each offer's profit
visitors = np.random.default_rng(0).uniform(-1.0, 1.0, (RUNS, 3000, 3))
profits = visitors @ models.T

figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
for name, told in {"oful": {"beta_scale": 0.3}, "linear-auto": {}}.items():
    chosen = np.empty(profits.shape[:2], int)
    for run, noise in enumerate(np.random.default_rng(1).standard_t(1.2, chosen.shape)):
        agent = hb.LinearAgent(hb.make(name, **told), n_features=12)
        for i, visitor in enumerate(visitors[run]):
            features = hb.blocks(visitor, n_arms=4)
            chosen[run, i] = offer = agent.select(features)
            agent.update(features[offer], profits[run, i, offer] + noise[i])
    lost = (profits.max(axis=2) - np.take_along_axis(profits, chosen[..., None], axis=2)[..., 0]).cumsum(axis=1)
    left.plot(lost.mean(axis=0), label=name, **look(name).line)
    print(f"{name} loses {lost[:, -1].mean():.0f}, at most {lost[:, -1].max():.0f}")
left.set(xlabel="visitors", ylabel="profit lost", title=f"Regret, mean of {RUNS} runs")
left.legend()
for number, offer in enumerate(OFFERS):
    right.plot(*visitors[0, -1000:][chosen[0, -1000:] == number, :2].T, ".", label=offer)
right.set(xlabel="first number of the profile", ylabel="second", title="Offers to the last thousand visitors")
right.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, markerscale=2)
plt.show()
