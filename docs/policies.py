"""Write the tables of policies and estimators, docs/policies.md, from the registry.

Run ``python docs/policies.py`` after adding a policy or an estimator.  Costs were measured by
``benchmarks/policies.py --store``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import streams
from heavybandits.algorithms.registry import POLICY_FOLDERS, TITLES, examples, facts
from heavybandits.protocols import is_randomised

ROOT = Path(__file__).parent.parent
COSTS, PAGE = ROOT / "benchmarks" / "policies.csv", ROOT / "docs" / "policies.md"

BEFORE = """\
# Policies

What each policy must be told, what it costs and what is proved about it. `hb.make(name, ...)` makes one; its docstring,
`help(hb.make(name, ...))`, has the formula, what it assumes and what happens when that fails.

Notation: K arms, T pulls, n pulls of one arm, gaps Delta_a, moment order p = 1 + eps. The cost is for a reward and,
after a comma, for a choice if that is more than O(1). A policy is deterministic if it draws no random numbers, neither
for its choices nor to smooth its estimates. Nanoseconds per pull are medians over replications of 10,000 pulls on
Cauchy noise, noise not included, on two shared virtual cores: trust only the ratios, to one digit. A dash means that
the cost was not measured yet. `python benchmarks/policies.py` measures them; with `--store` it also stores them, and
`python docs/policies.py` then writes this page.

"""

ESTIMATORS = """
## Estimators

The templates `fo-ucb`, `zo-ucb` and `robust-ucb` take one of these estimators: {names}.
"""

AFTER = """
## What is not here

**The parameter-free learner of Zhang and Cutkosky (2022)** does not fit the first-order template. It competes with
every comparison point u at once, with regret of order |u| T^(1/p) up to logarithms and with high probability, for
convex losses whose expected gradients are bounded and whose noise has a moment of order p; it must be told that order,
both bounds and T.

- The template minimises (x - mu)^2/2, whose gradient x - r is not bounded on average. Only a known interval that holds
  mu would bound it, and doing without such an interval is the point of the method.
- With the absolute value |x - mu| instead, the gradient sign(x - r) is bounded by 1 and has no heavy tail left to cut:
  any method for bounded noise will do, and its target is the median.
- Even if all that were granted, averaging turns the regret into f(x) - f* of order T^(-(p-1)/p), and the template,
  which asks for sqrt(2 (f - f*)), turns that into a radius of order T^(-(p-1)/(2p)): the square root of what the
  truncated mean gives from the same knowledge. Its rate holds only at T, where an index needs it at every n.
"""


def page() -> str:
    """Return the page: a table for each kind of policy."""
    tables = []
    for kind in POLICY_FOLDERS:
        if facts(kind):
            title = f"{TITLES[kind][0].upper()}{TITLES[kind][1:]}"
            tables.append(f"## {title}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows(kind)))
    estimators = ESTIMATORS.format(names=", ".join(f"`{name}`" for name in hb.estimators()))
    return BEFORE + "\n".join(tables) + estimators + AFTER


def rows(kind: str) -> Iterator[list[str]]:
    """Yield the table: a head, a rule, and a row per policy."""
    with COSTS.open(newline="") as file:
        costs = {(row["policy"], int(row["arms"])): float(row["ns"]) for row in csv.DictReader(file)}
    sizes = sorted({n_arms for _, n_arms in costs}) if kind == "arms" else []
    head = ["policy", "must be told", "deterministic", "memory per arm" if kind == "arms" else "memory"]
    head += ["cost per pull", *(f"ns, K = {n_arms}" for n_arms in sizes), "proved regret", "reference"]
    yield head
    yield ["---"] * len(head)
    for name, own in facts(kind).items():
        policy = hb.make(name, **examples()[name])
        sure = "no" if is_randomised(policy) or any(streams(policy.init(2, 100))) else "yes"
        measured = (f"{costs[name, n_arms]:,.0f}" if (name, n_arms) in costs else "-" for n_arms in sizes)
        texts = [own.needs, sure, own.memory, own.cost, *measured, own.regret, own.reference]
        yield [f"`{name}`", *(text.replace("|", "\\|").replace("*", "\\*") for text in texts)]


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
