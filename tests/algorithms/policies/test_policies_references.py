"""The policies play as their slow references do, and shifts, scales and orders change nothing."""

import math
import statistics
from collections.abc import Sequence
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

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.parts.choice.estimates import value_of
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.policies.kl_ucb import bernoulli_bound
from heavybandits.numerics import clip, saturate
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")

# Slow references.


def best_arm(indices: list[float], pulls: Sequence[int]) -> int:
    """Return the arm with the highest index; ties go to the fewest pulls, then to the lowest number."""
    highest = max(indices)
    return min((pulls[arm], arm) for arm, index in enumerate(indices) if index == highest)[1]


def reference_ucb(c: float, table: FloatArray) -> list[int]:
    horizon, n_arms = table.shape
    arms: list[int] = []
    means, pulls = [0.0] * n_arms, [0] * n_arms
    for t in range(horizon):
        if 0 in pulls:
            arm = pulls.index(0)
        else:
            level = math.sqrt(2 * math.log(t))
            indices = [means[i] + level * (c / math.sqrt(pulls[i])) for i in range(n_arms)]
            arm = best_arm(indices, pulls)
        reward = saturate(float(table[pulls[arm], arm]))
        pulls[arm] += 1
        means[arm] = saturate(means[arm] * (1 - 1 / pulls[arm]) + reward / pulls[arm])
        arms.append(arm)
    return arms


def reference_kl_ucb(policy: hb.KLUCB, table: FloatArray) -> list[int]:
    horizon, n_arms = table.shape
    arms: list[int] = []
    means, pulls = [0.0] * n_arms, [0] * n_arms
    for t in range(horizon):
        if 0 in pulls:
            arm = pulls.index(0)
        else:
            threshold = math.log(t) + (policy.c * math.log(math.log(t)) if t >= 3 else 0.0)
            bounds = [bernoulli_bound(means[i], threshold / pulls[i]) for i in range(n_arms)]
            arm = max(range(n_arms), key=lambda i: (bounds[i], -pulls[i], -i))
        reward = min(max(float(table[pulls[arm], arm]), policy.low), policy.high)
        pulls[arm] += 1
        scaled = (reward - policy.low) / (policy.high - policy.low)
        means[arm] = min(max(means[arm] * (1 - 1 / pulls[arm]) + scaled / pulls[arm], 0.0), 1.0)
        arms.append(arm)
    return arms


def reference_sgd_ucb(policy: hb.ClippedSGDUCB, table: FloatArray) -> list[int]:
    """Play the practical schedule, step by step."""
    horizon, n_arms = table.shape
    size = (2 * policy.m + 1) * policy.n
    step = 1 / math.log(4 * (horizon + 1) * horizon**2)
    arms: list[int] = []
    x, pulls = [policy.clip] * n_arms, [0] * n_arms

    def pull(arm: int, times: int) -> list[float]:
        times = min(times, horizon - len(arms))
        rewards = [saturate(float(table[pulls[arm] + i, arm])) for i in range(times)]
        pulls[arm] += times
        arms.extend([arm] * times)
        return rewards

    def descend(arm: int) -> None:
        rewards = pull(arm, size)
        if len(rewards) == size:
            blocks = [rewards[j * policy.n : (j + 1) * policy.n] for j in range(2 * policy.m + 1)]
            gradients = [x[arm] - math.fsum(reward / policy.n for reward in block) for block in blocks]
            x[arm] -= step * clip(statistics.median(gradients), policy.clip)

    for arm in range(n_arms):
        if policy.init_pulls == 0:
            descend(arm)
        else:
            rewards = pull(arm, policy.init_pulls)
            x[arm] = statistics.median(rewards) if rewards else x[arm]
    while len(arms) < horizon:
        level = math.sqrt(math.log(len(arms)))
        indices = [x[i] + level * (policy.coeff / math.sqrt(pulls[i])) for i in range(n_arms)]
        descend(best_arm(indices, pulls))
    return arms


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 300), (5, 400), (90, 500)])
def test_ucb_plays_as_its_reference(kind: str, n_arms: int, horizon: int) -> None:
    for seed in range(3):
        table = rewards_table(kind, seed, horizon, n_arms)
        for c in (0.0, 0.5):
            assert play(hb.UCB(c=c), table).tolist() == reference_ucb(c, table)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 300), (5, 400), (30, 400)])
def test_kl_ucb_plays_as_its_reference(kind: str, n_arms: int, horizon: int) -> None:
    for seed in range(3):
        table = rewards_table(kind, seed, horizon, n_arms)
        for policy in (hb.KLUCB(), hb.KLUCB(low=-1, high=2, c=3)):
            assert play(policy, table).tolist() == reference_kl_ucb(policy, table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init_pulls", [0, 1, 3])
@pytest.mark.parametrize(("m", "n"), [(0, 1), (0, 2), (1, 1), (1, 2)])
def test_clipped_sgd_ucb_plays_as_its_reference(m: int, n: int, init_pulls: int, kind: str) -> None:
    policy = hb.ClippedSGDUCB(m=m, n=n, coeff=0.3, clip=2, init_pulls=init_pulls, theta=0)
    for n_arms, horizon in ((1, 20), (4, 250), (4, 253), (80, 700)):  # a batch is cut in at least one of these
        table = rewards_table(kind, horizon, horizon, n_arms)
        assert play(policy, table).tolist() == reference_sgd_ucb(policy, table)


def test_theory_schedule_is_fo_ucb_on_clipped_sgd() -> None:
    table = rewards_table("normal", 1, 200, 3)
    policy = hb.ClippedSGDUCB(m=1, n=1, clip=2, init_pulls=3, theta=0, schedule="theory")
    assert np.array_equal(play(policy, table), play(FOUCB(ClippedSGD(m=1, clip=2, init_pulls=3)), table))


# Invariances.


@pytest.mark.slow
@settings(max_examples=25, derandomize=True)
@given(seeds, st.floats(-50, 50), st.sampled_from([1.0, 0.2]))
def test_a_common_shift_of_all_rewards_changes_nothing(seed: int, shift: float, c: float) -> None:
    table = rewards_table("cauchy", seed, 200, 4)
    for policy in (
        hb.UCB(c=c),
        hb.ThompsonGaussian(scale=c),
        hb.ClippedSGDUCB(0, 1, coeff=c, theta=0),
        hb.ClippedSGDUCB(1, 2, coeff=c, theta=0),
    ):
        assert np.array_equal(play(policy, table), play(policy, table + shift))
    assert np.array_equal(play(hb.KLUCB(-2, 3), table), play(hb.KLUCB(-2 + shift, 3 + shift), table + shift))


@pytest.mark.slow
@settings(max_examples=25, derandomize=True)
@given(seeds, st.integers(-30, 30), st.sampled_from(["cauchy", "coins", "constant"]))
def test_scaling_by_a_power_of_two_is_exact(seed: int, power: int, kind: str) -> None:
    """With parameters scaled too, arms are the same even where they tie, and estimates scale to the last bit."""
    a = 2.0**power
    table = rewards_table(kind, seed, 150, 4)
    sgd, smom = hb.ClippedSGDUCB(0, 1, theta=0), hb.ClippedSGDUCB(1, 2, init_pulls=0, theta=0)
    pairs: list[tuple[Any, Any]] = [
        (hb.UCB(c=0.7), hb.UCB(c=0.7 * a)),
        (hb.ThompsonGaussian(scale=0.7, prior_scale=3), hb.ThompsonGaussian(scale=0.7 * a, prior_scale=3 * a)),
        (hb.KLUCB(-0.5, 3), hb.KLUCB(-0.5 * a, 3 * a)),
        *((p._replace(coeff=0.3, clip=1.3), p._replace(coeff=0.3 * a, clip=1.3 * a)) for p in (sgd, smom)),
    ]
    for policy, scaled in pairs:
        assert np.array_equal(play(policy, table), play(scaled, a * table))
        columns = table[:12].T.tolist()
        one, two = fed(policy, columns, 48), fed(scaled, (a * table[:12]).T.tolist(), 48)
        values = [a * value_of(policy, one, arm) for arm in range(4)]
        assert values == [value_of(scaled, two, arm) for arm in range(4)]


@pytest.mark.slow
@settings(max_examples=25, derandomize=True)
@given(seeds, st.permutations(range(5)))
def test_permuted_arms_are_chosen_in_the_permuted_order(seed: int, order: list[int]) -> None:
    for policy, first, kind in (
        (hb.UCB(c=0.5), 5, "cauchy"),
        (hb.KLUCB(-5, 6), 5, "normal"),  # clipped rewards would tie
        (hb.ClippedSGDUCB(0, 1, coeff=0.5, theta=0), 15, "cauchy"),
        (hb.ClippedSGDUCB(1, 1, coeff=0.5, theta=0), 15, "cauchy"),
    ):
        table = rewards_table(kind, seed, 200, 5)
        arms, permuted = play(policy, table), play(policy, table[:, order])
        assert np.array_equal(arms[first:], np.array(order)[permuted[first:]])
