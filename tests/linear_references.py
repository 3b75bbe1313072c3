"""Linear policies the slow and obvious way: everything is recomputed from all rewards, with NumPy and SciPy.

A reference returns the ``index`` of every row and learns from a row and its reward.  If there is an intercept, features
come with the 1 appended.
"""

import math
from typing import Any

import numpy as np

from heavybandits.protocols import FloatArray


class Reference:
    """Ridge regression on all rows so far, with some radius."""

    def __init__(self, policy: Any, size: int, horizon: int) -> None:
        self.policy, self.size, self.horizon = policy, size, horizon
        self.rows: list[FloatArray] = []
        self.rewards: list[float] = []

    @property
    def ridge(self) -> float:
        return getattr(self.policy, "ridge", 1.0) or float(self.size)

    @property
    def t(self) -> int:
        return len(self.rows)

    def gram(self) -> FloatArray:
        return self.ridge * np.eye(self.size) + sum((np.outer(x, x) for x in self.rows), np.zeros((self.size,) * 2))

    def theta(self) -> FloatArray:
        total = sum((x * y for x, y in zip(self.rows, self.rewards, strict=True)), np.zeros(self.size))
        return np.asarray(np.linalg.solve(self.gram(), total), dtype=float)

    def log_det(self) -> float:
        return float(np.linalg.slogdet(self.gram() / self.ridge)[1])

    def beta(self) -> float:
        raise NotImplementedError

    def values(self, features: FloatArray) -> FloatArray:
        return features @ self.theta()

    def index(self, features: FloatArray) -> FloatArray:
        widths = np.sqrt(np.einsum("ki,ij,kj->k", features, np.linalg.inv(self.gram()), features))
        return np.asarray(self.values(features) + self.beta() * widths)

    def learn(self, x: FloatArray, y: float) -> None:
        self.rows.append(x)
        self.rewards.append(y)


class OFUL(Reference):
    def beta(self) -> float:
        p = self.policy
        radius = p.scale * math.sqrt(self.log_det() + 2 * math.log(1 / p.delta)) + math.sqrt(p.ridge) * p.bound
        return float(p.beta_scale * radius)


class LinUCB(Reference):
    def beta(self) -> float:
        return float(self.policy.beta)


class Greedy(Reference):
    def beta(self) -> float:
        return 0.0


class ClippedSGD(Reference):
    """Both orders; the estimate depends on the order of rewards, so it is updated with each of them."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.estimate = np.zeros(self.size)

    def theta(self) -> FloatArray:
        return self.estimate

    def beta(self) -> float:
        return float(self.policy.coeff * math.sqrt(math.log(max(self.t, 1))))

    def learn(self, x: FloatArray, y: float) -> None:
        error = np.clip(y - x @ self.estimate, -self.policy.clip, self.policy.clip)
        super().learn(x, y)
        step = np.linalg.inv(self.gram())
        if self.policy.order == "first":
            step = np.eye(self.size) / math.log(4 * (self.horizon + 1) * self.horizon**2)
        self.estimate = self.estimate + step @ x * error


class CRT(Reference):
    def beta(self) -> float:
        p, t = self.policy, max(self.t, 1)
        level = 0.5 * self.log_det() + math.log(1 / p.delta) + p.v**2 * math.log(self.horizon)
        return float(p.beta_scale * (2 * math.sqrt(2 * t ** (1 / (1 + p.eps)) * level) + 1))

    def learn(self, x: FloatArray, y: float) -> None:
        kept = abs(y) <= (self.t + 1) ** (1 / (2 * (1 + self.policy.eps)))
        super().learn(x, y if kept else 0.0)


class Repeating(Reference):
    """Policies that learn from groups of rewards of one row; features stay the same in these tests."""

    repeats: int

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waiting: list[float] = []
        self.held = np.zeros(self.size)

    def index(self, features: FloatArray) -> FloatArray:
        if self.waiting:
            return np.asarray(-np.linalg.norm(features - self.held, axis=1))
        return super().index(features)

    def learn(self, x: FloatArray, y: float) -> None:
        self.waiting.append(y)
        self.held = x
        if len(self.waiting) == self.repeats:
            self.learn_group(x, self.waiting)
            self.waiting = []

    def learn_group(self, x: FloatArray, rewards: list[float]) -> None:
        raise NotImplementedError


class MomLin(Repeating):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        p = self.policy
        self.m = round(self.horizon ** (2 * p.eps / (1 + 3 * p.eps)))
        self.repeats = math.ceil(self.horizon / self.m)
        self.blocks = min(self.repeats, math.floor(8 * math.log(2 * self.m / p.delta)))

    def beta(self) -> float:
        p = self.policy
        factor = (12 * p.v) ** (1 / (1 + p.eps))
        factor *= (8 * math.log(2 * self.m / p.delta) / self.repeats) ** (p.eps / (1 + p.eps))
        level = math.log(self.m * math.exp(0.5 * self.log_det()) / p.delta)
        return float(p.beta_scale * (factor * (math.sqrt(2 * level) + math.sqrt(self.t)) + 1))

    def learn_group(self, x: FloatArray, rewards: list[float]) -> None:
        length = self.repeats // self.blocks
        means = np.reshape(rewards[: self.blocks * length], (self.blocks, length)).mean(axis=1)
        Reference.learn(self, x, float(np.median(means)))


class Ensemble(Repeating):
    """One estimate for each of the repeats."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        p = self.policy
        self.repeats = p.repeats or math.ceil(24 * math.log(math.e * self.horizon / p.delta))
        self.groups: list[list[float]] = []

    def learn_group(self, x: FloatArray, rewards: list[float]) -> None:
        Reference.learn(self, x, 0.0)
        self.groups.append(list(rewards))

    def thetas(self) -> FloatArray:
        if not self.groups:
            return np.zeros((self.repeats, self.size))
        return np.linalg.solve(self.gram(), np.transpose(self.rows) @ np.array(self.groups)).T


class MENU(Ensemble):
    def beta(self) -> float:
        p, n = self.policy, max(self.t, 1)
        growth = n ** ((1 - p.eps) / (2 * (1 + p.eps)))
        width = (9 * self.size * p.v) ** (1 / (1 + p.eps)) * growth + math.sqrt(p.ridge) * p.bound
        return float(p.beta_scale * 3 * width)

    def theta(self) -> FloatArray:
        thetas, gram = self.thetas(), self.gram()
        medians = []
        for j, one in enumerate(thetas):
            others = np.delete(thetas, j, axis=0) - one
            medians.append(np.median(np.sqrt(np.einsum("si,ij,sj->s", others, gram, others))))
        return np.asarray(thetas[int(np.argmin(medians))])


class BMM(Ensemble):
    def beta(self) -> float:
        p, n = self.policy, max(self.t, 1)
        growth = n ** ((1 - p.eps) / (2 * (1 + p.eps)))
        return float(p.beta_scale * (12 * p.v) ** (1 / (1 + p.eps)) * growth)

    def values(self, features: FloatArray) -> FloatArray:
        return np.asarray(np.median(features @ self.thetas().T, axis=1))


class Refreshed(Reference):
    """Policies that recompute their estimate when the number of rewards has grown by 5%."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.estimate, self.due = np.zeros(self.size), 1

    def theta(self) -> FloatArray:
        return self.estimate

    def refresh(self) -> None:
        if self.t >= self.due:
            self.due = math.ceil(1.05 * self.t)
            self.estimate = self.fit()

    def fit(self) -> FloatArray:
        raise NotImplementedError


class TOFU(Refreshed):
    def growth(self) -> float:
        eps = self.policy.eps
        return float(max(self.t, 1) ** ((1 - eps) / (2 * (1 + eps))))

    def beta(self) -> float:
        p, order = self.policy, 1 + self.policy.eps
        level = math.log(2 * self.size * self.horizon / p.delta) ** (p.eps / order)
        radius = 4 * math.sqrt(self.size) * p.u ** (1 / order) * level * self.growth()
        return float(p.beta_scale * (radius + math.sqrt(p.ridge) * p.bound))

    def fit(self) -> FloatArray:
        p = self.policy
        values, vectors = np.linalg.eigh(self.gram())
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        parts = root @ np.transpose(self.rows) * np.array(self.rewards)
        threshold = (p.u / math.log(2 * self.horizon / p.delta)) ** (1 / (1 + p.eps)) * self.growth()
        return np.asarray(root @ np.where(np.abs(parts) <= threshold, parts, 0.0).sum(axis=1))

    def learn(self, x: FloatArray, y: float) -> None:
        super().learn(x, y)
        self.refresh()


class HuberBandit(Reference):
    """Two fits per arm; as in the policy, the one to all samples moves by single steps between refreshes."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.n_arms = self.policy.n_arms
        self.width = self.size // self.n_arms
        self.samples: list[list[tuple[FloatArray, float]]] = [[] for _ in range(2 * self.n_arms)]
        self.fits = np.zeros((2 * self.n_arms, self.width))
        self.due = [1] * 2 * self.n_arms
        self.forced = [i for n in range(20) for i in self.schedule(n)]

    def schedule(self, n: int) -> list[tuple[int, int]]:
        q, k = self.policy.forced, self.n_arms
        return [((2**n - 1) * k * q + j, i) for i in range(k) for j in range(q * i + 1, q * (i + 1) + 1)]

    def split(self, x: FloatArray) -> tuple[int, FloatArray]:
        arm = int(np.flatnonzero(x)[0]) // self.width
        return arm, x[arm * self.width : (arm + 1) * self.width]

    def index(self, features: FloatArray) -> FloatArray:
        arms, contexts = zip(*map(self.split, features), strict=True)
        forced = dict(self.forced).get(self.t + 1)
        if forced is not None:
            return np.array([float(arm == forced) for arm in arms])
        first = np.array([z @ self.fits[arm] for arm, z in zip(arms, contexts, strict=True)])
        second = np.array([z @ self.fits[self.n_arms + arm] for arm, z in zip(arms, contexts, strict=True)])
        return np.where(first >= first.max() - self.policy.gap / 2, second, -np.inf)

    def learn(self, x: FloatArray, y: float) -> None:
        super().learn(x, y)
        arm, z = self.split(x)
        if dict(self.forced).get(self.t) == arm:
            self.due[arm] = 0
            self.take_in(arm, z, y)
        self.take_in(self.n_arms + arm, z, y)

    def take_in(self, number: int, z: FloatArray, y: float) -> None:
        p, samples = self.policy, self.samples[number]
        samples.append((z, y))
        n, rows, rewards = len(samples), np.array([row for row, _ in samples]), np.array([r for _, r in samples])
        tau = p.nu * (n / math.log(self.t**2 * (2 * self.width + 1) / p.delta)) ** (1 / (1 + p.eps))
        step = np.linalg.inv(1e-6 * np.eye(self.width) + rows.T @ rows)
        if n < self.due[number]:
            self.fits[number] += step @ z * np.clip(y - z @ self.fits[number], -tau, tau)
            return
        self.due[number] = math.ceil(1.05 * n)
        for _ in range(30):
            errors = np.clip(rewards - rows @ self.fits[number], -tau, tau)
            slope = rows.T @ errors - 1e-6 * self.fits[number]
            self.fits[number] += step @ slope
            if slope @ step @ slope <= 1e-12 * tau * tau:
                break
