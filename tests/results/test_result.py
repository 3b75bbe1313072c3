"""What a result says about its replications: which of them failed."""

import math

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.protocols import FloatArray
from heavybandits.results.result import Result


def ending(instance: hb.Instance | hb.LinearInstance, slopes: list[float], horizon: int) -> Result:
    """Return a result whose regret is zero up to nine tenths of the horizon, and then grows by a slope per pull."""
    rounds = np.array([horizon - horizon // 10, horizon])
    regret = np.array([[[0.0, slope * (horizon // 10)] for slope in slopes]])
    pulls = np.zeros((1, len(slopes), instance.n_arms), np.int64)
    return Result(
        instance, labels=("A",), rounds=rounds, regret=regret, pulls=pulls, wall_time=np.ones((1, len(slopes))),
        horizon=horizon, seed=0,
    )  # fmt: skip


def test_a_replication_fails_if_a_pull_loses_a_fifth_of_a_random_choice() -> None:
    instance = hb.env2(hb.Cauchy())  # choosing at random loses 0.45; the second best arm 0.1
    assert ending(instance, [0.089, 0.091, 0.1], horizon=10**6).failed.tolist() == [[False, True, True]]


def test_a_replication_that_explores_as_the_best_would_does_not_fail() -> None:
    instance = hb.Instance([0.0, 0.1], hb.Gaussian())  # the limit is 20 ln T, so it adds 20 ln(10/9) in the last tenth
    horizon = 2000
    exploring = 20.0 * math.log(10 / 9) / 200
    assert exploring > 0.1 * 0.1  # more than a fifth of a random choice
    slopes = [1.99 * exploring, 2.01 * exploring]
    assert ending(instance, slopes, horizon).failed.tolist() == [[False, True]]


def test_a_replication_that_still_learns_rows_as_the_best_would_does_not_fail() -> None:
    instance = hb.LinearInstance([0.5] * 4, hb.Cube(5, 4), hb.Cauchy())
    learning = instance.learning_loss(1000)
    assert learning is not None
    assert learning > 0.1 * float(np.mean(instance.gaps))  # twice as much is more than a fifth of a random choice
    result = ending(instance, [1.99 * learning, 2.01 * learning], horizon=1000)
    assert result.failed.tolist() == [[False, True]]


class Shapeless:
    """A noise that nothing is known about."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return rng.normal(size=size)


def test_without_a_known_limit_a_random_choice_decides() -> None:
    instance = hb.Instance([0.0, 1.0], Shapeless())
    assert instance.lai_robbins(100) is None
    assert ending(instance, [0.09, 0.11], horizon=100).failed.tolist() == [[False, True]]


@pytest.mark.parametrize("means", [[0.0], [1.0, 1.0]])
def test_equal_arms_cannot_fail(means: list[float]) -> None:
    assert not ending(hb.Instance(means, hb.Cauchy()), [0.0], horizon=100).failed.any()
