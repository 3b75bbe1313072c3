"""Order-statistic UCB: a worked example, a slow reference, coverage for any law, increasing maps."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.algorithms.estimators.mixture_order_statistic import MixtureOrderStatistic
from heavybandits.algorithms.estimators.order_statistic import OrderStatistic
from heavybandits.protocols import FloatArray

REWARDS = [0.9, -4, 11, 0.2, 40, -1, 1.5, 0, 7, -0.5, 0.3, 2]


@pytest.mark.parametrize(
    ("t", "c", "index"), [(20, 1.0, 11.0), (20, 0.25, 2.0), (10_000, 0.25, 7.0), (10**9, 1.0, math.inf)]
)
def test_index_of_twelve_rewards(t: int, c: float, index: float) -> None:
    bound = OrderStatistic()
    state = bound.init(1, 12)
    for reward in REWARDS:
        bound.observe(state, 0, reward)
    assert bound.refresh(state, 0, c * math.log(t)) == index
    assert bound.value(state, 0) == 0.9


def first_of_highest(indices: list[float], seen: list[list[float]]) -> int:
    """Return the arm with the highest index; ties go to the arm with fewer rewards, then to the lower number."""
    return min(range(len(seen)), key=lambda arm: (-indices[arm], len(seen[arm]), arm))


def reference(c: float, rewards: FloatArray) -> list[int]:
    """Return the arms chosen if every index is computed from scratch in every round."""
    arms: list[int] = []
    seen: list[list[float]] = [[] for _ in rewards[0]]
    for t, row in enumerate(rewards):
        indices = []
        for own in seen:
            n = len(own)
            k = math.ceil(n / 2 + math.sqrt(n * c * math.log(max(t, 2)) / 2))
            indices.append(sorted(own)[k - 1] if 0 < k <= n else math.inf)
        arms.append([*map(len, seen)].index(0) if [] in seen else first_of_highest(indices, seen))
        seen[arms[-1]].append(float(row[arms[-1]]))
    return arms


def played(policy: Any, rewards: FloatArray) -> list[int]:
    state, arms = policy.init(rewards.shape[1], len(rewards)), []
    for t, row in enumerate(rewards):
        arms.append(policy.select(state, t, None))
        policy.update(state, arms[-1], float(row[arms[-1]]))
    return arms


@settings(max_examples=10, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.25, 1.0]))
def test_arms_against_the_reference(seed: int, c: float) -> None:
    rewards = np.array([0.0, 0.5, 1.0]) + np.random.default_rng(seed).standard_cauchy((200, 3))
    assert played(hb.make("order-statistic-ucb", c=c), rewards) == reference(c, rewards)


@settings(max_examples=10, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_increasing_maps_change_nothing(seed: int) -> None:
    rewards = np.random.default_rng(seed).standard_normal((200, 3)) + np.array([0.0, 0.3, 0.6])
    policy = hb.make("order-statistic-ucb", c=0.5)
    assert played(policy, rewards) == played(policy, np.exp(3 * rewards)) == played(policy, np.arctan(rewards) * 1e300)


@pytest.mark.parametrize("noise", [hb.Cauchy(), hb.Frechet(1.0), hb.LogNormal(2.0)], ids=repr)
def test_bound_is_seldom_below_the_median(noise: Any) -> None:
    """P(index < median) <= t^-c for every n; here t^-c = 0.05 and 4000 samples of each size."""
    bound, rng = OrderStatistic(), np.random.default_rng(8)
    median = float(noise.quantile(0.5))
    for n in (5, 20, 60):
        k = bound.rank_of(n, math.log(20))
        draws = np.sort(noise.sample(rng, 4000 * n).reshape(4000, n), axis=1)
        below = np.mean(draws[:, k - 1] < median) if k <= n else 0.0
        assert below <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)
        assert n < 10 or below > 0.001  # and the bound is not vacuous


def test_other_quantiles() -> None:
    bound = OrderStatistic(quantile=0.9)
    state = bound.init(1, 100)
    for reward in range(100):
        bound.observe(state, 0, float(reward))
    assert bound.value(state, 0) == 90.0
    assert bound.refresh(state, 0, 0.02) == 90.0  # the 91st
    assert bound.refresh(state, 0, 3.0) == math.inf


# The mixture.


def log_mixture(n: int, above: int, quantile: float) -> float:
    """Return the logarithm of the likelihood ratio averaged over all p, by numerical integration."""
    from scipy import integrate

    def ratio(p: float) -> float:
        return (p / (1 - quantile)) ** above * ((1 - p) / quantile) ** (n - above)

    return math.log(integrate.quad(ratio, 0, 1, epsabs=0, epsrel=1e-10, limit=200)[0])


@pytest.mark.parametrize("quantile", [0.5, 0.9])
@pytest.mark.parametrize("n", [3, 12, 40])
def test_the_mixture_bound_is_the_first_order_statistic_with_enough_evidence(n: int, quantile: float) -> None:
    bound = MixtureOrderStatistic(quantile)
    for level in (0.5, 2.0, 6.0):
        enough = [s for s in range(n + 1) if s < n * (1 - quantile) and log_mixture(n, s, quantile) >= level]
        k = bound.rank_of(n, level)
        assert k == (n - max(enough) if enough else n + 1)
        if enough:
            assert bound.level_of(n, k) == pytest.approx(log_mixture(n, n - k, quantile), abs=1e-9)


def share_of_misses(rewards: FloatArray, median: float, level: float) -> float:
    """Return in which share of the rows the mixture bound is ever below the median: the k-th reward is, if k are."""
    ranks = [MixtureOrderStatistic().rank_of(n, -math.log(level)) for n in range(1, rewards.shape[1] + 1)]
    return float((np.cumsum(rewards < median, axis=1) >= ranks).any(axis=1).mean())


def test_the_mixture_bound_ever_misses_the_median_no_more_often_than_it_may() -> None:
    """It holds for all numbers of rewards at once; Hoeffding's bound of the same level holds for one."""
    uniform = np.random.default_rng(8).random((2000, 300))
    assert 0.01 < share_of_misses(uniform, 0.5, 0.1) <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 2000)


@pytest.mark.parametrize("step", [0.05, 0.5, 2.0])
def test_ties_make_the_mixture_bound_miss_less_often(step: float) -> None:
    normal = np.random.default_rng(8).standard_normal((2000, 300))
    assert share_of_misses(step * np.round(normal / step), 0.0, 0.1) < share_of_misses(normal, 0.0, 0.1)


@pytest.mark.parametrize(("chance", "median"), [(0.45, 0.0), (0.5, 1.0), (0.55, 1.0)])
def test_the_mixture_bound_holds_for_coins(chance: float, median: float) -> None:
    coins = (np.random.default_rng(8).random((2000, 300)) < chance).astype(float)
    assert share_of_misses(coins, median, 0.1) <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 2000)


def test_the_mixture_plays_as_its_reference() -> None:
    rewards = np.array([0.0, 0.5, 1.0]) + np.random.default_rng(4).standard_cauchy((200, 3))
    bound = MixtureOrderStatistic()
    arms: list[int] = []
    seen: list[list[float]] = [[], [], []]
    for t, row in enumerate(rewards):
        ranks = [bound.rank_of(len(own), 0.25 * math.log(max(t, 2))) for own in seen]
        indices = [sorted(own)[k - 1] if k <= len(own) else math.inf for own, k in zip(seen, ranks, strict=True)]
        arms.append([*map(len, seen)].index(0) if [] in seen else first_of_highest(indices, seen))
        seen[arms[-1]].append(float(row[arms[-1]]))
    assert played(hb.make("order-statistic-ucb", c=0.25, bound="mixture"), rewards) == arms


def test_the_mixture_refuses_the_maximum() -> None:
    with pytest.raises(ValueError, match="quantile must be below 1, got 1"):
        MixtureOrderStatistic(1.0)
    with pytest.raises(ValueError, match="bound must be 'hoeffding' or 'mixture', got 'exact'"):
        hb.make("order-statistic-ucb", c=1.0, bound="exact")
