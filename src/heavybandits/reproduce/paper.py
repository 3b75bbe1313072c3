"""The paper whose experiments are reproduced."""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """A paper, where to read it, and the policies that it plays."""

    title: str
    authors: str
    year: int
    link: str
    policies: tuple[str, ...]


PAPER = Paper(
    "Fast UCB-type algorithms for stochastic bandits with heavy and super heavy symmetric noise",
    "Dorn, Katrutsa, Latypov, Pudovikov",
    2024,
    "https://arxiv.org/abs/2402.07062",
    (
        "UCB", "RUCB-Median", "RUCB-Truncated", "SGD-UCB", "SGD-UCB-Median", "SGD-UCB-SMoM", "SGD-UCB (p=1)",
        "SGD-UCB (p=3)",
    ),
)  # fmt: skip

PAPER_EXPERIMENTS = (
    "cauchy", "remarks-cauchy", "runtime", "remarks-cost", "frechet-1.25", "remarks-growth", "gaussian",
    "remarks-gaussian", "delta-gaussian", "delta-cauchy", "frechet-1", "cauchy-exp", "cauchy-pareto",
)  # fmt: skip
"""The studies of the paper, in its order; the remarks test what it says in passing."""
