"""Write the tables of policies and estimators, and what is proved about them, from the registry.

``python docs/generate.py`` writes them; run this script alone after costs were measured by ``benchmarks/policies.py
--store``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import streams
from heavybandits.algorithms.registry import POLICY_FOLDERS, TITLES, examples, facts
from heavybandits.protocols import is_randomised

ROOT = Path(__file__).parent.parent
COSTS = ROOT / "benchmarks" / "policies.csv"
PAGE, PROVED_PAGE = (ROOT / "docs" / name for name in ("policies.md", "policies-proved.md"))

BEFORE = """\
# Policies

`hb.make(name, ...)` makes a policy. This page says what each must be told and what a pull costs.

- **Know nothing about your rewards?** `auto` compares locations, `auto-mean` means; [this page](means.md) helps you to
  choose. `linear-auto` and `linear-auto-mean` do the same for features, `smooth-auto` and `lipschitz-auto` for points.
- **How well?** `auto` has 0.39 times the regret of the best of the paper's policies on heavy tails, without being told
  the horizon and the range ([measured](level-set-measured.md)).
- **When not?** If rewards are in a known range and have light tails, `ucb`, `kl-ucb` and `thompson-beta` are cheaper,
  and their regret is proved. `betting-ucb` has a proof at all times for symmetric noise, `tsallis-inf` is for rewards
  that an adversary may set, and `restarting` is for arms that change.

[What is proved](policies-proved.md) has the regret, the memory and the source of each. The docstring,
`help(hb.make(name, ...))`, has the formula, what it assumes and what happens when that fails.

Nanoseconds per pull (ns) are medians over replications of 10,000 pulls of K arms with Cauchy noise, noise not included,
on two shared virtual cores: trust only the ratios, to one digit. A dash means that the cost was not measured yet.
`python benchmarks/policies.py` measures them; with `--store` it also stores them, and `python docs/policies.py` then
writes this page.

"""

ESTIMATORS = """
## Estimators

The templates `fo-ucb`, `zo-ucb` and `robust-ucb` take one of these estimators: {names}.
"""

PROVED = """\
# What is proved about policies

What each of [the policies](policies.md) needs and what is known about its regret.

Notation: K arms, T pulls, n pulls of one arm, gaps Delta_a, moment order p = 1 + eps, d features. The cost is for a
reward and, after a comma, for a choice if that is more than O(1). A policy is deterministic if it draws no random
numbers, neither for its choices nor to smooth its estimates.

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


def pages() -> dict[Path, str]:
    """Return both pages by file."""
    kinds = {f"{TITLES[kind][0].upper()}{TITLES[kind][1:]}": kind for kind in POLICY_FOLDERS if facts(kind)}
    tables = [
        f"## {title}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows(kind)) for title, kind in kinds.items()
    ]
    lists = [f"## {title}\n\n" + "\n".join(entries(kind)) for title, kind in kinds.items()]
    estimators = ESTIMATORS.format(names=", ".join(f"`{name}`" for name in hb.estimators()))
    return {PAGE: BEFORE + "\n".join(tables) + estimators, PROVED_PAGE: PROVED + "\n".join(lists) + AFTER}


def rows(kind: str) -> Iterator[list[str]]:
    """Yield the table: a head, a rule, and a row per policy."""
    with COSTS.open(newline="") as file:
        costs = {(row["policy"], int(row["arms"])): float(row["ns"]) for row in csv.DictReader(file)}
    sizes = sorted({n_arms for _, n_arms in costs}) if kind == "arms" else []
    head = ["policy", "must be told", *(f"ns, K = {n_arms}" for n_arms in sizes)]
    yield head
    yield ["---", "---", *("---:" for _ in sizes)]
    for name, own in facts(kind).items():
        measured = (f"{costs[name, n_arms]:,.0f}" if (name, n_arms) in costs else "-" for n_arms in sizes)
        yield [f"`{name}`", escaped(own.needs), *measured]


def entries(kind: str) -> Iterator[str]:
    """Yield a paragraph per policy."""
    for name, own in facts(kind).items():
        policy = hb.make(name, **examples()[name])
        drawn = is_randomised(policy) or any(streams(policy.init(2, 100)))
        told = {
            "Proved regret": own.regret, "Memory per arm" if kind == "arms" else "Memory": own.memory, "Cost": own.cost,
            "Deterministic": "no" if drawn else "yes", "Source": own.reference,
        }  # fmt: skip
        yield f"**`{name}`**. " + " ".join(f"*{title}*: {escaped(text)}." for title, text in told.items()) + "\n"


def escaped(text: str) -> str:
    """Return a fact in Markdown, with the pages as links."""
    text = text.replace("|", "\\|").replace("*", "\\*")
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](\1.md)", text)


def main() -> None:
    """Write the pages anew."""
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
