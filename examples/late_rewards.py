"""
Late rewards
============

Rewards come some rounds after their decisions.  Until the first ones come, no policy can do better than try all arms
equally often, which loses 1 in each round: the dotted line.  ``auto`` takes pending decisions into account and loses
little more than that.
"""

import matplotlib.pyplot as plt

import heavybandits as hb
from heavybandits.palette import look

DELAYS = [10, 30, 100, 300, 1000]
POLICIES = {"ucb": hb.UCB(), "auto": hb.make("auto")}
instance = hb.Instance(means=[1.0, 0.0, 2.0, 0.5, 1.5], noise=hb.StudentT(2.0))

regret = {name: [] for name in POLICIES}
for delay in DELAYS:
    result = hb.simulate(instance, POLICIES, horizon=4000, replications=60, delay=delay, checkpoints="end")
    for name in POLICIES:
        regret[name].append(result.summary().loc[name, "mean"])

figure, axes = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
for name, line in regret.items():
    axes.plot(DELAYS, line, marker="o", **look(name).line)
    axes.annotate(name, (DELAYS[-1], line[-1]), (8, 0), textcoords="offset points", color=look(name).text, va="center")
    print(name, *(f"{one:.0f}" for one in line))
axes.plot(DELAYS, DELAYS, color="#333a45", linestyle=":", linewidth=1)
axes.set(
    xlabel="rounds until a reward comes", ylabel="mean regret after 4,000 rounds", xlim=(-20, 1250), ylim=(0, None)
)
axes.set_title("Five arms, Student t noise with 2 degrees of freedom, 60 replications")
plt.show()
