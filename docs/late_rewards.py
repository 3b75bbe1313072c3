"""Print the tables of docs/late-rewards-measured.md from the results of ``heavybandits run late``.

``python docs/late_rewards.py late`` reads the folder ``late``.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from tables import geometric_mean, head, row

import heavybandits as hb

POLICIES = ("ucb", "sgd-ucb", "auto", "auto-mean")
DELAYS = {
    "constant 10": "constant delay=10", "constant 100": "constant delay=100", "constant 300": "constant delay=300",
    "constant 1000": "constant delay=1000", "geometric 99": "geometric p=0.01", "geometric 999": "geometric p=0.001",
    "Pareto 99": "Pareto scale=9", "Pareto 990": "Pareto scale=90", "batches of 100": "in batches=100",
    "batches of 1000": "in batches=1000",
}  # fmt: skip
INSTANCES = ("Gaussian ladder", "Cauchy ladder", "Coins", "Gaussian 20 arms", "Cauchy 20 arms")


def main() -> None:
    """Print the ratios of regret, then the regret."""
    results = hb.load_study(sys.argv[1]).results

    def regret(case: str, policy: str) -> np.ndarray:
        return results[case].regret.isel(round=-1).sel(policy=policy).to_numpy()

    def ratio(case: str, policy: str) -> float:
        return float(regret(case, policy).mean() / regret(case, f"naive {policy}").mean())

    def mean_ratio(cases: list[str], policies: tuple[str, ...]) -> str:
        return f"{geometric_mean(ratio(case, policy) for case in cases for policy in policies):.2f}"

    def excess(case: str, policy: str) -> float:
        difference = regret(case, policy) - regret(case, f"naive {policy}")
        error = difference.std(ddof=1) / math.sqrt(len(difference))
        return float(difference.mean() / error) if error > 0 else math.copysign(math.inf, difference.mean())

    print(head("delay", *POLICIES, "all"))
    every = [f"{instance}, {end}" for instance in INSTANCES for end in DELAYS.values()]
    for name, end in DELAYS.items():
        cases = [f"{instance}, {end}" for instance in INSTANCES]
        print(row(name, *(mean_ratio(cases, (policy,)) for policy in POLICIES), mean_ratio(cases, POLICIES)))
    print(row("all", *(mean_ratio(every, (policy,)) for policy in POLICIES), mean_ratio(every, POLICIES)))
    above = [(case, policy) for case in every for policy in POLICIES if ratio(case, policy) > 1.0]
    print(f"\nabove 1: {[(*pair, round(ratio(*pair), 2), round(excess(*pair), 1)) for pair in above]}\n")

    def arrows(policy: str, *cases: str) -> str:
        means = [regret(cases[0], f"naive {policy}").mean(), *(regret(case, policy).mean() for case in cases)]
        return " → ".join(f"{mean:.0f}" for mean in means)

    for instance in INSTANCES:
        for name, end in DELAYS.items():
            print(row(f"{instance}, {name}", *(arrows(policy, f"{instance}, {end}") for policy in POLICIES)))
    print()
    for instance in ("Gaussian ladder", "Cauchy 20 arms"):
        for name, share in (("half", 0.5), ("80%", 0.8)):
            cases = [f"{instance}, some {what} lost={share}" for what in ("never come", "are given up")]
            print(row(f"{instance}, {name} lost", *(arrows(policy, *cases) for policy in POLICIES)))


if __name__ == "__main__":
    main()
