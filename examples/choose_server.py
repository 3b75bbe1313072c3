"""
Choose a server
===============

Send each request to the fastest of four servers, all of which stall now and then.  The reward is minus the latency.
Stalls follow a Pareto law with index 0.9, so latencies have no mean, and averages follow the last stall.
All servers vary and stall alike, which ``auto`` takes for granted; where they differ in that, use ``auto-mean``.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.palette import look

TYPICAL = {"oslo": 30.0, "lima": 45.0, "rome": 24.0, "pune": 60.0}  # milliseconds
REQUESTS, RUNS = 3000, 10


def latency(server, rng):
    return TYPICAL[server] * rng.lognormal(0.0, 0.3) + (rng.random() < 0.1) * 100.0 * (1.0 + rng.pareto(0.9))


figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
for row, (name, policy) in enumerate({"ucb": hb.UCB(c=10.0), "auto": hb.make("auto")}.items()):
    latencies, served = [], dict.fromkeys(TYPICAL, 0)
    for seed in range(RUNS):
        agent, rng = hb.Agent(policy, arms=TYPICAL, horizon=REQUESTS, seed=seed), np.random.default_rng(seed)
        for _ in range(REQUESTS):
            server = agent.select()
            latencies.append(latency(server, rng))
            agent.update(server, -latencies[-1])
            served[server] += 1 / (RUNS * REQUESTS)
    print(name, f"median {np.median(latencies):.1f} ms;", *(f"{one} {share:.0%}" for one, share in served.items()))
    bars = axes.barh(np.arange(4) + 0.2 - 0.4 * row, served.values(), height=0.38, color=look(name).colour)
    axes.bar_label(bars, [f"{name} {share:.0%}" for share in served.values()], padding=4)
axes.set(yticks=range(4), xlim=(0, 1.15), xticks=[], title="Share of requests that each server gets")
axes.set_yticklabels(TYPICAL)
plt.show()
