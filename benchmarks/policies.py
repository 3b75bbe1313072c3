"""The cost of a pull for every policy: measured here, stored in policies.csv, shown in docs/policies.md.

``python benchmarks/policies.py`` measures every policy, which takes a few seconds each, and ``python
benchmarks/policies.py ucb ape2`` only the given ones.  With ``--store``, the costs are stored; then ``python
docs/policies.py`` writes the page.
"""

from __future__ import annotations

import csv
import statistics
import sys
from pathlib import Path

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.registry import examples

DATA = Path(__file__).with_suffix(".csv")
SIZES = (10, 100)
HORIZON = 10_000


def measure(names: list[str]) -> dict[tuple[str, int], float]:
    """Return median nanoseconds per pull."""
    costs = {}
    for name in names:
        policy = hb.make(name, **examples()[name])
        for n_arms in SIZES:
            instance = hb.Instance(np.arange(n_arms) / n_arms, hb.Cauchy())
            result = hb.simulate(instance, {"": policy}, horizon=HORIZON, replications=9, workers=1)
            costs[name, n_arms] = statistics.median(result.wall_time.values[0].tolist())
            print(f"{name}, {n_arms} arms: {costs[name, n_arms]:.0f} ns", flush=True)
    return costs


def read() -> dict[tuple[str, int], float]:
    """Return the costs measured so far."""
    with DATA.open(newline="") as file:
        return {(row["policy"], int(row["arms"])): float(row["ns"]) for row in csv.DictReader(file)}


def write(costs: dict[tuple[str, int], float]) -> None:
    """Store the costs for the page."""
    with DATA.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["policy", "arms", "ns"])
        table.writerows([name, n_arms, f"{cost:.3g}"] for (name, n_arms), cost in sorted(costs.items()))


def main() -> None:
    """Measure the policies named on the command line, or all."""
    costs = measure([name for name in sys.argv[1:] if name != "--store"] or list(hb.policies()))
    if "--store" in sys.argv:
        write({**read(), **costs})


if __name__ == "__main__":
    main()
