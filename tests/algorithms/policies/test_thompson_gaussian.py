"""Gaussian Thompson sampling: its posterior, choices and extreme scales."""

import math

import numpy as np
import pytest
from playing import (
    fed,
)
from scipy import stats

import heavybandits as hb

pytestmark = pytest.mark.usefixtures("silent")


def test_thompson_posterior() -> None:
    policy = hb.ThompsonGaussian(scale=1, prior_mean=0, prior_scale=2)
    state = fed(policy, [[1.0, 2.0, 6.0]])
    assert policy.value(state, 0) == pytest.approx(2.769230769, abs=1e-9)
    assert policy.scale**2 / state.weight[0] == pytest.approx(0.307692308, abs=1e-9)


def test_thompson_chooses_as_often_as_an_arm_is_best_under_the_posterior() -> None:
    policy = hb.ThompsonGaussian(scale=2.0)
    state, rng = fed(policy, [[1.0] * 4, [0.5] * 9]), np.random.default_rng(0)
    chosen = np.mean([policy.select(state, 13, rng) for _ in range(4000)])
    expected = stats.norm.cdf((0.5 - 1.0) / math.hypot(2 / math.sqrt(4), 2 / math.sqrt(9)))
    assert chosen == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 4000))


def test_extreme_scales_do_not_break_thompson_sampling() -> None:
    for scale, prior in [(1e-200, math.inf), (1e200, math.inf), (1e-200, 1e200), (1e200, 1e-200)]:
        policy = hb.ThompsonGaussian(scale=scale, prior_scale=prior)
        state = fed(policy, [[1.0, 3.0], [2.0]])
        assert all(math.isfinite(policy.value(state, arm)) for arm in range(2))
        assert policy.select(state, 3, np.random.default_rng(0)) in (0, 1)
