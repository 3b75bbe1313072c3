"""KLinf-UCB: published numbers, a slow reference for its index, its choices, invariances and edge cases."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    KINDS,
    fed,
    play,
    rewards_table,
    seeds,
)
from scipy import optimize

import heavybandits as hb
from heavybandits.algorithms.policies._klinf import LAMBDA_1, LAMBDA_2, OPTIMUM, solve
from heavybandits.algorithms.policies.klinf_ucb import KLinfUCB
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")

SAMPLE = [-1.0, 0.0, 0.5, 2.0]


def optimum(rewards: list[float], eps: float, bound: float, budget: float) -> FloatArray:
    """Return the pair and the index, in the units of the rewards."""
    policy = KLinfUCB(eps, bound)
    state = fed(policy, [rewards])
    solve(state.rewards, 0, state.dual, budget, eps)
    unit = policy.unit()
    return np.asarray(np.array([unit, unit / bound, 1.0, unit]) * state.dual[0])


def index(rewards: list[float], eps: float, bound: float, budget: float) -> float:
    return float(optimum(rewards, eps, bound, budget)[OPTIMUM])


def reference_index(rewards: list[float], eps: float, bound: float, budget: float) -> float:
    """Minimise the dual function as published, by one search inside another."""
    p = 1 + eps
    unit = bound ** (1 / p)
    limit = 1e250 ** (1 / p)
    x = np.clip(np.clip(rewards, -1.7e308, 1.7e308) / unit, -limit, limit)
    powers = np.abs(x) ** p

    def dual(first: float, second: float) -> float:
        z = first - x + second * powers
        gain = np.exp(min(-budget + np.mean(np.log(z)), 700.0)) if z.min() > 0 else 0.0
        return float(max(first + second - gain, -1.0))

    def best_first(log_second: float) -> float:
        second = math.exp(log_second)
        border = eps / p * (p * second) ** (-1 / eps)
        found = optimize.minimize_scalar(
            lambda log: dual(border + math.exp(log), second),
            bounds=(-40, 20),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return min(float(found.fun), dual(border, second))

    found = optimize.minimize_scalar(best_first, bounds=(-30, 10), method="bounded", options={"xatol": 1e-9})
    return float(unit * found.fun)


def test_index_vectors() -> None:
    expected = {0.01: 0.847913623, 0.1: 1.416689703, 0.5: 2.047616098, math.log(10) / 4: 2.103245394}
    for budget, value in expected.items():
        assert index(SAMPLE, 0.5, 4.0, budget) == pytest.approx(value, abs=1e-9)
    policy = KLinfUCB(0.5, 4.0)
    assert policy.index_of(fed(policy, [SAMPLE]), 0, 10) == pytest.approx(2.103245394, abs=1e-9)


def test_divergences_are_inverted() -> None:
    """KLinf at 0.6, 1 and 1.5; the published multipliers are 1/G and the pair's second over G."""
    for x, divergence in [(0.6, 0.001167982), (1.0, 0.022318800), (1.5, 0.126593968)]:
        assert index(SAMPLE, 0.5, 4.0, divergence) == pytest.approx(x, abs=2e-7)
    first, second, _, value = optimum(SAMPLE, 0.5, 4.0, 0.126593968)
    gain = first + 4.0 * second - value
    assert (1 / gain, second / gain) == pytest.approx((0.348540174, 0.071178748), rel=1e-5)


def test_limits() -> None:
    assert index(SAMPLE, 0.5, 4.0, 1e-12) == pytest.approx(np.mean(SAMPLE), abs=1e-3)
    assert index(SAMPLE, 0.5, 4.0, 500.0) == pytest.approx(4.0 ** (2 / 3), rel=1e-12)
    policy = KLinfUCB(0.5, 4.0)
    assert policy.index_of(policy.init(1, None), 0, 5) == math.inf


@pytest.mark.parametrize("rewards", [[-1.0, 0.0, 0.5, 1e6], [0.0, 0.0, 0.0, 1e6], [5.0], [math.inf, 1.0], [-1e300] * 3])
def test_rewards_far_from_every_law_with_the_moment(rewards: list[float]) -> None:
    assert index(rewards, 0.5, 4.0, 0.5) == -(4.0 ** (2 / 3))


def test_the_cost_of_an_outlier() -> None:
    """One 1e6 among four rewards is compatible with the moment from a certain divergence on.

    A law of moment B is within C of the rewards iff the mean of ln(r + |x|^p) is at most ln(r + B) + C for all r >= 0.
    """
    rewards = [-1.0, 0.0, 0.5, 1e6]
    r, powers = np.geomspace(1e-6, 1e6, 10_001)[:, None], np.abs(rewards) ** 1.5
    cost = float(np.max(np.log(r + powers).mean(axis=1) - np.log(r[:, 0] + 4.0)))
    assert cost == pytest.approx(4.30127, abs=1e-5)
    assert index(rewards, 0.5, 4.0, cost - 1e-3) == -(4.0 ** (2 / 3))
    assert index(rewards, 0.5, 4.0, cost + 1e-3) > -(4.0 ** (2 / 3)) + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("eps", [0.05, 0.2, 0.5, 1.0, 4.0])
def test_index_agrees_with_its_reference(eps: float) -> None:
    rng = np.random.default_rng(int(10 * eps))
    for case in range(12):
        n = int(rng.integers(1, 40))
        rewards = rng.standard_t(1.2, n) + rng.normal()
        if case % 3 == 0:
            rewards = np.round(rewards)  # ties and zeros
        if case % 4 == 0:
            rewards[rng.integers(n)] = rng.choice([1e6, 1e300, math.inf, -math.inf])
        bound, budget = float(rng.choice([0.5, 4.0, 100.0])), math.log(rng.integers(2, 10**5)) / n
        found = index(rewards.tolist(), eps, bound, budget)
        expected = reference_index(rewards.tolist(), eps, bound, budget)
        assert found == pytest.approx(expected, abs=1e-9 * bound ** (1 / (1 + eps)))


@settings(max_examples=40, derandomize=True)
@given(seeds, st.floats(0.1, 3.0), st.floats(-6, 2))
def test_index_grows_with_the_budget(seed: int, eps: float, exponent: float) -> None:
    rewards = np.random.default_rng(seed).standard_cauchy(12).tolist()
    indices = [index(rewards, eps, 10.0, 10.0**exponent * factor) for factor in (1.0, 1.3, 2.0)]
    assert indices[0] <= indices[1] + 1e-10
    assert indices[1] <= indices[2] + 1e-10
    assert all(abs(value) <= 10.0 ** (1 / (1 + eps)) * (1 + 1e-12) for value in indices)


def check_choices(policy: Any, table: FloatArray) -> None:
    """Check that every decision is for an arm with the highest index, and holds for the right number of pulls."""
    horizon, n_arms = table.shape
    state = policy.init(n_arms, horizon)
    rewards: list[list[float]] = [[] for _ in range(n_arms)]
    chosen, left = -1, 0
    for t in range(horizon):
        arm = policy.select(state, t, None)
        if left > 0:
            assert arm == chosen
            left -= 1
        elif t < n_arms:
            assert arm == t
        else:
            log = math.log(max(t, 2))
            extra = 2 * math.log(max(log, 1)) + 1 if policy.threshold == "theory" else 0.0
            per_arm = 2.0 if policy.threshold == "theory" else 0.0
            budgets = [(log + extra + per_arm * math.log(1 + len(own))) / len(own) for own in rewards]
            indices = [index(own, policy.eps, policy.bound, c) for own, c in zip(rewards, budgets, strict=True)]
            assert indices[arm] >= max(indices) - 1e-9
            left = max(1, math.ceil(policy.h * len(rewards[arm]))) - 1
        chosen = arm
        reward = float(table[len(rewards[arm]), arm])
        rewards[arm].append(reward)
        policy.update(state, arm, reward)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_choices(kind: str) -> None:
    table = rewards_table(kind, 3, 120, 3)
    check_choices(KLinfUCB(0.5, 4.0, h=0.1), table)
    check_choices(KLinfUCB(1.0, 2.0, h=0.0, threshold="theory"), table[:60])


@pytest.mark.slow
@settings(max_examples=10, derandomize=True)
@given(seeds, st.integers(-20, 20))
def test_scaling_rewards_and_bound(seed: int, power: int) -> None:
    a, table = 2.0**power, rewards_table("normal", seed, 120, 4)
    arms = play(KLinfUCB(0.5, 2.0), table)
    assert np.array_equal(arms, play(KLinfUCB(0.5, 2.0 * a**1.5), a * table))


@pytest.mark.slow
@settings(max_examples=10, derandomize=True)
@given(seeds, st.permutations(range(4)))
def test_permuted_arms(seed: int, order: list[int]) -> None:
    table = rewards_table("normal", seed, 120, 4)
    arms, permuted = (play(KLinfUCB(1.0, 3.0), columns) for columns in (table, table[:, order]))
    assert np.array_equal(arms[4:], np.array(order)[permuted[4:]])


def test_equal_arms_share_the_pulls() -> None:
    pulls = np.bincount(play(KLinfUCB(0.5, 4.0, h=0.0), np.ones((90, 3))))
    assert np.ptp(pulls) <= 1


def test_it_finds_the_best_arm() -> None:
    """It pulls bad arms far less often than Robust UCB with the truncated mean and the same knowledge."""
    instance = hb.Instance([0.0, 0.5, 1.0], hb.StudentT(df=3.0))
    policies = {"klinf": KLinfUCB(0.5, 4.0), "rucb": hb.make("rucb-truncated", eps=0.5, u=4.0)}
    regret = hb.simulate(instance, policies, horizon=2000, replications=20).summary()["mean"]
    assert regret["klinf"] < 0.3 * regret["rucb"]


def test_the_first_pair_is_on_the_border() -> None:
    """There every law is allowed, so the search may start there for any rewards."""
    state = KLinfUCB(0.5, 4.0).init(2, None)
    assert state.dual[0, LAMBDA_1] == pytest.approx(0.5 / 1.5 * (1.5 * state.dual[0, LAMBDA_2]) ** (-2.0))
