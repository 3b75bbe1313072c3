"""HTINF: skipping thresholds, and a trace by hand."""

import math

import pytest
from randomised import assert_threshold, choose

import heavybandits as hb
from heavybandits.algorithms.policies.htinf import HTINF, skipping_factor

pytestmark = pytest.mark.usefixtures("silent")


def test_skipping_factors() -> None:
    for alpha, factor in [(1.05, 0.031015526), (1.1, 0.056125687), (1.25, 0.109101282), (1.5, 0.159103585),
                          (1.75, 0.187747604), (2.0, 0.206299474)]:  # fmt: skip
        assert skipping_factor(alpha - 1.0) == pytest.approx(factor, abs=1e-9)
        other = (2 - 2 / alpha) ** (1 / (2 - alpha)) if alpha < 2 else math.exp(-0.5)
        assert skipping_factor(alpha - 1.0) < other  # the paper takes the smaller of the two


def test_htinf_thresholds() -> None:
    policy = HTINF(eps=0.5, scale=1, offset=0)
    state = policy.init(3, None)
    state.draws.loss[:] = 0.0, 1.0, 2.0
    assert choose(policy, state, 3).tolist() == pytest.approx([0.612971322, 0.256411452, 0.130617227], abs=1e-9)
    assert state.draws.rate[0] == pytest.approx(0.396850263, abs=1e-9)
    for arm, threshold in enumerate((0.289298865, 0.161812315, 0.103209640)):
        assert_threshold(policy, state, arm, threshold)


def test_trace_of_htinf() -> None:
    for policy in (HTINF(eps=1, scale=1, offset=0), hb.make("opt-tinf", offset=0)):
        state = policy.init(2, None)
        trace = [(0, 0.3, 0.145875757), (1, 5.0, 0.206299474), (0, -0.2, 0.252664223), (1, 0.1, 0.270607816)]
        for t, (arm, loss, threshold) in enumerate(trace):
            chance = choose(policy, state, t)
            assert_threshold(policy, state, arm, threshold)
            policy.update(state, arm, -loss)
        assert chance.tolist() == pytest.approx([0.569845531, 0.430154469], abs=1e-9)
        assert state.draws.loss.tolist() == pytest.approx([-0.4, 0.232474628], abs=1e-9)
