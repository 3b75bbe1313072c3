"""AdaTINF: a trace by hand, and the bound on its scale."""

import math

import pytest
from randomised import assert_threshold, choose

from heavybandits.algorithms.policies.ada_tinf import AdaTINF

pytestmark = pytest.mark.usefixtures("silent")


def test_trace_of_ada_tinf() -> None:
    policy = AdaTINF(offset=0)
    state = policy.init(2, 8)
    assert state.budget[0] == pytest.approx(4.242640687, abs=1e-9)
    trace = [  # arm, loss, threshold, costs and scale afterwards
        (0, 0.1, 0.145875757, 0.028284271, 1),
        (1, 3.0, 0.216307897, 3.028284271, 1),
        (0, 2.0, 0.242174157, 2.0, 2),
        (1, 40.0, 0.593720497, 40.0, 32),
        (0, -0.5, 10.427699438, 40.009891898, 32),
        (1, 0.8, 11.392841703, 40.009891898 + 0.023178004, 32),
    ]
    for t, (arm, loss, threshold, costs, scale) in enumerate(trace):
        chance = choose(policy, state, t)
        assert_threshold(policy, state, arm, threshold)
        policy.update(state, arm, -loss)
        assert state.costs[0] == pytest.approx(costs, abs=2e-9)
        assert state.scale[0] == scale
    assert chance.tolist() == pytest.approx([0.503617253, 0.496382747], abs=1e-9)
    assert state.draws.loss.tolist() == pytest.approx([-0.801980333, 1.611659562], abs=1e-9)


def test_the_scale_of_ada_tinf_is_bounded() -> None:
    policy = AdaTINF(offset=0)
    state = policy.init(2, 100)
    for t in range(3):
        choose(policy, state, t)
        policy.update(state, 0, -math.inf)
    assert state.scale[0] == 2.0**1000
    assert choose(policy, state, 3).tolist() == pytest.approx([0.5, 0.5])
    state = policy.init(2, 100)
    policy.update(state, 0, math.inf)
    policy.update(state, 1, -1e9)
    assert state.scale[0] == 1.0  # the sign of the gap counts, as published
