"""Policies for points beside Gaussian processes, on functions that no constant was chosen on.

``python benchmarks/points.py`` plays three functions in each of one to four dimensions, under Gaussian, Student 2 and
Cauchy noise, and prints the regret of ``smooth-auto`` and ``lipschitz-auto`` relative to the best, in each case, of
GP-UCB and GP-EI with three length scales.  These are told the variances of the function and of the noise, and clip
rewards at the whiskers of a box plot, without which they do not survive Cauchy noise.  It takes twenty minutes.  Times
are processor times: those of ``smooth-auto`` with drawing noise but without compiling, those of a Gaussian process the
mean of the six.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

import heavybandits as hb
from heavybandits.protocols import FloatArray
from heavybandits.world.halton import halton

Function = Callable[[FloatArray], FloatArray]
HORIZON, REPLICATIONS, NOISE_SHARE = 1500, 6, 0.3  # noise relative to the range of the function
LENGTH_SCALES = (0.15, 0.4, 0.8)
NOISES: dict[str, tuple[hb.Noise, float]] = {  # with the deviation of clipped draws, which rivals are told
    "Gaussian": (hb.Gaussian(), 1.0), "Student 2": (hb.StudentT(2.0), 1.5), "Cauchy": (hb.Cauchy(), 2.0),
}  # fmt: skip


def drawn(dim: int, length_scale: float, seed: int) -> Function:
    """Return a draw from a Gaussian process with the Matérn 5/2 kernel, smooth but not analytic."""
    rng = np.random.default_rng([seed, dim])
    mixing = np.sqrt(5.0 / rng.chisquare(5.0, 400))[:, None]
    waves, shifts = rng.standard_normal((400, dim)) * mixing / length_scale, rng.uniform(0, 2 * math.pi, 400)
    heights = rng.standard_normal(400)

    def function(x: FloatArray) -> FloatArray:
        values: FloatArray = np.cos(x @ waves.T + shifts) @ heights
        return values

    return function


def ridge(dim: int) -> Function:
    """Return a curved valley turned upside down, as Rosenbrock's in the first two axes, and a bowl in the others."""

    def function(x: FloatArray) -> FloatArray:
        second = x[:, 1] if dim > 1 else 0.45
        first = 2.0 * x[:, 0] - 0.7
        valley = np.log1p(4.0 * (first**2 - second) ** 2 + (1.1 - first) ** 2 / 2.0)
        values: FloatArray = 0.0 - valley - ((x[:, 2:] - 0.7) ** 2).sum(axis=1)
        return values

    return function


def scaled(function: Function, unit: float) -> Function:
    """Return a function in other units."""
    return lambda x: function(x) / unit


FUNCTIONS: dict[str, Callable[[int], Function]] = {
    "draw, length 0.3": lambda dim: drawn(dim, 0.3, 15),
    "draw, length 0.6": lambda dim: drawn(dim, 0.6, 16),
    "curved ridge": ridge,
}


class GaussianProcess:
    """A Gaussian process on fixed points, updated with each reward."""

    def __init__(self, dim: int, length_scale: float, signal: float, noise: float, improves: bool) -> None:
        self.points = halton((128, 400, 500, 512)[dim - 1], dim)
        squares = ((self.points[:, None] - self.points[None]) ** 2).sum(axis=2)
        self.kernel = signal**2 * np.exp(-0.5 * squares / length_scale**2)
        self.noise, self.improves, self.first = noise**2, improves, 4 * (dim + 1)
        self.played: list[int] = []
        self.rewards: list[float] = []

    def select(self) -> int:
        """Return the point with the highest bound, or the highest expected improvement."""
        if len(self.rewards) < self.first:
            return len(self.rewards)
        deviation = np.sqrt(np.maximum(np.diag(self.covariance), 1e-18))
        if not self.improves:
            return int(np.argmax(self.mean + 2.0 * deviation))
        above = self.mean - self.mean[self.played].max()
        z = above / deviation
        return int(np.argmax(above * ndtr(z) + deviation * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)))

    def update(self, point: int, reward: float) -> None:
        """Learn from a reward; limits are set anew whenever the number of rewards has doubled."""
        self.played.append(point)
        self.rewards.append(reward)
        n = len(self.rewards)
        if n >= self.first and math.log2(n / self.first) % 1 == 0:
            low, self.middle, high = np.percentile(self.rewards, [25, 50, 75])
            self.limits = low - 1.5 * (high - low), high + 1.5 * (high - low)
            self.mean, self.covariance = np.zeros(len(self.points)), self.kernel.copy()
            for place, value in zip(self.played, self.rewards, strict=True):
                self._learn(place, value)
        elif n > self.first:
            self._learn(point, reward)

    def _learn(self, point: int, reward: float) -> None:
        y = min(max(reward, self.limits[0]), self.limits[1]) - self.middle
        column = self.covariance[:, point].copy()
        total = column[point] + self.noise
        self.mean += column * (y - self.mean[point]) / total
        self.covariance -= np.outer(column, column) / total


def rival_regret(instance: hb.LipschitzInstance, length_scale: float, noise: float, improves: bool) -> float:
    """Return the mean regret of a Gaussian process."""
    signal = float(instance.values(halton(2000, instance.dim)).std())
    regrets = []
    for replication in range(REPLICATIONS):
        rival = GaussianProcess(instance.dim, length_scale, signal, noise, improves)
        values = instance.values(rival.points)
        draws = instance.noise.sample(np.random.default_rng([77, replication]), HORIZON)
        regret = 0.0
        for xi in draws.tolist():
            point = rival.select()
            regret += instance.supremum - values[point]
            rival.update(point, values[point] + xi)
        regrets.append(regret)
    return float(np.mean(regrets))


def main() -> None:
    """Print regrets relative to the best Gaussian process of each case, and times."""
    ours = {name: hb.make(name) for name in ("smooth-auto", "lipschitz-auto")}
    logs: dict[tuple[int, str], list[list[float]]] = {}
    print("| dimensions, noise, function | smooth-auto | lipschitz-auto | best GP | which |")
    print("|---|---|---|---|---|")
    seconds: dict[int, list[list[float]]] = {}
    for dim in (1, 2, 3, 4):
        for name, make in FUNCTIONS.items():
            function = make(dim)
            values = function(halton(20_000, dim))
            unit = float(values.max() - values.min()) * NOISE_SHARE
            for noise, (law, deviation) in NOISES.items():
                instance = hb.LipschitzInstance(scaled(function, unit), law, dim=dim)
                plan: dict[str, Any] = {"horizon": HORIZON, "replications": REPLICATIONS, "seed": 3, "workers": 1}
                result = hb.simulate(instance, ours, **plan)  # which also compiles
                regrets = result.regret.to_numpy()[:, :, -1].mean(axis=1)
                start = time.process_time()
                hb.simulate(instance, {"smooth-auto": ours["smooth-auto"]}, **plan)
                middle = time.process_time()
                rivals = {
                    f"{'EI' if improves else 'UCB'} {scale}": rival_regret(instance, scale, deviation, improves)
                    for scale in LENGTH_SCALES
                    for improves in (False, True)
                }
                seconds.setdefault(dim, []).append([middle - start, (time.process_time() - middle) / len(rivals)])
                best = min(rivals, key=lambda label: rivals[label])
                logs.setdefault((dim, noise), []).append(np.log(regrets / rivals[best]).tolist())
                row = f"{dim}, {noise}, {name} | {regrets[0]:.0f} | {regrets[1]:.0f} | {rivals[best]:.0f} | {best}"
                print(f"| {row} |", flush=True)
    print("\n| dimensions | noise | smooth-auto / best GP | lipschitz-auto / best GP |\n|---|---|---|---|")
    for (dim, noise), found in logs.items():
        ratios = np.exp(np.mean(found, axis=0))
        print(f"| {dim} | {noise} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    both = np.exp(np.mean([each for found in logs.values() for each in found], axis=0))
    print(f"\nAll cases: {both[0]:.2f} and {both[1]:.2f}.")
    for dim, spent in seconds.items():
        alone, rival = np.sum(spent, axis=0)
        print(f"Time of smooth-auto divided by that of one GP, dimension {dim}: {alone / rival:.2f}.")
    alone, rival = np.sum([each for spent in seconds.values() for each in spent], axis=0)
    print(f"In all dimensions together: {alone / rival:.2f}.")


if __name__ == "__main__":
    main()
