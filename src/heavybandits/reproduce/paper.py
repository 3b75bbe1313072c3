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
