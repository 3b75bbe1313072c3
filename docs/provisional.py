"""Print what it costs to wait for rewards that come late or never: a table of docs/late-rewards.md.

``python docs/provisional.py`` plays `auto-mean` on conversions that come within a window, or not at all.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

import heavybandits as hb

REPLICATIONS = 60
FORMS = ("when they come", "at the window's end", "a zero, and one more reward", "a zero, corrected", "no delay")


class Stream(NamedTuple):
    """Arms with shares of conversions, what one pays, and how many rounds it takes on average."""

    rates: tuple[float, ...]
    pays: tuple[float, ...]  # per arm: the mean amount of a conversion
    delays: tuple[float, ...]
    sigma: float = 0.0  # of the logarithm of an amount
    shape: float = 0.0  # of a Pareto law of delays; exponential if 0
    window: int = 1000
    horizon: int = 8000


STREAMS = {
    "clicks of 2 to 6%, 100": Stream((0.02, 0.03, 0.04, 0.06), (1.0,) * 4, (100.0,) * 4),
    "orders of 5 to 9%, log-normal, 300": Stream((0.05, 0.06, 0.07, 0.09), (30.0,) * 4, (300.0,) * 4, 1.0, window=1500),
    "30 to 60%, 200": Stream((0.3, 0.4, 0.5, 0.6), (1.0,) * 4, (200.0,) * 4),
    "the best is slow, 30 and 600": Stream((0.05,) * 3 + (0.1,), (1.0,) * 4, (30.0,) * 3 + (600.0,), window=2000),
    "ten arms, Pareto 0.8": Stream((0.05,) * 9 + (0.1,), (1.0,) * 10, (20.0,) * 10, shape=0.8, window=2000),
    "many small beat few large, 200": Stream((0.9, 0.4, 0.3), (1.0, 2.0, 2.0), (200.0,) * 3),
}


def regret(stream: Stream, form: str, seed: int) -> float:
    """Play the stream, learning in this form, and return the regret."""
    rng, n_arms, size = np.random.default_rng(seed), len(stream.rates), (stream.horizon, len(stream.rates))
    delays = rng.exponential(1.0, size) if stream.shape == 0.0 else rng.pareto(stream.shape, size)
    delays *= stream.delays
    amounts = stream.pays * np.exp(stream.sigma * rng.standard_normal(size) - stream.sigma**2 / 2)
    amounts *= (rng.random(size) < stream.rates) & (delays < stream.window)
    within = [share_within(stream, arm) for arm in range(n_arms)]
    means = np.array(stream.rates) * stream.pays * within
    agent = hb.Agent(hb.make("auto-mean"), n_arms=n_arms)
    agent.compile()
    coming: list[tuple[float, int, int, float]] = []
    chosen = np.zeros(n_arms)
    for t in range(stream.horizon):
        while coming and coming[0][0] <= t:
            _, _, arm, amount = heapq.heappop(coming)
            if form == "a zero, corrected":
                agent.correct(arm, 0.0, amount)
            else:
                agent.update(arm, amount, selected=form != "a zero, and one more reward")
        arm = agent.select()
        chosen[arm] += 1
        amount, delay = float(amounts[t, arm]), float(delays[t, arm])
        if form == "no delay":
            agent.update(arm, amount)
            continue
        if form.startswith("a zero"):
            agent.update(arm, 0.0)
            if amount == 0.0:
                continue
        elif form == "at the window's end" or amount == 0.0:
            delay = stream.window
        heapq.heappush(coming, (t + delay, t, arm, amount))
    return float(chosen @ (means.max() - means))


def share_within(stream: Stream, arm: int) -> float:
    """Return the share of an arm's conversions that come within the window."""
    rounds = stream.window / stream.delays[arm]
    return float(1.0 - np.exp(-rounds) if stream.shape == 0.0 else 1.0 - (1.0 + rounds) ** -stream.shape)


def main() -> None:
    """Print the means over the replications."""
    print(f"| conversions, mean delay | {' | '.join(FORMS)} |\n| --- |{' --- |' * len(FORMS)}")
    for name, stream in STREAMS.items():
        found = [[regret(stream, form, seed) for seed in range(REPLICATIONS)] for form in FORMS]
        cells = [f"{np.mean(one):,.0f} ± {np.std(one, ddof=1) / REPLICATIONS**0.5:,.0f}" for one in found]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
