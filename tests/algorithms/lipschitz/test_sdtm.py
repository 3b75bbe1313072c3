"""SDTM is Robust UCB on a grid of boxes, and refuses what it cannot use."""

import math

import numpy as np
import pytest
from lipschitz_reference import pays

import heavybandits as hb
from heavybandits.algorithms.lipschitz.sdtm import SDTM


def test_radius_of_the_boxes_of_sdtm() -> None:
    assert SDTM(hb.make("rucb-truncated", eps=1, u=1)).box_radius(1, 10_000) == pytest.approx(0.154446673)


def test_sdtm_is_robust_ucb_on_a_grid() -> None:
    ucb = hb.make("rucb-truncated", eps=0.5, u=3)
    policy, arms = SDTM(ucb, sides=3), ucb.init(9, 200)
    state = policy.init(2, 200)
    for t in range(200):
        cell = policy.select(state, t, None)
        assert cell == ucb.select(arms, t, None)
        x = tuple(policy.point(state, cell).tolist())
        np.testing.assert_allclose(x, [(cell // 3 + 0.5) / 3, (cell % 3 + 0.5) / 3])
        policy.update(state, cell, pays(x, t))
        ucb.update(arms, cell, pays(x, t))


def test_sdtm_narrows_bonuses() -> None:
    ucb = hb.make("rucb-truncated", eps=1, u=1)
    state = SDTM(ucb, sides=4).init(1, 100)
    wide, narrow = (SDTM(ucb, scale=scale, sides=4) for scale in (1.0, 0.1))
    wide.update(state, 0, 0.25)
    bonuses = [policy.index_of(state, 0, 10) - policy.value(state, 0) for policy in (wide, narrow)]
    assert bonuses[0] == pytest.approx(10.0 * bonuses[1])
    assert wide.index_of(state, 1, 10) == math.inf


def test_sdtm_refuses_other_policies_and_too_many_boxes() -> None:
    with pytest.raises(TypeError, match="policy must be Robust UCB with truncated means"):
        SDTM(hb.UCB())
    with pytest.raises(ValueError, match="at most 65536 boxes, got 10 to the power of 5"):
        SDTM(hb.make("rucb-truncated", eps=1, u=1), sides=10).init(5, 100)
