"""Published policies for points: vectors, whole trajectories against slow references, and what they refuse."""

import math
from typing import Any

import lipschitz_reference as reference
import numpy as np
import pytest
from lipschitz_reference import Point

import heavybandits as hb
from heavybandits.algorithms.lipschitz.admm import ADMM
from heavybandits.algorithms.lipschitz.adtm import ADTM
from heavybandits.algorithms.lipschitz.hoo import HOO
from heavybandits.algorithms.lipschitz.sdtm import SDTM
from heavybandits.algorithms.lipschitz.zooming import Zooming
from heavybandits.algorithms.registry import examples


def pays(x: Point, t: int) -> float:
    """Return the reward of a point: a peak at 0.3 plus heavy-tailed noise that depends only on the round."""
    return 1.0 - max(abs(u - 0.3) for u in x) + float(np.random.default_rng(t).standard_t(2))


def played(policy: Any, dim: int, rounds: int, horizon: int) -> list[Point]:
    state, points = policy.init(dim, horizon), []
    for t in range(rounds):
        cell = policy.select(state, t, None)
        assert 0 <= cell < policy.n_cells(state)
        points.append(tuple(policy.point(state, cell).tolist()))
        policy.update(state, cell, pays(points[-1], t))
    return points


def test_vectors_of_adtm() -> None:
    policy = ADTM(eps=1, nu=1)
    state = policy.init(1, 100)
    assert state.log_term[0] == pytest.approx(11.512925465)
    means = (0.0, -0.05, -0.033333333, 0.025)
    radii = (13.572280849, 9.597051824, 7.835960002, 6.786140424)
    for reward, mean, radius in zip((0.5, -0.1, 3.0, 0.2), means, radii, strict=True):
        policy.update(state, policy.select(state, 0, None), reward)
        assert state.zoom.mean[0] == pytest.approx(mean, abs=1e-9)
        assert state.zoom.radius[0] == pytest.approx(radius, abs=1e-8)


def test_thresholds_of_adtm() -> None:
    for n, limit in enumerate((0.294718334, 0.416794665, 0.510467128, 0.589436668)):
        for factor, counts in ((1.0 - 1e-7, True), (1.0 + 1e-7, False)):
            policy = ADTM(eps=1, nu=1)
            state = policy.init(1, 100)
            policy.select(state, 0, None)
            for _ in range(n):
                policy.update(state, 0, 0.0)
            policy.update(state, 0, limit * factor)
            assert (state.zoom.mean[0] > 0.0) == counts


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


def test_radius_of_the_boxes_of_sdtm() -> None:
    assert SDTM(hb.make("rucb-truncated", eps=1, u=1)).box_radius(1, 10_000) == pytest.approx(0.154446673)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_adtm_plays_as_its_reference(dim: int, scale: float) -> None:
    log_term = math.log(1000.0**2 / 0.1)

    def radius(n: int, t: int) -> float:
        return float(scale * 4.0 * 2.0 ** (1 / 1.5) * (log_term / n) ** (0.5 / 1.5))

    policy = ADTM(eps=0.5, nu=2, scale=scale)
    expected = reference.zoom(dim, pays, 120, reference.truncated(2.0, 0.5, log_term), radius, 1)
    assert played(policy, dim, 120, 1000) == expected


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2])
def test_zooming_plays_as_its_reference(dim: int) -> None:
    def radius(n: int, t: int) -> float:
        return float(0.05 * 2.0 * t ** (1 / 3) / math.sqrt(n))

    expected = reference.zoom(dim, pays, 120, lambda rewards: sum(rewards) / len(rewards), radius, 1)
    assert played(Zooming(nu=2, scale=0.05), dim, 120, 1000) == expected


@pytest.mark.slow
def test_admm_plays_as_its_reference() -> None:
    log_term = math.log(3.0**2 / 1.0)

    def radius(n: int, t: int) -> float:
        return 0.05 * math.sqrt(12.0) * math.sqrt((16.0 * log_term + 2.0) / n)

    policy = ADMM(eps=1, sigma=1, scale=0.05, delta=1)
    initial = 16.0 * log_term + 2.0
    expected = reference.zoom(1, pays, 250, reference.median_of_means(log_term), radius, initial)
    state, points = policy.init(1, 3), []
    state = state._replace(sums=policy.init(1, 250).sums)  # room for more rewards than the horizon
    for t in range(250):
        cell = policy.select(state, t, None)
        points.append(tuple(policy.point(state, cell).tolist()))
        policy.update(state, cell, pays(points[-1], t))
    assert points == expected
    assert len(set(points)) > 3


@pytest.mark.parametrize(("dim", "rho"), [(1, 0.5), (2, 0.7)])
def test_hoo_plays_as_its_reference(dim: int, rho: float) -> None:
    expected = reference.hoo(dim, pays, 150, 0.8, rho, 0.3)
    assert played(HOO(nu1=0.8, rho=rho, c=0.3), dim, 150, 150) == expected


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


def test_policies_that_need_the_horizon_say_so() -> None:
    for name in ("adtm", "admm", "sdtm", "hoo"):
        with pytest.raises(ValueError, match="horizon must be given, got None"):
            hb.make(name, **examples()[name]).init(1, None)
    hb.make("zooming", nu=1).init(1, None)


def test_sdtm_refuses_other_policies_and_too_many_boxes() -> None:
    with pytest.raises(TypeError, match="policy must be Robust UCB with truncated means"):
        SDTM(hb.UCB())
    with pytest.raises(ValueError, match="at most 65536 boxes, got 10 to the power of 5"):
        SDTM(hb.make("rucb-truncated", eps=1, u=1), sides=10).init(5, 100)


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
