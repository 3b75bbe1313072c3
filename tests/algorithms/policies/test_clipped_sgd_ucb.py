"""Clipped-SGD-UCB: a trace by hand, huge rewards, and whole games against a slow reference."""

import math
import statistics

import numpy as np
import pytest
from playing import (
    KINDS,
    best_arm,
    fed,
    play,
    rewards_table,
)

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.parts.choice.estimates import index_of, value_of
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.numerics import clip, saturate
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def test_trace_of_sgd_ucb() -> None:
    """Compare indices before each pull, and the arm's iterate after it."""
    policy = hb.ClippedSGDUCB(m=0, n=1, coeff=1, clip=2, init_pulls=3, theta=0)
    state = policy.init(2, 100)
    rewards = [iter([1, 3, -7, 0, -4, 1e300, 2, 0, 0]), iter([0.5, 2, 0.9, 1, -1e300, 0.5])]
    for t, expected in enumerate([0, 0, 0, 1, 1, 1]):
        assert policy.select(state, t, None) == expected
        policy.update(state, expected, next(rewards[expected]))
    assert [value_of(policy, state, arm) for arm in range(2)] == [1.0, 0.9]
    trace = [
        (0, 1.772821555, 1.672821555, 0.934261366715),
        (1, 1.631740784, 1.705379858, 0.906573863329),
        (0, 1.655274810, 1.627587307, 0.802784100144),
        (1, 1.465690515, 1.647725767, 0.775096596758),
        (0, 1.481398143, 1.453710639, 0.934261366715),
        (0, 1.566439516, 1.467613062, 1.004321567906),
        (0, 1.600129141, 1.480065624, 0.938298840653),
        (0, 1.504530833, 1.491329709, 0.876616357256),
    ]
    for t, (arm, first, second, x) in enumerate(trace, 6):
        assert index_of(policy, state, 0, t) == pytest.approx(first, abs=6e-10)
        assert index_of(policy, state, 1, t) == pytest.approx(second, abs=6e-10)
        assert policy.select(state, t, None) == arm
        policy.update(state, arm, next(rewards[arm]))
        assert value_of(policy, state, arm) == pytest.approx(x, abs=6e-13)
    assert state.pulls.tolist() == [9, 5]


@pytest.mark.parametrize("reward", [1e300, math.inf])
def test_a_huge_reward_moves_sgd_ucb_by_step_times_clip(reward: float) -> None:
    policy = hb.ClippedSGDUCB(m=0, n=1, clip=2, init_pulls=1, theta=0)
    assert value_of(policy, fed(policy, [[1.0, reward]], 100), 0) == pytest.approx(1.131477266570, abs=1e-11)
    assert value_of(policy, fed(policy, [[1.0, -reward]], 100), 0) == pytest.approx(0.868522733430, abs=1e-11)


@pytest.mark.parametrize("name", ["sgd-ucb", "sgd-ucb-median", "sgd-ucb-smom"])
def test_a_horizon_shorter_than_the_initial_pulls_is_used_up_by_them(name: str) -> None:
    assert play(hb.make(name), np.ones((5, 4))).tolist() == [0, 0, 0, 1, 1]
    assert play(hb.make(name, init_pulls=0), np.ones((1, 4))).tolist() == [0]


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
