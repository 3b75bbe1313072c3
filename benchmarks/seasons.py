"""Restarts where all arms share a season, against leaving them off: ``python benchmarks/seasons.py``.

Four arms are 0.1 apart under Gaussian noise of scale 1, for 20,000 rounds.  A sine with a cycle of 24 hours of 100
rounds each is added to all of them, so that the best arm stays the best.  The features of the linear agent are a number
for each arm, and the sine and the cosine of the hour.
"""

from __future__ import annotations

import numpy as np

import heavybandits as hb

HORIZON, HOUR, HOURS = 20_000, 100, 24
AMPLITUDES = (0.0, 0.1, 0.2, 0.5, 1.0)
MEANS = np.array([0.0, 0.1, 0.2, 0.3])
REPLICATIONS, AGENTS = 40, 20


def season(amplitude: float, t: int) -> float:
    """Return what is added to all arms in a round."""
    return amplitude * float(np.sin(2 * np.pi * (t // HOUR) / HOURS))


def simulated(amplitude: float) -> list[str]:
    """Return the regret of ``auto-mean``, alone and with restarts."""
    changes = {t: (MEANS + season(amplitude, t)).tolist() for t in range(HOUR, HORIZON, HOUR)}
    instance = hb.Instance(MEANS.tolist(), hb.Gaussian(), changes=changes)
    policies = {"off": hb.make("auto-mean"), "on": hb.Restarting(hb.make("auto-mean"))}
    table = hb.simulate(instance, policies, horizon=HORIZON, replications=REPLICATIONS).summary()
    return [f"{row['mean']:.0f} ± {row['se']:.0f}" for _, row in table.iterrows()]


def linear(amplitude: float, seed: int) -> float:
    """Return the regret of a linear agent that is told the hour."""
    rng = np.random.default_rng(seed)
    agent = hb.LinearAgent(hb.make("linear-auto"), n_features=len(MEANS) + 2, seed=seed)
    lost = 0.0
    for t in range(HORIZON):
        turn = 2 * np.pi * (t // HOUR) / HOURS
        features = np.column_stack([np.eye(len(MEANS)), np.tile([np.sin(turn), np.cos(turn)], (len(MEANS), 1))])
        arm = agent.select(features)
        agent.update(features[arm], MEANS[arm] + season(amplitude, t) + rng.normal())
        lost += MEANS.max() - MEANS[arm]
    return lost


def main() -> None:
    """Print a row for each amplitude."""
    print("| amplitude | `auto-mean` | `auto-mean`, restarting | `linear-auto` with the hour |\n|---|---|---|---|")
    for amplitude in AMPLITUDES:
        told = np.array([linear(amplitude, seed) for seed in range(AGENTS)])
        cells = [*simulated(amplitude), f"{told.mean():.0f} ± {told.std(ddof=1) / AGENTS**0.5:.0f}"]
        print(f"| {amplitude} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
