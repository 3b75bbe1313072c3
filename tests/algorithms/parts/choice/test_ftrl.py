"""Probabilities of regularised leaders, against a slow solver."""

import math

import numpy as np
import pytest
from randomised import solved

from heavybandits.algorithms.parts.choice.ftrl import charge, init_draws, tsallis
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.parametrize(
    ("rate", "q", "nu", "expected"),
    [
        (1 / 2, 2.0, 1.367409144429, (0.534814336, 0.286761628, 0.178424036)),
        (0.396850262992, 3.0, 1.177208207407, (0.612971322, 0.256411452, 0.130617227)),
        (1 / 4, 1.0, None, (0.361813244, 0.331800766, 0.306385990)),
    ],
)
def test_probabilities_of_given_losses(rate: float, q: float, nu: float | None, expected: tuple[float, ...]) -> None:
    draws = init_draws(3, rate)
    draws.loss[:] = 7.0, 8.0, 9.0  # only differences count
    tsallis(draws, q)
    assert draws.chance.tolist() == pytest.approx(expected, abs=1e-9)
    if nu is not None:
        assert draws.root.nu[0] == pytest.approx(nu, abs=1e-11)


def hard_losses(n_arms: int, rng: np.random.Generator) -> list[FloatArray]:
    return [
        np.zeros(n_arms),
        np.arange(n_arms, dtype=float),
        10.0 ** rng.uniform(-6, 6, n_arms),
        rng.standard_cauchy(n_arms),
        np.where(rng.random(n_arms) < 0.5, 1e300, 0.0),
        np.where(rng.random(n_arms) < 0.5, 1.7e308, -1.7e308),
        np.where(np.arange(n_arms) == 0, 0.0, 10020.0),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0, 13 / 3, 21.0])
@pytest.mark.parametrize("n_arms", [1, 2, 10, 1000])
def test_newton_needs_few_steps_and_finds_the_root(n_arms: int, q: float) -> None:
    """It may start at the root for other losses, at the least possible root, or far above."""
    rng = np.random.default_rng(n_arms)
    draws = init_draws(n_arms, 1.0)
    for loss in hard_losses(n_arms, rng):
        draws.loss[:] = loss
        for rate in (1e-5, 0.1, 30.0):
            expected = solved(loss, rate, q)
            for start in (draws.root.nu[0], 1.0, float(n_arms)):
                draws.rate[0], draws.root.nu[0] = rate, start
                assert tsallis(draws, q) <= 8
                assert np.allclose(draws.chance, expected, rtol=1e-10, atol=1e-14)
                assert math.fsum(draws.chance) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("q", [1.0, 2.0, 3.5])
def test_the_root_is_foreseen(q: float) -> None:
    """While losses come one by one and the rate falls, one pass over the arms is usually enough."""
    draws, rng, passes = init_draws(20, 1.0), np.random.default_rng(0), []
    for t in range(1, 600):
        draws.rate[0] = 1.0 / math.sqrt(t)
        passes.append(tsallis(draws, q))
        expected = solved(draws.loss, draws.rate[0], q)
        assert np.allclose(draws.chance, expected, rtol=1e-10, atol=1e-14)
        arm = int(rng.choice(20, p=expected / expected.sum()))
        charge(draws, arm, 0.1 * rng.standard_t(3) / expected[arm])
    assert np.mean(passes[50:]) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("q", [1.0, 2.0, 3.5, 1001.0])
def test_what_is_foreseen_may_be_wrong(q: float) -> None:
    """The root is found whatever happens between two choices, and whatever is remembered of the last one."""
    draws, rng = init_draws(300, 1.0), np.random.default_rng(1)
    for _ in range(100):
        for _ in range(int(rng.integers(4))):
            charge(draws, int(rng.integers(3)), float(rng.choice([1e-3, 3.0, -3.0, 1e300, -1e300, math.inf])))
        if rng.random() < 0.5:
            for known in (draws.root.nu, draws.root.low, draws.root.rate, draws.root.slope):
                known[0] = rng.choice([1e-9, 2.0, 250.0, 1e300])
        draws.rate[0] = 10.0 ** rng.uniform(-6, 2)
        tsallis(draws, q)
        assert np.allclose(draws.chance, solved(draws.loss, draws.rate[0], q), rtol=1e-9, atol=1e-14)
