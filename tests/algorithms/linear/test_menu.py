"""MENU against numbers computed by another program."""

import numpy as np
from hand_computed import close

from heavybandits.algorithms.linear.menu import MENU, most_central


def test_menu_repeats_and_radius() -> None:
    policy = MENU(eps=1.0, v=3.0)
    assert len(policy.init(10, 10_000).group.rewards) == 356
    half = MENU(eps=0.5, v=3.0, repeats=51)
    state = half.init(10, None)
    state.fit.seen[0] = 28
    close(half.beta(state), 221.385317278, rtol=1e-8)


def test_menu_takes_the_estimate_in_the_midst() -> None:
    estimates = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0], [0.05, 0.05]])
    assert most_central(estimates, np.zeros(5)) == 4
