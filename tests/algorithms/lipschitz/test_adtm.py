"""ADTM: vectors, and whole trajectories against a slow reference."""

import math

import lipschitz_reference as reference
import pytest
from lipschitz_reference import pays, played

from heavybandits.algorithms.lipschitz.adtm import ADTM


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
