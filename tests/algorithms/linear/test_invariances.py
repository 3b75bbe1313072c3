"""What must not affect linear policies: the unit of rewards, the order of rows, the axes, and a constant."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import seeds

import heavybandits as hb
from heavybandits.algorithms.linear.ada_oful import AdaOFUL
from heavybandits.algorithms.linear.bmm import BMM
from heavybandits.algorithms.linear.crt import CRT
from heavybandits.algorithms.linear.epsilon_greedy_huber import EpsilonGreedyHuber
from heavybandits.algorithms.linear.epsilon_greedy_ridge import EpsilonGreedyRidge
from heavybandits.algorithms.linear.heavy_oful import HeavyOFUL
from heavybandits.algorithms.linear.huber_bandit import HuberBandit
from heavybandits.algorithms.linear.hvt_ucb import HvtUCB
from heavybandits.algorithms.linear.lin_ts import LinTS
from heavybandits.algorithms.linear.lin_ts_huber import LinTSHuber
from heavybandits.algorithms.linear.lin_ucb import LinUCB
from heavybandits.algorithms.linear.linear_clipped_sgd_ucb import LinearClippedSGDUCB
from heavybandits.algorithms.linear.median_of import MedianOf
from heavybandits.algorithms.linear.menu import MENU
from heavybandits.algorithms.linear.mom_lin import MomLin
from heavybandits.algorithms.linear.oful import OFUL
from heavybandits.algorithms.linear.tofu import TOFU
from heavybandits.protocols import FloatArray, IntArray

pytestmark = pytest.mark.usefixtures("silent")
HORIZON = 40
few = settings(max_examples=10)


def in_units(a: float) -> dict[str, Any]:
    """Return policies with the same prior knowledge, but for rewards multiplied by a."""
    return {
        "oful": OFUL(scale=a, bound=a, beta_scale=0.3),
        "lin-ucb": LinUCB(beta=0.3 * a),
        "lin-ts": LinTS(scale=0.3 * a),
        "greedy-ridge": EpsilonGreedyRidge(epsilon=0.0),
        "greedy-huber": EpsilonGreedyHuber(epsilon=0.0),
        "lin-ts-huber": LinTSHuber(scale=0.3),
        "second order": LinearClippedSGDUCB(clip=a, coeff=0.3 * a, intercept=True),
        "first order": LinearClippedSGDUCB(clip=a, coeff=0.3 * a, order="first"),
        "menu": MENU(eps=1.0, v=a * a, bound=a, repeats=4, beta_scale=0.02),
        "bmm": BMM(eps=1.0, v=a * a, repeats=3, beta_scale=0.02),
        "tofu": TOFU(eps=1.0, u=3.0 * a * a, bound=a, beta_scale=0.02),
        "huber-bandit": HuberBandit(n_arms=2, eps=0.5, nu=a, gap=0.2 * a),
        "median-of": MedianOf(LinUCB(beta=0.3 * a), m=1),
    }


POLICIES = {
    **in_units(1.0),
    "crt": CRT(eps=0.5, v=1.0, beta_scale=0.1),
    "mom-lin": MomLin(eps=1.0, v=1.0, beta_scale=0.02),
    "heavy-oful": HeavyOFUL(eps=0.5, nu=1.0, beta_scale=1e-3),
    "ada-oful": AdaOFUL(nu=1.0),
    "hvt-ucb": HvtUCB(eps=0.5, nu=1.0, beta_scale=1e-3),
}


def world(name: str, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the features of each round, whose rows differ in length, and the rewards of their rows."""
    rng = np.random.default_rng(seed)
    if name == "huber-bandit":
        features = hb.blocks(rng.standard_normal((HORIZON, 2)), 2)
    else:
        features = rng.standard_normal((HORIZON, 5, 4))
    theta = rng.standard_normal(4)
    return features, features @ theta + rng.standard_t(1.5, features.shape[:2])


def play(policy: Any, features: FloatArray, rewards: FloatArray) -> IntArray:
    state, rng = policy.init(features.shape[2], HORIZON), np.random.default_rng(1)
    rows = np.zeros(HORIZON, np.int64)
    policy.update(state, np.array([1.0, 2.0, 0.0, 0.0]), rewards[0].mean())  # before the first reward all rows may tie
    for t in range(HORIZON):
        row = rows[t] = policy.select(state, features[t], t, rng)
        policy.update(state, features[t, row], rewards[t, row])
    return rows


@pytest.mark.slow
@few
@given(seeds, st.integers(-20, 20))
@pytest.mark.parametrize("name", in_units(1.0))
def test_the_unit_of_rewards(name: str, seed: int, exponent: int) -> None:
    a = math.ldexp(1.0, exponent)
    features, rewards = world(name, seed)
    assert np.array_equal(play(POLICIES[name], features, rewards), play(in_units(a)[name], features, a * rewards))


@pytest.mark.slow
@few
@given(seeds)
@pytest.mark.parametrize("name", POLICIES)
def test_the_order_of_rows(name: str, seed: int) -> None:
    features, rewards = world(name, seed)
    order = np.random.default_rng(seed + 1).permutation(features.shape[1])
    turned = play(POLICIES[name], features[:, order], rewards[:, order])
    assert np.array_equal(order[turned], play(POLICIES[name], features, rewards))


@pytest.mark.slow
@few
@given(seeds)
@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"tofu", "huber-bandit"}))  # these depend on the axes
def test_estimates_turn_with_the_axes(name: str, seed: int) -> None:
    features, rewards = world(name, seed)
    turn, _ = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((4, 4)))
    policy = POLICIES[name]
    state, other = (policy.init(4, HORIZON) for _ in range(2))
    for t in range(HORIZON):
        policy.update(state, features[t // 12, 0], rewards[t, 0])  # 12 times each row, for policies that repeat
        policy.update(other, turn @ features[t // 12, 0], rewards[t, 0])
    values = [policy.value(state, x) for x in features[0]]
    turned = [policy.value(other, turn @ x) for x in features[0]]
    np.testing.assert_allclose(turned, values, rtol=1e-5, atol=1e-5)


@few
@given(seeds, st.sampled_from([-1000.0, 1.0, 100.0]))
def test_an_intercept_takes_up_a_constant(seed: int, constant: float) -> None:
    features, rewards = world("lin-ucb", seed)
    policy = LinUCB(ridge=1e-9, intercept=True)
    state, other = (policy.init(4, None) for _ in range(2))
    for t in range(HORIZON):
        policy.update(state, features[t, 0], rewards[t, 0])
        policy.update(other, features[t, 0], rewards[t, 0] + constant)
    np.testing.assert_allclose(other.fit.theta[:4], state.fit.theta[:4], atol=1e-4)
    np.testing.assert_allclose(other.fit.theta[4], state.fit.theta[4] + constant, atol=1e-4)


def test_the_intercept_decides_under_skewed_noise() -> None:
    """Clipped errors of skewed noise do not average to 0, and only an intercept keeps that out of theta."""
    noise = hb.Shifted(hb.Pareto(1.5), -3.0)
    instance = hb.LinearInstance(hb.Sphere(1, 5), hb.Sphere(10, 5), noise)
    both = {"without": LinearClippedSGDUCB(), "with": LinearClippedSGDUCB(intercept=True)}
    result = hb.simulate(instance, both, horizon=2000, replications=4, seed=3)
    without, with_one = result.regret.isel(round=-1).mean("replication").to_numpy()
    assert with_one < 0.2 * without


def test_one_hot_features_make_ucb_of_lin_ucb() -> None:
    """Without a ridge the estimate is a mean, and the width is one over the root of the number of pulls."""
    policy, rng = LinUCB(beta=0.7, ridge=1e-12), np.random.default_rng(0)
    state, columns = policy.init(3, None), [[], [], []]  # type: tuple[Any, list[list[float]]]
    for t in range(60):
        row = policy.select(state, np.eye(3), t, None)
        if all(columns):
            indices = [np.mean(column) + 0.7 / math.sqrt(len(column)) for column in columns]
            assert row == np.argmax(indices)
        columns[row].append(rng.standard_normal() + row)
        policy.update(state, np.eye(3)[row], columns[row][-1])
    assert len(columns[2]) > 30


def test_one_feature_makes_clipped_sgd_ucb_of_the_first_order() -> None:
    """The estimate takes the same steps as the paper's policy on one arm."""
    rewards = np.random.default_rng(0).standard_cauchy(30)
    linear = LinearClippedSGDUCB(clip=2.0, order="first")
    state = linear.init(1, 100)
    arms = hb.ClippedSGDUCB(m=0, n=1, clip=2.0, init_pulls=1, theta=0.0)
    other = arms.init(1, 100)
    arms.update(other, 0, 0.0)  # so that both start at 0
    for reward in rewards:
        linear.update(state, np.ones(1), reward)
        arms.update(other, 0, reward)
    np.testing.assert_allclose(state.fit.theta[0], other.sgd.x[0], rtol=1e-12)
