"""The p-robust estimator against its definition, and its tails."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from means import estimates
from playing import (
    WILD,
    seeds,
)

from heavybandits.algorithms.policies._p_robust import (
    REFIT_GROWTH,
    influence_constant,
)
from heavybandits.numerics import LARGEST_FLOAT

pytestmark = pytest.mark.usefixtures("silent")


def definition(rewards: Any, p: float, c: float) -> tuple[float, float]:
    """Return the estimate from scratch, and what a term of 1 contributes to it."""
    n, b = len(rewards), influence_constant(p)
    z = np.clip(np.clip(rewards, -LARGEST_FLOAT, LARGEST_FLOAT) / (c * n ** (1 / p)), -LARGEST_FLOAT, LARGEST_FLOAT)
    size = np.maximum(np.abs(z), 1e-300)
    small = np.minimum(size, 1e100)
    large = math.log(b) + p * np.log(size) + np.log1p(size ** (1 - p) / b)
    psi = np.where(size < 1e100, np.log1p(small + b * small**p), large)
    factor = c / n ** (1 - 1 / p)
    return float(factor * np.sum(np.sign(z) * psi)), factor


def test_constant() -> None:
    expected = {1.05: 0.818922551, 1.1: 0.718858070, 1.25: 0.552159079, 1.5: 0.438691338, 1.75: 0.415317428,
                1.9: 0.440557235, 2.0: 0.5}  # fmt: skip
    for p, b in expected.items():
        assert influence_constant(p) == pytest.approx(b, abs=1e-9)


def test_constant_is_the_least_that_works() -> None:
    """ln(1 + |z| + b|z|^p) <= -ln(1 - |z| + b|z|^p) for all z, and not for a smaller b."""
    z = np.linspace(1e-3, 20, 200_000)
    for p in (1.1, 1.5, 1.9, 2.0):
        b = influence_constant(p)
        assert np.all((1 + z + b * z**p) * (1 - z + b * z**p) >= 1 - 1e-9)
        assert np.any((1 + z + 0.999 * b * z**p) * (1 - z + 0.999 * b * z**p) < 1)


def test_estimate_vectors() -> None:
    expected = {(1.5, 1.0): 3.004501585, (2.0, 1.0): 3.340797732, (1.5, 10.0): 9.593344872, (1.5, 1e5): 13.076721904}
    for (p, c), value in expected.items():
        assert estimates([1, -2, 50, 3], p, c)[-1] == pytest.approx(value, abs=1e-8)
    # Taking magnitudes instead of signed rewards is a known mistake.
    assert estimates([1, 2, 50, 3], 1.5, 1.0)[-1] == pytest.approx(3.941623031, abs=1e-9)


@settings(max_examples=12, derandomize=True)
@given(seeds, st.sampled_from([1.05, 1.3, 1.5, 2.0]), st.sampled_from([1.0, 30.0]))
def test_estimate_agrees_with_its_definition(seed: int, p: float, c: float) -> None:
    """It agrees exactly when computed anew, and to second order in between."""
    rng = np.random.default_rng(seed)
    rewards = rng.standard_cauchy(100) + rng.normal()
    wild = rng.random(100) < 0.1
    rewards[wild] = rng.choice(WILD, int(wild.sum()))
    anchor = 0
    for n, found in enumerate(estimates(rewards, p, c), 1):
        expected, unit = definition(rewards[:n], p, c)
        if n >= REFIT_GROWTH * anchor:
            anchor = n
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * unit)
        assert found == pytest.approx(expected, rel=1e-6, abs=2e-4 * n * unit)


@settings(max_examples=30, derandomize=True)
@given(seeds, st.floats(1.5, 2.0))
def test_estimate_is_odd_and_becomes_the_mean(seed: int, p: float) -> None:
    rewards = np.random.default_rng(seed).standard_cauchy(40)
    assert estimates(-rewards, p, 1.0)[-1] == -estimates(rewards, p, 1.0)[-1]
    assert estimates(rewards, p, 1e12)[-1] == pytest.approx(rewards.mean(), abs=1e-2 * np.abs(rewards).mean())
    huge = math.log1p(1e308 + influence_constant(p)) * p
    assert abs(estimates([math.inf] * 40, p, 1.0)[-1]) <= 40 ** (1 / p) * huge


def test_tail_inequality() -> None:
    """P(Y - mu > x) <= exp(-n^(1-1/p) x/c + b nu/c^p), on symmetric Pareto noise whose moment is known."""
    rng, n, p, c = np.random.default_rng(0), 60, 1.5, 2.0
    draws = rng.choice([-1.0, 1.0], (3000, n)) * rng.random((3000, n)) ** (-1 / 1.8)
    nu = 1.8 / (1.8 - p)
    z = draws / (c * n ** (1 / p))
    b = influence_constant(p)
    y = c / n ** (1 - 1 / p) * (np.sign(z) * np.log1p(np.abs(z) + b * np.abs(z) ** p)).sum(axis=1)
    assert y[0] == pytest.approx(estimates(draws[0], p, c)[-1], rel=1e-3, abs=1e-3)
    for x in (0.5, 1.0, 2.0):
        assert np.mean(y > x) <= math.exp(-(n ** (1 - 1 / p)) * x / c + b * nu / c**p)
