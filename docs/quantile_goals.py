"""Print how well a policy finds the arm with the best quantile: a table of docs/service-measured.md.

``python docs/quantile_goals.py`` plays `order-statistic-ucb` with both bounds, and `auto-mean`, on laws of rewards.
"""

from __future__ import annotations

import numpy as np

import heavybandits as hb

HORIZON, REPLICATIONS, DRAWN = 5000, 40, 20_001
POLICIES = {"mixture, c = 0.25": ("mixture", 0.25), "mixture, c = 1": ("mixture", 1.0),
            "hoeffding, c = 0.25": ("hoeffding", 0.25), "hoeffding, c = 1": ("hoeffding", 1.0)}  # fmt: skip


def cases() -> dict[str, tuple[float, int, list[np.ndarray]]]:
    """Return the level, -1 for costs, and draws of each arm."""
    rng = np.random.default_rng(1)

    def log_normal(median: float, sigma: float) -> np.ndarray:
        return median * np.exp(sigma * rng.standard_normal(DRAWN))

    def with_outages(mean: float, share: float) -> np.ndarray:
        return np.where(rng.random(DRAWN) < share, 20.0 * mean, mean * rng.gamma(4.0, 0.25, DRAWN))

    return {
        "lowest 95%, log-normal": (
            0.95, -1, [log_normal(*arm) for arm in ((1, 0.9), (1.2, 0.5), (1, 0.7), (1.5, 0.4))]),
        "lowest 95%, gamma": (0.95, -1, [rng.gamma(k, 1.0 / k, DRAWN) for k in (1, 2, 4, 8, 3)]),
        "lowest 95%, outages in 3 to 8%": (
            0.95, -1, [with_outages(*arm) for arm in ((1, 0.08), (1.2, 0.06), (1.5, 0.03), (1.1, 0.055))]),
        "highest 90%, Gaussian": (0.9, 1, [rng.normal(0.0, scale, DRAWN) for scale in (1.0, 1.2, 1.5, 0.8)]),
        "highest 75%, log-normal": (0.75, 1, [log_normal(*arm) for arm in ((1, 0.5), (1.1, 0.3), (0.8, 1.0))]),
        "lowest median, exponential": (0.5, -1, [rng.exponential(mean, DRAWN) for mean in (1.0, 1.2, 1.5, 0.8)]),
    }  # fmt: skip


def main() -> None:
    """Print the share of the regret of an arm at random."""
    print(f"| | {' | '.join([*POLICIES, '`auto-mean`'])} |\n| --- |{' --- |' * (len(POLICIES) + 1)}")
    for name, (level, sign, drawn) in cases().items():
        tau = level if sign > 0 else 1.0 - level
        policies = {label: hb.make("order-statistic-ucb", c=c, quantile=tau, bound=bound)
                    for label, (bound, c) in POLICIES.items()} | {"`auto-mean`": hb.make("auto-mean")}  # fmt: skip
        found = np.array([np.quantile(sign * rewards, tau) for rewards in drawn])
        gaps = found.max() - found
        instance = hb.Instance(laws=[hb.Empirical(sign * rewards) for rewards in drawn], goal="mean")
        pulls = hb.simulate(instance, policies, horizon=HORIZON, replications=REPLICATIONS, seed=7).pulls
        shares = [np.asarray(pulls.sel(policy=label)).reshape(-1, len(gaps)) @ gaps / gaps.mean() / HORIZON
                  for label in policies]  # fmt: skip
        cells = [f"{one.mean():.2f} ± {one.std(ddof=1) / REPLICATIONS**0.5:.2f}" for one in shares]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
