"""
Tune a price
============

Any price up to 40 is allowed, and nobody knows what customers would pay.  Each visitor buys if the price is below their
own limit, and a few buy in bulk.  The agent divides the interval more finely where it pays, and compares mean revenues.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import lognorm

import heavybandits as hb
from heavybandits.palette import look

HIGHEST, VISITORS, RUNS = 40.0, 10_000, 3
limits = lognorm(s=0.5, scale=15.0)  # the most that visitors would pay
bulk = 2.5 / 1.5  # items in an average order
prices = np.linspace(0.1, HIGHEST, 2000)
revenue = prices * limits.sf(prices) * bulk
tables = []
for seed in range(RUNS):
    agent, rng = hb.LipschitzAgent(hb.make("lipschitz-auto"), dim=1), np.random.default_rng(seed)
    for limit, items in zip(limits.rvs(VISITORS, random_state=rng), 1.0 + rng.pareto(2.5, VISITORS), strict=True):
        x = agent.select()
        price = HIGHEST * x[0]
        agent.update(x, price * items * (limit > price))
    tables.append(agent.estimates)
asked, visits = (np.concatenate([table[name] for table in tables]) for name in ("x0", "pulls"))
asked, visits = HIGHEST * asked, visits / visits.sum()
print(f"best price {prices[revenue.argmax()]:.1f}: {revenue.max():.2f} per visitor")
print(f"agent {(visits * asked * limits.sf(asked) * bulk).sum():.2f} per visitor, while it learned")
figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
axes.plot(prices, revenue, color="0.6")
axes.scatter(asked, asked * limits.sf(asked) * bulk, 3000 * visits, color=look("auto").colour, alpha=0.5, lw=0)
axes.set_ylim(0, 1.2 * revenue.max())
axes.set(xlabel="Price", ylabel="Revenue per visitor", title="Prices that were asked, by how often")
plt.show()
