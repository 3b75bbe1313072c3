"""The table of policies, docs/policies.md: facts from the code, costs as measured.

``python benchmarks/policies.py`` measures every policy, some seconds each; ``python benchmarks/policies.py ucb ape2``
only these; ``python benchmarks/policies.py --page`` none.  All write the page anew.
"""

from __future__ import annotations

import csv
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.registry import facts
from heavybandits.engine.compile.randomness import uses_rng
from heavybandits.testing import EXAMPLES

ROOT = Path(__file__).parent.parent
DATA, PAGE = ROOT / "benchmarks" / "policies.csv", ROOT / "docs" / "policies.md"
SIZES = (10, 100)
HORIZON = 10_000

BEFORE = f"""\
# Policies

What each policy must be told, what it costs and what is proved of it. `hb.make(name, ...)` makes one; its docstring,
`help(hb.make(name, ...))`, has the formula, what it assumes and what happens when that fails.

Notation: K arms, T pulls, n pulls of one arm, gaps Delta_a, moment order p = 1 + eps. Cost is for a reward, and after
a comma for a choice if that is more than O(1). A policy is deterministic if it draws no random numbers. Nanoseconds per
pull are medians over replications of {HORIZON:,} pulls on Cauchy noise, noise not included, on two shared virtual
cores: trust ratios, and those to one digit; a dash is not measured yet. `python benchmarks/policies.py` measures them
and writes this page.

"""

AFTER = """
## What is not here

**The parameter-free learner of Zhang and Cutkosky (2022)** is no member of the first-order template. It competes with
every comparison point at once, with regret of order |u| T^(1/p) up to logarithms and with high probability, for convex
losses whose expected gradients are bounded and whose noise has a moment of order p; it must be told that order, both
bounds and T.

- The template minimises (x - mu)^2/2, whose gradient x - r is not bounded on average. Only a known interval that holds
  mu would bound it, and to do without such an interval is the point of the method.
- With the absolute value |x - mu| instead, the gradient sign(x - r) is bounded by 1 and has no heavy tail left to cut:
  any bounded-noise method does, and its target is the median.
- If all that were granted, averaging turns the regret into f(x) - f* of order T^(-(p-1)/p), and the template, which
  asks for sqrt(2 (f - f*)), into a radius of order T^(-(p-1)/(2p)): the square root of what the truncated mean gives
  from the same knowledge. Its rate holds at T alone, where an index needs it at every n.
"""


def measure(names: list[str]) -> dict[tuple[str, int], float]:
    """Median nanoseconds per pull."""
    costs = {}
    for name in names:
        policy = hb.make(name, **EXAMPLES[name])
        for n_arms in SIZES:
            instance = hb.Instance(np.arange(n_arms) / n_arms, hb.Cauchy())
            result = hb.simulate(instance, {"": policy}, horizon=HORIZON, replications=9, workers=1)
            costs[name, n_arms] = statistics.median(result.wall_time.values[0].tolist())
            print(f"{name}, {n_arms} arms: {costs[name, n_arms]:.0f} ns", flush=True)
    return costs


def read() -> dict[tuple[str, int], float]:
    """Costs measured so far."""
    with DATA.open(newline="") as file:
        return {(row["policy"], int(row["arms"])): float(row["ns"]) for row in csv.DictReader(file)}


def write(costs: dict[tuple[str, int], float]) -> None:
    """Keep costs for the page."""
    with DATA.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["policy", "arms", "ns"])
        table.writerows([name, n_arms, f"{cost:.3g}"] for (name, n_arms), cost in sorted(costs.items()))


def page() -> str:
    """The page, from the code and the costs measured."""
    return BEFORE + "".join(f"| {' | '.join(row)} |\n" for row in rows(read())) + AFTER


def rows(costs: dict[tuple[str, int], float]) -> Iterator[list[str]]:
    """The table: a head, a rule, and a row per policy."""
    head = ["policy", "must be told", "deterministic", "memory per arm", "cost per pull"]
    head += [*(f"ns, K = {n_arms}" for n_arms in SIZES), "proved regret", "reference"]
    yield head
    yield ["---"] * len(head)
    known = facts()
    for name in hb.policies():
        own = known[name]
        sure = "no" if uses_rng(hb.make(name, **EXAMPLES[name])) else "yes"
        measured = (f"{costs[name, n_arms]:,.0f}" if (name, n_arms) in costs else "-" for n_arms in SIZES)
        texts = [own.needs, sure, own.memory, own.cost, *measured, own.regret, own.reference]
        yield [f"`{name}`", *(text.replace("|", "\\|").replace("*", "\\*") for text in texts)]


def main() -> None:
    """Measure what was asked for, and write the page."""
    names = sys.argv[1:] or list(hb.policies())
    if names != ["--page"]:
        write({**(read() if DATA.exists() else {}), **measure(names)})
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
