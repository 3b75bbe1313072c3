"""
Which customers come back?
==========================

The customers of a music shop, from the package ``lifetimes``.  Arms are segments, by how often customers had bought
until June 1997; the reward is what one of them pays in the first half of 1998, mostly nothing.  UCB is best if it is
told the scale of the rewards, and fails in a third of the runs if it is told 1.  ``auto-mean`` needs no such knowledge.
"""

import importlib.util
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import heavybandits as hb

folder = Path(importlib.util.find_spec("lifetimes").origin).parent / "datasets"
columns = ["customer", "date", "discs", "dollars"]
purchases = pd.read_csv(folder / "CDNOW_master.txt", sep=r"\s+", skiprows=1, names=columns)
often = purchases[purchases["date"] <= 19970630].groupby("customer").size().clip(upper=3)
later = purchases[purchases["date"] >= 19980101].groupby("customer")["dollars"].sum()
paid = later.reindex(often.index, fill_value=0.0)
segments = {f"bought {n}{'+' * (n == 3)} times": part.to_numpy() for n, part in paid.groupby(often)}
instance = hb.Instance(laws=[hb.Empirical(dollars) for dollars in segments.values()])  # compared by their means
policies = {"ucb c=1": hb.UCB(c=1.0), "ucb c=50": hb.UCB(c=50.0), "auto-mean": hb.make("auto-mean")}
result = hb.simulate(instance, policies, horizon=10_000, replications=50)
print(result.summary()[["mean", "se", "failures"]].round(2).to_string())

figure, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.6), layout="constrained")
left.barh(list(segments), instance.means, color="#b4bcc8")
for row, dollars in enumerate(segments.values()):
    left.annotate(f" {(dollars == 0).mean():.0%} pay nothing", (0.0, row), va="center")
left.set(xlabel="mean dollars", title="What a customer pays in 1998")
result.plot(right, band=[])
right.set(ylabel="dollars lost", xlabel="customers", title="Regret, 50 replications")
plt.show()
