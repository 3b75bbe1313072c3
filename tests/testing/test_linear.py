"""Every linear policy keeps to the protocol, and the checks find those that do not."""

from typing import Any

import numpy as np
import pytest
from rows import Gamble, Ridge, RidgeState

import heavybandits as hb
from heavybandits.algorithms.registry import examples
from heavybandits.protocols import FloatArray


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies("linear"))
def test_linear_policies_pass_the_checks(name: str) -> None:
    hb.check_policy(hb.make(name, **examples()[name]), horizon=60)


def test_policies_of_the_tests_pass_them_too() -> None:
    hb.check_policy(Ridge(), horizon=30)
    hb.check_policy(Gamble(), horizon=30)


class Writes(Ridge):
    """A policy that changes the features it is given."""

    def select(self, state: RidgeState, features: FloatArray, t: int, rng: Any) -> int:
        features[0, 0] *= 2.0
        return 0


class Strays(Ridge):
    """A policy that returns a row that does not exist."""

    def select(self, state: RidgeState, features: FloatArray, t: int, rng: Any) -> int:
        return 1 if t > 5 else 0


class Notes(Ridge):
    """A policy that takes turns by the rows it has selected, not the rewards it has learned."""

    def select(self, state: RidgeState, features: FloatArray, t: int, rng: Any) -> int:
        state.seen[0] += 1
        return int(state.seen[0] % features.shape[0])


class Infinite(Ridge):
    """A policy that adds infinite rewards to its estimate."""

    def update(self, state: RidgeState, x: FloatArray, reward: float) -> None:
        state.theta[:] += reward * x

    def select(self, state: RidgeState, features: FloatArray, t: int, rng: Any) -> int:
        return 0


class Shares(Ridge):
    """A policy whose runs share one state."""

    def init(self, n_features: int, horizon: int | None) -> RidgeState:
        return SHARED


SHARED = Ridge().init(4, None)


class Global(Ridge):
    """A policy that draws from NumPy's global generator."""

    def select(self, state: RidgeState, features: FloatArray, t: int, rng: Any) -> int:
        return int(np.random.randint(len(features)))  # noqa: NPY002


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Writes(), "must not raise ValueError: assignment destination is read-only"),
        (Strays(), "select must return a row, a whole number from 0 to 0, got 1"),
        (Notes(), "select must choose the same row if it is asked twice, with rows that change"),
        (Infinite(), "must not be NaN, with"),
        (Shares(), r"init must make a fresh state\.design\.inverse each time"),
        (Global(), "must choose the same rows when it is given the same rewards and seed"),
    ],
)
def test_the_checks_find_what_is_wrong(policy: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        hb.check_policy(policy, horizon=40)


@pytest.mark.slow
def test_a_policy_may_refuse_a_number_of_features() -> None:
    class Even(Ridge):
        def init(self, n_features: int, horizon: int | None) -> RidgeState:
            if n_features % 2:
                raise ValueError(f"Even: n_features must be even, got {n_features}")
            return Ridge().init(n_features, horizon)

    hb.check_policy(Even(), horizon=30)
