"""Published policies for points: what holds for several of them, and what they refuse."""

import math

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.algorithms.lipschitz.admm import ADMM
from heavybandits.algorithms.lipschitz.adtm import ADTM
from heavybandits.algorithms.lipschitz.hoo import HOO
from heavybandits.algorithms.lipschitz.zooming import Zooming
from heavybandits.algorithms.registry import examples


def test_small_moments_are_bounded_below_in_radii() -> None:
    policy = ADTM(eps=1, nu=1e-9)
    state = policy.init(1, 100)
    policy.update(state, policy.select(state, 0, None), 0.0)
    assert state.zoom.radius[0] == pytest.approx(4.0 / (12.0 * math.sqrt(2.0)) * math.sqrt(11.512925465))
    median = ADMM(eps=1, sigma=1e-9)
    other = median.init(1, 100)
    median.update(other, median.select(other, 0, None), 0.0)
    assert other.zoom.radius[0] == pytest.approx(
        math.sqrt(12.0 / (36.0 * math.sqrt(2.0)) * (16.0 * 11.512925465 + 2.0))
    )


def test_policies_that_need_the_horizon_say_so() -> None:
    for name in ("adtm", "admm", "sdtm", "hoo"):
        with pytest.raises(ValueError, match="horizon must be given, got None"):
            hb.make(name, **examples()[name]).init(1, None)
    hb.make("zooming", nu=1).init(1, None)


def test_damaged_states_are_refused() -> None:
    policy = Zooming(nu=1)
    fresh = policy.init(1, None)
    zoom = fresh.zoom
    for broken in (
        zoom._replace(size=np.array([5000])),
        zoom._replace(where=zoom.where - 1),
        zoom._replace(cover=zoom.cover + 5),
        zoom._replace(net=zoom.net * 0.5),
        zoom._replace(bare=np.array([-1])),
    ):
        with pytest.raises(ValueError, match="must be"):
            broken.check(fresh.zoom, 0)
    tree = HOO().init(1, 100)
    HOO().update(tree, 0, 1.0)
    tree.check(tree, 0)
    for half, parent in ((0, 2), (5, 0)):
        broken_tree = tree._replace(half=tree.half.copy(), parent=tree.parent.copy())
        broken_tree.half[0], broken_tree.parent[1] = half, parent
        with pytest.raises(ValueError, match="must"):
            broken_tree.check(tree, 0)
