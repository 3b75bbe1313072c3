"""Robust UCB against a policy that computes every index anew in every round."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heavybandits.algorithms.estimators.catoni import Catoni
from heavybandits.algorithms.estimators.catoni_infinite_variance import CatoniInfiniteVariance
from heavybandits.algorithms.estimators.median_of_means import MedianOfMeans
from heavybandits.algorithms.estimators.truncated_mean import TruncatedMean
from heavybandits.algorithms.parts.choice.estimates import index_of
from heavybandits.algorithms.parts.choice.pending import ask, find_pending
from heavybandits.algorithms.parts.state.tree import arrays, carried, with_room
from heavybandits.algorithms.policies.robust_ucb import RobustUCB, rucb_catoni, rucb_median, rucb_truncated
from heavybandits.jit.compiled import compiled
from heavybandits.protocols import FloatArray, IntArray

POLICIES = {
    "median": rucb_median(1, 0.05),
    "greedy": rucb_median(0, 1),
    "truncated": rucb_truncated(0.5, 2),
    "catoni": rucb_catoni(0.1),
    "infinite": rucb_catoni(0.1, 0.8),
}


def rewards_for(n: int, n_arms: int, wild: tuple[float, ...] = ()) -> FloatArray:
    """Return a table of heavy-tailed rewards, (n, n_arms), with some ``wild`` ones."""
    rng = np.random.default_rng(5)
    table = np.linspace(0.0, 1.0, n_arms) + 0.5 * rng.standard_t(1.5, (n, n_arms))
    return np.where(rng.random(table.shape) < 0.05, rng.choice(wild, table.shape), table) if wild else table


def play(policy: Any, state: Any, table: FloatArray, arms: IntArray) -> None:
    """Play; the loop is compiled."""
    for t in range(len(table)):
        arm = policy.select(state, t, None)
        policy.update(state, arm, table[t, arm])
        arms[t] = arm


def played(policy: Any, table: FloatArray) -> tuple[IntArray, Any]:
    """Return the arms chosen by the interpreted policy, and its final state."""
    n, n_arms = table.shape
    arms, state = np.zeros(n, np.int64), policy.init(n_arms, n)
    play(policy, state, table, arms)
    return arms, state


def naive_index(policy: RobustUCB, rewards: list[float], t: int) -> float:
    """Return the index by the published formulas."""
    n, x, mean = len(rewards), np.array(rewards), policy.estimator
    log_term = policy.exponent * math.log(max(t, 2))
    if n == 0:
        return math.inf
    if isinstance(mean, TruncatedMean):
        p = 1 + mean.eps
        kept = np.abs(x) <= (mean.u * np.arange(1, n + 1) / log_term) ** (1 / p)
        return float(math.fsum(x[kept]) / n + 4 * mean.u ** (1 / p) * (log_term / n) ** (mean.eps / p))
    assert isinstance(mean, MedianOfMeans)
    p = 1 + mean.eps
    k = max(1, math.floor(min(8 * (1 / 8 + log_term), n / 2)))
    blocks = x[: k * (n // k)].reshape(k, n // k)
    radius = (12 * mean.v) ** (1 / p) * (16 * (1 / 8 + log_term) / n) ** (mean.eps / p)
    return float(np.median(blocks.mean(axis=1)) + radius)


def naive_arms(policy: RobustUCB, table: FloatArray) -> IntArray:
    n, n_arms = table.shape
    seen: list[list[float]] = [[] for _ in range(n_arms)]
    arms = []
    for t in range(n):
        few = [arm for arm in range(n_arms) if len(seen[arm]) < policy.estimator.initial_pulls()]
        keys = [(-naive_index(policy, rewards, t), len(rewards)) for rewards in seen] if not few else []
        arm = few[0] if few else keys.index(min(keys))  # ties go to the arm with fewer pulls
        seen[arm].append(float(table[t, arm]))
        arms.append(arm)
    return np.array(arms)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy", [rucb_median(1, 0.05), rucb_median(0, 1), rucb_median(0.5, 0.01, 4), rucb_truncated(0.5, 2)]
)
def test_same_arms_as_a_naive_policy(policy: RobustUCB) -> None:
    table = rewards_for(1500, 3, (0.0, 1.0, 1e17, -1e17, 1e150, -1e150))
    arms, state = played(policy, table)
    assert np.array_equal(arms, naive_arms(policy, table))
    assert np.array_equal(np.bincount(arms, minlength=3), state.pulls)
    assert len(set(arms[500:])) > 1 or policy.estimator.factor(2.0) == 1.0  # it explores, unless it is greedy


@pytest.mark.slow
@pytest.mark.parametrize("policy", [rucb_median(1, 0.01), rucb_truncated(0.5, 0.1)])
def test_highest_of_many_naive_indices(policy: RobustUCB) -> None:
    """Beyond 64 arms the choice is a tournament; it may differ where indices tie up to rounding."""
    n_arms, n = 70, 900
    table = rewards_for(n, n_arms, (0.0, 1e17, -1e17))
    arms, _ = played(policy, table)
    initial = policy.estimator.initial_pulls()
    assert arms[: initial * n_arms].tolist() == np.repeat(np.arange(n_arms), initial).tolist()
    seen: list[list[float]] = [[] for _ in range(n_arms)]
    for t, arm in enumerate(arms):
        if t >= initial * n_arms and t % 2:
            best = max(naive_index(policy, rewards, t) for rewards in seen)
            assert naive_index(policy, seen[arm], t) >= best - 1e-9 * max(1.0, abs(best))
        seen[arm].append(float(table[t, arm]))


def test_index_vector() -> None:
    policy = rucb_truncated(eps=0.5, u=10)
    state = policy.init(1, 6)
    for reward in (1.0, -2.0, 50.0, 3.0, -8.0, 0.5):
        policy.update(state, 0, reward)
    assert index_of(policy, state, 0, 6) == pytest.approx(naive_index(policy, [1.0, -2.0, 50.0, 3.0, -8.0, 0.5], 6))
    assert policy.log_term(20) == pytest.approx(5.991464547108, rel=1e-12)
    assert policy.log_term(0) == policy.log_term(2) == 2 * math.log(2)


@pytest.mark.parametrize("name", POLICIES)
def test_index_of_shows_the_index_and_changes_nothing(name: str) -> None:
    policy, table = POLICIES[name], rewards_for(400, 4)
    _, state = played(policy, table)
    before = [array.copy() for _, array in arrays(state)]
    indices = [index_of(policy, state, arm, 400) for arm in range(4)]
    values = [policy.value(state, arm) for arm in range(4)]
    assert all(np.array_equal(a, b, equal_nan=True) for a, (_, b) in zip(before, arrays(state), strict=True))
    assert all(math.isfinite(value) for value in values)
    assert policy.select(state, 400, None) == int(np.argmax(indices))
    if name in ("median", "greedy", "truncated"):
        seen: list[list[float]] = [[] for _ in range(4)]
        for t, arm in enumerate(played(policy, table)[0]):
            seen[arm].append(float(table[t, arm]))
        assert indices == pytest.approx([naive_index(policy, rewards, 400) for rewards in seen], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [rucb_catoni(0.1), rucb_catoni(0.1, 0.8), rucb_catoni(0.1, exponent=4)])
def test_catoni_plays_arms_with_too_few_rewards_first(policy: RobustUCB) -> None:
    table = rewards_for(1500, 3)
    arms, _ = played(policy, table)
    pulls, forced = np.zeros(3, int), 0
    mean = policy.estimator
    assert isinstance(mean, Catoni | CatoniInfiniteVariance)
    factor = 4.0 if isinstance(mean, Catoni) else 1.0 / mean.log_limit(1)
    for t, arm in enumerate(arms):
        few = [a for a in range(3) if pulls[a] <= factor * policy.exponent * math.log(max(t, 2))]
        if few and t >= 3:
            assert arm == min(few, key=lambda a: (pulls[a], a))  # indices are infinite, so fewer pulls go first
            forced += 1
        pulls[arm] += 1
    assert 50 < forced < 1400


def test_catoni_index_is_close_to_the_exact_one() -> None:
    """n or L may have grown by 1% since the last root; that moves the index by a small part of the radius."""
    policy, table = rucb_catoni(2.0), rewards_for(1000, 3)
    mean, state, compared = policy.estimator, policy.init(3, 1000), 0
    for t in range(1000):
        arm = policy.select(state, t, None)
        policy.update(state, arm, table[t, arm])
        if t % 50 == 49:
            log_term = 2 * math.log(t + 1)
            for a in range(3):
                start, n = state.mean.rewards.start[a], state.mean.rewards.size[a]
                exact = mean.init(1, int(n))
                for reward in state.mean.rewards.records[start : start + n]:
                    mean.observe(exact, 0, reward)
                index = mean.refresh(exact, 0, log_term) + mean.width(n) * mean.factor(log_term)
                if index < math.inf:
                    assert index_of(policy, state, a, t + 1) == pytest.approx(
                        index, abs=0.05 * mean.width(n) * mean.factor(log_term)
                    )
                    compared += 1
    assert compared > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_finds_the_best_arm(name: str) -> None:
    rng = np.random.default_rng(0)
    table = np.array([0.0, 0.2, 2.0]) + 0.2 * rng.standard_t(3, (900, 3))
    arms, _ = played(POLICIES[name], table)
    assert np.mean(arms[600:] == 2) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["median", "truncated", "infinite"])
def test_compiled_equals_interpreted(name: str) -> None:
    """They agree bit for bit, in every array of the state; compiled code also notices a full pool."""
    policy = POLICIES[name]
    for n, n_arms, wild in ((700, 3, (0.0, 1e17, 1e300, -1e300, math.inf, -math.inf)), (300, 70, (0.0, 1e17, -1e17))):
        table = rewards_for(n, n_arms, wild)
        arms, state = played(policy, table)
        machine_arms, machine = np.zeros(n, np.int64), policy.init(n_arms, n)
        kernel = compiled(play, policy, machine, table, machine_arms)
        kernel(policy, machine, table, machine_arms)
        assert np.array_equal(arms, machine_arms)
        for (place, ours), (_, theirs) in zip(arrays(state), arrays(machine), strict=True):
            assert np.array_equal(ours, theirs, equal_nan=True), place
    if name != "truncated":  # it keeps few rewards
        with pytest.raises(IndexError, match="the pool is full"):
            kernel(policy, policy.init(n_arms, 10), table, machine_arms)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_a_horizon_does_not_matter(name: str) -> None:
    policy, table = POLICIES[name], rewards_for(700, 3)
    state, arms = policy.init(3, None), []
    for t in range(700):
        arm = int(policy.select(state, t, None))
        state = with_room(state)
        policy.update(state, arm, table[t, arm])
        arms.append(arm)
    assert arms == played(policy, table)[0].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_arms_come_and_go(name: str) -> None:
    """What is known about the arms that stay is carried over to the last digit."""
    policy, table = POLICIES[name], rewards_for(600, 4)
    _, state = played(policy, table)
    rows = np.array([3, 1])
    moved = carried(copy.deepcopy(state), policy.init(4, 600), policy.init(3, 600), rows)
    for new, old in enumerate(rows):
        assert policy.value(moved, new) == policy.value(state, old)
        assert index_of(policy, moved, new, 600) == index_of(policy, state, old, 600)
    assert index_of(policy, moved, 2, 600) == math.inf
    assert policy.select(moved, 600, None) == 2
    for step, reward in enumerate(table[:50, 1]):
        for new, old in ((0, 3), (1, 1)):
            moved, state = with_room(moved), with_room(state)
            policy.update(moved, new, reward + step)
            policy.update(state, old, reward + step)
            assert policy.value(moved, new) == policy.value(state, old)


def test_rewards_may_come_late_or_unasked() -> None:
    """After the same rewards in the same order the indices are the same, whoever asked for them and when."""
    for policy in POLICIES.values():
        table = rewards_for(300, 3)
        arms, asked = played(policy, table)
        unasked = policy.init(3, 300)
        for t, arm in enumerate(arms):
            policy.update(unasked, arm, table[t, arm])
        assert [index_of(policy, unasked, a, 300) for a in range(3)] == [
            index_of(policy, asked, a, 300) for a in range(3)
        ]
        assert policy.select(unasked, 300, None) == policy.select(asked, 300, None)
        waiting, first = policy.init(3, 300), []
        for _ in range(3 * policy.estimator.initial_pulls()):
            first.append(int(policy.select(waiting, 0, None)))
            ask(find_pending(waiting), first[-1])
        assert sorted(first) == sorted(list(range(3)) * policy.estimator.initial_pulls())


@pytest.mark.slow
@settings(derandomize=True, max_examples=20)
@given(st.sampled_from(sorted(POLICIES)), st.floats(-10, 10), st.floats(1e-2, 1e2))
def test_shift_and_scale(name: str, shift: float, scale: float) -> None:
    """Neither changes the choices if the bound on the moment is scaled too; the truncated mean must not be shifted."""
    policy, table = POLICIES[name], rewards_for(120, 3)
    mean: Any = policy.estimator
    arms = played(policy, table)[0]
    p = 2.0 if isinstance(mean, Catoni) else 1 + mean.eps
    bound = "u" if isinstance(mean, TruncatedMean) else "v"
    scaled = policy._replace(estimator=mean._replace(**{bound: getattr(mean, bound) * scale**p}))
    assert np.array_equal(played(scaled, scale * table)[0], arms)
    if bound == "v":
        assert np.array_equal(played(policy, table + shift)[0], arms)


@pytest.mark.parametrize("policy", [rucb_median(1, 0.05), rucb_median(0, 1), rucb_truncated(0.5, 200)])
def test_relabelled_arms(policy: RobustUCB) -> None:
    """The order of the arms does not matter; noise depends only on the round, and initial rewards only on the arm."""
    start = 3 * policy.estimator.initial_pulls()
    table = rewards_for(300, 3)[:, :1] + np.linspace(0, 1, 3)
    table[:start] = np.linspace(1, 2, 3)
    arms = played(policy, table)[0][start:]
    for order in ([0, 2, 1], [2, 1, 0], [1, 2, 0]):
        assert np.array_equal(np.array(order)[played(policy, table[:, order])[0][start:]], arms)


def test_presets() -> None:
    assert rucb_median(eps=0.5, v=2) == RobustUCB(MedianOfMeans(0.5, 2.0), 2.0)
    assert rucb_truncated(eps=0.5, u=2, exponent=4) == RobustUCB(TruncatedMean(0.5, 2.0), 4.0)
    assert rucb_catoni(v=2) == RobustUCB(Catoni(2.0), 2.0)
    assert rucb_catoni(v=2, eps=0.5) == RobustUCB(CatoniInfiniteVariance(0.5, 2.0), 2.0)
    with pytest.raises(ValueError, match="eps must be"):
        rucb_catoni(v=2, eps=1.5)
    with pytest.raises(ValueError, match="exponent must be"):
        rucb_median(1, 1, exponent=0)
