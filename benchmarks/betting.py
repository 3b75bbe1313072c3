"""How often the bound of betting-ucb ever misses the centre, and its regret: the tables of docs/betting.md.

``python benchmarks/betting.py`` prints them in a few minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.policies.betting_ucb import BETS
from heavybandits.jit.compiled import compiled
from heavybandits.protocols import FloatArray

RUNS, REWARDS = 2000, 1500
CENTRE = 3.0  # far from 0, where nothing starts
LEVELS = (0.05, 0.01)
LAWS: dict[str, Any] = {
    "Cauchy": hb.Cauchy(),
    "Gaussian": hb.Gaussian(),
    "Student t, 3 degrees of freedom": hb.StudentT(df=3.0),
    "Laplace": hb.Laplace(),
    "scale mixture: Gaussian, 10% of it 20 times wider": hb.Mixture([0.9, 0.1], [hb.Gaussian(), hb.Gaussian(20.0)]),
}


def feed(policy: Any, state: Any, rewards: FloatArray) -> None:
    """Give all rewards to the first arm."""
    for i in range(len(rewards)):
        policy.update(state, 0, rewards[i])


def wealth_at(centre: float, noise: Any, runs: int, n: int, seed: int) -> Iterator[FloatArray]:
    """Yield, for each run, the logarithm of the wealth at the centre after each bet, with the learned scales."""
    policy = hb.BettingUCB()
    learn = compiled(feed, policy, policy.init(1, n), np.zeros(n))
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        state = policy.init(1, n)
        learn(policy, state, centre + noise.sample(rng, n))
        size, start = int(state.rewards.size[0]), int(state.rewards.start[0])
        reward, scale = state.rewards.records[start : start + 2 * size].reshape(-1, 2).T
        z = (reward - centre) / scale
        logs = np.cumsum(np.log1p(-BETS[:, None] * (z / np.sqrt(1.0 + z * z))), axis=1)
        yield np.logaddexp.reduce(logs, axis=0) - np.log(len(BETS))


def misses(noise: Any, runs: int = RUNS, n: int = REWARDS, seed: int = 1) -> dict[float, float]:
    """Return, for each level, the share of runs in which the bound is ever below the centre."""
    highest = np.array([log.max() for log in wealth_at(CENTRE, noise, runs, n, seed)])
    return {level: float(np.mean(highest >= -np.log(level))) for level in LEVELS}


INSTANCES = {
    "Env1, Cauchy": hb.env1(hb.Cauchy()),
    "Env2, Cauchy": hb.env2(hb.Cauchy()),
    "Env2, Gaussian": hb.env2(hb.Gaussian()),
    "Env2, Cauchy, best arm 5 times louder": hb.Instance(np.arange(10) / 10, [hb.Cauchy()] * 9 + [hb.Cauchy(5.0)]),
}
POLICIES = {
    "betting-ucb": hb.BettingUCB(),
    "betting-ucb, c = 0.5": hb.BettingUCB(c=0.5),
    "order-statistic-ucb, c = 0.5": hb.make("order-statistic-ucb", c=0.5),
    "the same, mixture, c = 0.25": hb.make("order-statistic-ucb", c=0.25, bound="mixture"),
    "auto": hb.make("auto"),
}
BOUNDS = {bound: hb.make("order-statistic-ucb", c=1.0, bound=bound) for bound in ("mixture", "hoeffding")}


def table(head: list[str], rows: Iterator[list[str]]) -> None:
    """Print a table as its rows come."""
    for cells in (head, ["---"] * len(head)):
        print(f"| {' | '.join(cells)} |")
    for cells in rows:
        print(f"| {' | '.join(cells)} |", flush=True)


def coverage() -> Iterator[list[str]]:
    """Yield a row per law."""
    for name, noise in LAWS.items():
        yield [name, *(f"{share:.2%}" for share in misses(noise).values())]


def regrets(policies: dict[str, Any], seed: int) -> Iterator[list[str]]:
    """Yield a row per instance: mean regret and its standard error."""
    for name, instance in INSTANCES.items():
        result = hb.simulate(instance, policies, horizon=10_000, replications=40, seed=seed, checkpoints="end")
        last = result.regret.to_numpy()[:, :, -1]
        errors = last.std(axis=1, ddof=1) / np.sqrt(last.shape[1])
        yield [name, *(f"{mean:.0f} ± {error:.0f}" for mean, error in zip(last.mean(axis=1), errors, strict=True))]


def main() -> None:
    """Print the tables."""
    table(["law", *(f"ever missed at {level:.0%}" for level in LEVELS)], coverage())
    for policies, seed in ((POLICIES, 4), (BOUNDS, 11)):
        print()
        table(["instance", *policies], regrets(policies, seed))


if __name__ == "__main__":
    main()
