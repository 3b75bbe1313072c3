"""Adaptive Huber regression the slow and obvious way, and the linear policies based on it."""

import math
from typing import Any

import numpy as np
from linear_references import Refreshed
from scipy.optimize import minimize, root

from heavybandits.protocols import FloatArray


def projected(theta: FloatArray, gram: FloatArray, bound: float) -> FloatArray:
    """Return the nearest point of the ball in the norm of the Gram matrix, by bisection."""
    if np.linalg.norm(theta) <= bound:
        return theta

    def at(m: float) -> FloatArray:
        return np.asarray(np.linalg.solve(gram + m * np.eye(len(theta)), gram @ theta))

    low, high = 0.0, 1.0
    while np.linalg.norm(at(high)) > bound:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm(at(middle)) > bound else (low, middle)
    return at(high)


class AdaptiveHuber(Refreshed):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.scales: list[float] = []
        self.levels: list[float] = []

    def gram(self) -> FloatArray:
        total = self.ridge * np.eye(self.size)
        for x, scale in zip(self.rows, self.scales, strict=True):
            total += np.outer(x, x) / scale**2
        return total

    def scale_and_level(self, width: float) -> tuple[float, float]:
        raise NotImplementedError

    def loss(self, z: FloatArray, level: FloatArray) -> FloatArray:
        return np.where(np.abs(z) <= level, 0.5 * z * z, level * np.abs(z) - 0.5 * level**2)

    def influence(self, z: Any, level: Any) -> Any:
        return np.clip(z, -level, level)

    def fit(self) -> FloatArray:
        rows, rewards = np.array(self.rows), np.array(self.rewards)
        scales, levels = np.array(self.scales), np.array(self.levels)

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            z = (rewards - rows @ theta) / scales
            slope = self.ridge * theta - rows.T @ (self.influence(z, levels) / scales)
            return float(0.5 * self.ridge * theta @ theta + self.loss(z, levels).sum()), slope

        ball = {"type": "ineq", "fun": lambda x: self.policy.bound**2 - x @ x, "jac": lambda x: -2.0 * x}
        options = {"ftol": 1e-15, "maxiter": 60}
        found = minimize(loss, self.estimate, jac=True, method="SLSQP", constraints=[ball], options=options)
        return np.asarray(found.x)

    def learn(self, x: FloatArray, y: float) -> None:
        scale, level = self.scale_and_level(math.sqrt(x @ np.linalg.inv(self.gram()) @ x))
        error = self.influence((y - x @ self.estimate) / scale, level)
        self.scales.append(scale)
        self.levels.append(level)
        super().learn(x, y)
        moved = self.estimate + np.linalg.solve(self.gram(), x) * error / scale
        self.estimate = projected(moved, self.gram(), self.policy.bound)
        self.refresh()


class HeavyOFUL(AdaptiveHuber):
    def constants(self) -> tuple[float, float, float, float, float]:
        p, order = self.policy, 1 + self.policy.eps
        lg = math.log(2 * self.horizon**2 / p.delta)
        kappa = self.size * math.log(1 + self.horizon / (self.size * self.ridge / self.horizon))
        c0 = 1 / math.sqrt(23 * lg)
        c1 = math.log(3 * self.horizon) ** ((1 - p.eps) / order) / (48 * lg ** (2 / order))
        spread = math.sqrt(2 * kappa) * math.log(3 * self.horizon) ** ((1 - p.eps) / (2 * order))
        return lg, kappa, c0, c1, spread

    def beta(self) -> float:
        p, order = self.policy, 1 + self.policy.eps
        lg, _, _, _, spread = self.constants()
        growth = max(self.t, 1) ** ((1 - p.eps) / (2 * order))
        radius = 3 * math.sqrt(self.ridge) * p.bound + 24 * growth * spread * lg ** (p.eps / order)
        return float(p.beta_scale * radius)

    def scale_and_level(self, width: float) -> tuple[float, float]:
        p, order = self.policy, 1 + self.policy.eps
        lg, kappa, c0, c1, spread = self.constants()
        scale = max(p.nu, self.horizon**-0.5, width / c0, math.sqrt(width) / (2 * c1 * kappa) ** 0.25)
        w = width / scale
        growth = (self.t + 1) ** ((1 - p.eps) / (2 * order))
        return scale, spread / lg ** (1 / order) * math.sqrt(1 + w * w) / w * growth


class AdaOFUL(AdaptiveHuber):
    def beta(self) -> float:
        return float(self.policy.beta)

    def scale_and_level(self, width: float) -> tuple[float, float]:
        m1 = 1 / (42 * math.log(2 * self.horizon**2 / self.policy.delta))
        scale = max(self.policy.nu, self.horizon**-0.5, width, math.sqrt(width) / (m1 * self.size) ** 0.25)
        w = width / scale
        return scale, self.policy.tau * math.sqrt(1 + w * w) / w

    def loss(self, z: FloatArray, level: FloatArray) -> FloatArray:
        return level * (np.sqrt(level**2 + z**2) - level)

    def influence(self, z: Any, level: Any) -> Any:
        return level * z / np.sqrt(level**2 + z**2)


class HvtUCB(AdaptiveHuber):
    """One pass: the estimate is never recomputed, and rows have weight 1/4."""

    def gram(self) -> FloatArray:
        return self.ridge * np.eye(self.size) + (super().gram() - self.ridge * np.eye(self.size)) / 4

    def constants(self) -> tuple[float, float, float]:
        p, order = self.policy, 1 + self.policy.eps
        lg, e = math.log(2 * self.horizon**2 / p.delta), (1 - p.eps) / (2 * order)
        kappa = self.size * math.log(1 + self.horizon / (4 * self.ridge * self.size / self.horizon))
        return lg, e, math.sqrt(2 * kappa) * math.log(3 * self.horizon) ** e / lg ** (1 / order)

    def beta(self) -> float:
        p, (lg, e, tau) = self.policy, self.constants()
        radius = 107 * lg * tau * max(self.t, 1) ** e + math.sqrt(self.ridge * (2 + 4 * p.bound**2))
        return float(p.beta_scale * radius)

    def scale_and_level(self, width: float) -> tuple[float, float]:
        _, e, tau = self.constants()
        tau *= (self.t + 1) ** e
        scale = max(self.policy.nu, self.horizon**-0.5, math.sqrt(2 * self.beta() / (2 * tau)) * width)
        w = width / scale / 2
        return scale, tau * math.sqrt(1 + w * w) / w

    def refresh(self) -> None:
        """Leave the estimate as the single pass made it."""


class GreedyHuber(Refreshed):
    """Huber regression with the scale of errors of prediction, which is learned when the fit is recomputed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.errors: list[float] = []
        self.scale = 0.0

    def beta(self) -> float:
        return 0.0

    def level(self) -> float:
        return 1.345 * self.scale if self.scale > 0 else math.inf

    def fit(self) -> FloatArray:
        self.scale = float(np.median(self.errors)) / 0.6745
        theta = self.estimate
        for _ in range(30):
            slope = self.slope(theta)
            move = np.linalg.solve(self.gram(), slope)
            theta = theta + move
            if slope @ move <= 1e-12 * self.scale**2:
                break
        return theta

    def slope(self, theta: FloatArray) -> FloatArray:
        rows, rewards, level = np.array(self.rows), np.array(self.rewards), self.level()
        return np.asarray(rows.T @ np.clip(rewards - rows @ theta, -level, level) - self.ridge * theta)

    def best(self) -> FloatArray:
        """Return the least loss by a general solver."""
        return np.asarray(root(self.slope, self.estimate, tol=1e-13).x)

    def learn(self, x: FloatArray, y: float) -> None:
        error = y - x @ self.estimate
        self.errors.append(abs(float(error)))
        super().learn(x, y)
        self.estimate = self.estimate + np.linalg.solve(self.gram(), x) * np.clip(error, -self.level(), self.level())
        self.refresh()
