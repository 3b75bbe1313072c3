"""Slow, obvious references for the zooming policies and HOO."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from heavybandits.protocols import FloatArray
from heavybandits.world.halton import halton

Point = tuple[float, ...]


def zoom(
    dim: int,
    pays: Callable[[Point, int], float],
    rounds: int,
    mean: Callable[[list[float]], float],
    radius: Callable[[int, int], float],
    initial: float,
) -> list[Point]:
    """Return the points that zooming plays, with rewards in lists and every radius recomputed in every round."""
    net = [tuple(x) for x in halton(1024, dim).tolist()]
    rewards: dict[Point, list[float]] = {}
    played: list[Point] = []
    for t in range(rounds):
        last = list(rewards)[-1] if rewards else None
        bare = [x for x in net if not any(_far(x, y) <= radius(len(r), t) for y, r in rewards.items() if r)]
        if last is not None and len(rewards[last]) < initial:
            x = last
        elif bare:
            x = bare[0]
        else:
            heights = {y: mean(r) + 2.0 * radius(len(r), t) for y, r in rewards.items()}
            most = max(heights.values())
            x = min((y for y in heights if heights[y] == most), key=lambda y: len(rewards[y]))
        rewards.setdefault(x, []).append(pays(x, t))
        played.append(x)
    return played


def _far(x: Point, y: Point) -> float:
    return max(abs(a - b) for a, b in zip(x, y, strict=True))


def truncated(nu: float, eps: float, log_term: float) -> Callable[[list[float]], float]:
    """Return the function that averages rewards, where those beyond their threshold count as 0."""

    def mean(rewards: list[float]) -> float:
        limits = [(nu * (i + 1) / log_term) ** (1.0 / (1.0 + eps)) for i in range(len(rewards))]
        return sum(y for y, limit in zip(rewards, limits, strict=True) if abs(y) <= limit) / len(rewards)

    return mean


def median_of_means(log_term: float) -> Callable[[list[float]], float]:
    """Return the function that takes the median of means of ADMM's groups, 0 if there are too few rewards."""
    groups = math.floor(8.0 * log_term + 1.0)

    def mean(rewards: list[float]) -> float:
        length = len(rewards) // groups
        parts: FloatArray = np.array(rewards[: groups * length]).reshape(groups, length)
        return float(np.median(parts.mean(axis=1))) if length else 0.0

    return mean


class Node:
    """A box of HOO."""

    def __init__(self, low: list[float], high: list[float], depth: int) -> None:
        self.low, self.high, self.depth = low, high, depth
        self.rewards: list[float] = []
        self.halves: list[Node] = []

    @property
    def centre(self) -> Point:
        return tuple(0.5 * (a + b) for a, b in zip(self.low, self.high, strict=True))

    def halve(self) -> None:
        axis = self.depth % len(self.low)
        middle = self.centre[axis]
        lower, upper = [*self.high], [*self.low]
        lower[axis] = upper[axis] = middle
        self.halves = [Node(self.low, lower, self.depth + 1), Node(upper, self.high, self.depth + 1)]

    def bound(self, horizon: int, nu1: float, rho: float, c: float) -> float:
        n = len(self.rewards)
        if n == 0:
            return math.inf
        upper = sum(self.rewards) / n + c * math.sqrt(2.0 * math.log(horizon) / n) + nu1 * rho**self.depth
        return min([upper, max(half.bound(horizon, nu1, rho, c) for half in self.halves)] if self.halves else [upper])


def hoo(
    dim: int, pays: Callable[[Point, int], float], horizon: int, nu1: float, rho: float, c: float
) -> list[Point]:  # fmt: skip
    """Return the points that truncated HOO plays."""
    deepest = max(1, math.ceil((math.log(horizon) / 2 - math.log(1 / nu1)) / math.log(1 / rho)))
    root = Node([0.0] * dim, [1.0] * dim, 0)
    played: list[Point] = []
    for t in range(horizon):
        path = [root]
        while path[-1].halves:
            path.append(max(path[-1].halves, key=lambda half: half.bound(horizon, nu1, rho, c)))
        reward = pays(path[-1].centre, t)
        for node in path:
            node.rewards.append(reward)
        if path[-1].depth < deepest:
            path[-1].halve()
        played.append(path[-1].centre)
    return played


def pays(x: Point, t: int) -> float:
    """Return the reward of a point: a peak at 0.3 plus heavy-tailed noise that depends only on the round."""
    return 1.0 - max(abs(u - 0.3) for u in x) + float(np.random.default_rng(t).standard_t(2))


def played(policy: Any, dim: int, rounds: int, horizon: int) -> list[Point]:
    state, points = policy.init(dim, horizon), []
    for t in range(rounds):
        cell = policy.select(state, t, None)
        assert 0 <= cell < policy.n_cells(state)
        points.append(tuple(policy.point(state, cell).tolist()))
        policy.update(state, cell, pays(points[-1], t))
    return points
