"""A plain linear policy, ridge regression plus a width, and a gambling one, to test the code around policies."""

from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.algorithms.linear._design import Design, add_row, dot, init_design, leverage
from heavybandits.protocols import FloatArray, IntArray


class RidgeState(NamedTuple):
    """The rows that were played, and the estimate."""

    design: Design
    theta: FloatArray
    seen: IntArray


@hb.policy(kind="linear")
class Ridge(NamedTuple):
    """LinUCB, written plainly."""

    radius: float = 1.0

    def init(self, n_features: int, horizon: int | None) -> RidgeState:
        return RidgeState(init_design(n_features, 1.0), np.zeros(n_features), np.zeros(1, np.int64))

    def select(self, state: RidgeState, features: FloatArray, t: int, rng: Any) -> int:
        best = 0
        for row in range(1, len(features)):
            if self.index_of(state, features[row], t) > self.index_of(state, features[best], t):
                best = row
        return best

    def update(self, state: RidgeState, x: FloatArray, reward: float) -> None:
        error = min(max(reward, -1e100), 1e100) - dot(x, state.theta)
        grown = 1.0 + add_row(state.design, x, 1.0)
        for i in range(len(x)):
            state.theta[i] += error / grown * state.design.product[i]
        state.seen[0] += 1

    def value(self, state: RidgeState, x: FloatArray) -> float:
        return dot(x, state.theta)

    def index_of(self, state: RidgeState, x: FloatArray, t: int) -> float:
        return dot(x, state.theta) + self.radius * np.sqrt(leverage(state.design, x))  # type: ignore[no-any-return]


@hb.policy(kind="linear", randomised=True)
class Gamble(NamedTuple):
    """Ridge regression, but every other row is drawn at random."""

    inner: Ridge = Ridge()

    def init(self, n_features: int, horizon: int | None) -> RidgeState:
        return self.inner.init(n_features, horizon)

    def select(self, state: RidgeState, features: FloatArray, t: int, rng: Any) -> int:
        if t % 2 == 0:
            return int(rng.random() * features.shape[0])
        return self.inner.select(state, features, t, rng)

    def update(self, state: RidgeState, x: FloatArray, reward: float) -> None:
        self.inner.update(state, x, reward)


FRESH = hb.LinearInstance([0.6, 0.0, -0.8], hb.Sphere(n_arms=4, n_features=3), hb.Gaussian(0.5))
FIXED = hb.LinearInstance([0.6, 0.0, -0.8], np.random.default_rng(1).normal(size=(5, 3)), hb.Cauchy())
DRAWN = hb.LinearInstance(hb.Sphere(1, 3), hb.Frozen(hb.Sphere(4, 3)), hb.Gaussian())
