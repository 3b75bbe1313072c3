"""A window forgets removed arms and infinite rewards."""

import math

import numpy as np
import pytest

from heavybandits.algorithms.parts.state.tree import carried
from heavybandits.algorithms.policies.sliding_window_ucb import SlidingWindowUCB
from heavybandits.numerics import SUMMABLE

pytestmark = pytest.mark.usefixtures("silent")


def test_a_window_forgets_removed_arms_and_infinite_rewards() -> None:
    policy = SlidingWindowUCB(window=4)
    state = policy.init(3, None)
    for arm, reward in [(0, 1.0), (1, math.inf), (2, 5.0), (2, 7.0), (1, 2.0)]:
        policy.update(state, arm, reward)
    state = carried(state, policy.init(3, None), policy.init(3, None), np.array([1, 2]))
    assert [policy.value(state, arm) for arm in (0, 1)] == [SUMMABLE / 2, 6.0]
    assert math.isnan(policy.value(state, 2))
    for arm in (1, 1, 2):
        policy.update(state, arm, 3.0)
    assert [policy.value(state, arm) for arm in (0, 1, 2)] == [2.0, 3.0, 3.0]
    assert state.window.size.tolist() == [1, 2, 1]
