"""Exp3: published numbers."""

import math

import pytest
from randomised import choose

from heavybandits.algorithms.policies.exp3 import Exp3

pytestmark = pytest.mark.usefixtures("silent")


def test_exp3_numbers() -> None:
    policy = Exp3()
    state = policy.init(3, 1000)
    assert state.draws.rate[0] == pytest.approx(0.043796121811, abs=1e-12)
    assert choose(policy, state, 0).tolist() == pytest.approx([1 / 3] * 3)
    policy.update(state, 1, 0.7)
    assert math.exp(-state.draws.rate[0] / 3 * state.draws.loss[1]) == pytest.approx(1.031132059, abs=1e-9)
    assert choose(policy, state, 1).tolist() == pytest.approx([0.330059683, 0.339880633, 0.330059683], abs=1e-9)


def test_exp3_explores_all_the_time_if_time_is_short() -> None:
    policy = Exp3()
    for n_arms, horizon, gamma in [(3, 1, 1.0), (1, 1000, math.sqrt(2 * math.log(2) / ((math.e - 1) * 1000)))]:
        assert policy.init(n_arms, horizon).draws.rate[0] == pytest.approx(gamma)  # one arm counts as two
    state = policy.init(3, 1)
    policy.update(state, 1, 1.0)
    assert choose(policy, state, 1).tolist() == pytest.approx([1 / 3] * 3)
