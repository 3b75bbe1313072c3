"""What a floor costs and what it buys: regret, and decisions until evidence names a winner, under `auto-mean`.

    python benchmarks/floors.py [--runs 20]

Regret is that of 20,000 decisions, as a percentage of what uniform play would lose.
"""

from __future__ import annotations

import argparse

import numpy as np
from evidence import DELTA, Law, coins, exponential, logged, lognormal, orders, pareto, scaled

import heavybandits as hb

FLOORS = (0.0, 0.01, 0.05, 0.1, 0.2)
DECISIONS = 20_000
INSTANCES: dict[str, tuple[list[Law], list[float]]] = {  # laws with their means
    "coins 5%, 8%": ([coins(0.05), coins(0.08)], [0.05, 0.08]),
    "exponential 1, 1.3": ([exponential, scaled(1.3, exponential)], [1.0, 1.3]),
    "orders 5%, 10%": ([orders(0.05, lognormal(1.3)), orders(0.1, lognormal(1.3))], [0.05, 0.1]),
    "Pareto 1.5, 1 and 1.5": ([pareto(1.5), scaled(1.5, pareto(1.5))], [1.0, 1.5]),
    "5 exponential, 0.6 to 1.3": (
        [scaled(mean, exponential) for mean in (0.6, 0.8, 0.9, 1.0, 1.3)], [0.6, 0.8, 0.9, 1.0, 1.3]
    ),
}  # fmt: skip


def played(laws: list[Law], means: list[float], floor: float, seed: list[int]) -> tuple[int, int | None, float]:
    """Return when a winner was named, which one, and the regret as a share of that of uniform play."""
    rng = np.random.default_rng(seed)
    agent = hb.Agent(hb.make("auto-mean"), n_arms=len(laws), seed=seed[-1], floor=floor)
    stock = [law(rng, DECISIONS).tolist() for law in laws]
    arms, rewards = np.empty(DECISIONS, np.int64), np.empty(DECISIONS)
    for t in range(DECISIONS):
        arms[t] = agent.select()
        rewards[t] = stock[arms[t]].pop()
        agent.update(int(arms[t]), float(rewards[t]))
    n, verdict = logged(arms, rewards, len(laws), DELTA)
    gaps = max(means) - np.array(means)
    return n, None if verdict is None else int(verdict.leader), float(gaps[arms].mean() / gaps.mean())


def main(runs: int) -> None:
    """Print a row per instance: share of runs with a winner, median decisions until then, and regret, per floor."""
    print(f"| | {' | '.join(f'floor {floor:.0%}' for floor in FLOORS)} |")
    print(f"| --- |{' --- |' * len(FLOORS)}")
    for row, (name, (laws, means)) in enumerate(INSTANCES.items()):
        cells = []
        for floor in FLOORS:
            found = [played(laws, means, floor, [17, row, seed]) for seed in range(runs)]
            named = np.mean([leader is not None for _, leader, _ in found])
            wrong = sum(leader not in (None, int(np.argmax(means))) for _, leader, _ in found)
            when = f", {np.median([n for n, *_ in found]):,.0f}" if named >= 0.5 else ""
            regret = np.mean([regret for *_, regret in found])
            cells.append(f"{named:.0%}{when}; {regret:.1%}{f'; {wrong} wrong' if wrong else ''}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    main(parser.parse_args().runs)
