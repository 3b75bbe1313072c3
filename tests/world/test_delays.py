"""When rewards come: constant delays, batches, laws, and rewards that never do."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import heavybandits as hb
from heavybandits.world.delays import Delays


def due(delay: Any, lost: float = 0.0, horizon: int = 1000, seed: int = 0) -> np.ndarray:
    return Delays(delay, lost, None).due(np.random.default_rng(seed), horizon)


def test_a_constant_delay_leaves_so_many_decisions_in_between() -> None:
    assert_array_equal(due(0, horizon=4), [1, 2, 3, 4])
    assert_array_equal(due(2, horizon=6), [3, 4, 5, 6, 6, 6])
    assert_array_equal(due(10**15, horizon=3), [3, 3, 3])


def test_a_batch_comes_after_its_last_round() -> None:
    assert_array_equal(due(hb.Batches(1), horizon=3), due(0, horizon=3))
    assert_array_equal(due(hb.Batches(4), horizon=10), [4, 4, 4, 4, 8, 8, 8, 8, 10, 10])


def test_delays_of_a_law_are_its_draws_rounded_down() -> None:
    rounds = np.arange(1000)
    drawn = np.floor(hb.Exponential(30.0).sample(np.random.default_rng(5), 1000))
    assert_array_equal(due(hb.Exponential(30.0), seed=5), np.minimum(rounds + 1 + drawn, 1000))


def test_a_law_may_be_infinite() -> None:
    class Never:
        def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
            return np.full(size, np.inf)

    assert_array_equal(due(Never(), horizon=3), [3, 3, 3])


def test_a_share_of_rewards_never_comes() -> None:
    lost = (due(0, lost=0.3, horizon=100_000) == 100_000).mean()
    assert abs(lost - 0.3) < 0.01
    assert (due(0, lost=1.0) == 1000).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0.0, None), "delay must be a non-negative whole number, got -1"),
        ((2.5, 0.0, None), "delay must be a non-negative whole number, got 2.5"),
        (("soon", 0.0, None), r"delay must be a number of rounds, a law with .* or hb.Batches\(size\), got 'soon'"),
        ((hb.Pareto, 0.0, None), "delay must be a number of rounds, a law"),
        ((0, 1.5, None), r"lost must be a number in \[0, 1\], got 1.5"),
        ((0, 0.0, -1), "window must be a non-negative whole number, got -1"),
    ],
)
def test_wrong_delays_are_refused(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"simulate: {message}"):
        Delays(*arguments)


def test_a_law_of_negative_delays_is_refused() -> None:
    with pytest.raises(ValueError, match=r"delay Gaussian.*must return 1000 numbers of at least 0"):
        due(hb.Gaussian())


@pytest.mark.parametrize("size", [0, 2.5, "ten"])
def test_wrong_batches_are_refused(size: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="Batches: size must be a positive whole number"):
        hb.Batches(size)
