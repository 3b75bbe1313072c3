"""
Route calls among language models
=================================

The quickest of four models has an outage.  Gateways that follow the lowest recent average never return to it, and
epsilon-greedy ones spend a tenth of all calls on looking around.  An agent with ``drift=True`` does neither.
"""

import matplotlib.pyplot as plt
import numpy as np

import heavybandits as hb
from heavybandits.palette import look

CALLS, OUTAGE, rng = 14_000, slice(4000, 5200), np.random.default_rng(1)
latencies = [0.8, 1.6, 2.4, 3.2] * rng.lognormal(0.0, 0.5, (CALLS, 4)) + 0.01 * rng.pareto(0.9, (CALLS, 4))
latencies[OUTAGE, 0] = np.inf
latencies = np.minimum(latencies, 30.0)  # seconds until the timeout
agent = hb.Agent(hb.make("auto-mean"), n_arms=4, seed=0, drift=True)

figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
routers = {"lowest latency": 0.0, "epsilon-greedy": 0.1, "auto-mean": None}
lines = [{"color": "#8a94a6"}, look("epsilon-greedy").line, look("auto-mean").line]
for (name, epsilon), line in zip(routers.items(), lines, strict=True):
    took, average = np.empty(CALLS), np.zeros(4)
    for call in range(CALLS):
        if epsilon is None:
            model = agent.select()
            agent.update(model, -latencies[call, model])
        else:
            model = rng.integers(4) if rng.random() < epsilon else average.argmin()
            average[model] += (latencies[call, model] - average[model]) / 10
        took[call] = latencies[call, model]
    print(f"{name}: mean {took.mean():.2f} s, 95% within {np.quantile(took, 0.95):.2f} s")
    axes.plot(np.convolve(took, np.full(400, 1 / 400)), **line, label=name)
axes.axvspan(OUTAGE.start, OUTAGE.stop, color="#f6e3e3", zorder=0, label="the quickest is out")
axes.set(xlabel="calls", ylabel="seconds, mean of 400 calls", xlim=(400, CALLS), ylim=(0, 5.5))
axes.legend(ncols=2)
plt.show()
