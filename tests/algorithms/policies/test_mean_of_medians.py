"""Mean of medians: the policy inside sees the medians, and nothing else."""

import math
import statistics
from typing import Any, NamedTuple

import numpy as np
import pytest
from playing import (
    KINDS,
    fed,
    play,
    rewards_table,
)

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.parts.choice.estimates import value_of
from heavybandits.protocols import IntArray, is_randomised

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "inner", [hb.UCB(0.5), hb.ThompsonGaussian(), hb.ClippedSGDUCB(0, 1), hb.make("rucb-catoni", v=1)]
)
@pytest.mark.parametrize("m", [1, 2])
def test_it_is_the_policy_played_on_medians(kind: str, inner: Any, m: int) -> None:
    size, n_arms, medians = 2 * m + 1, 3, 60
    table = rewards_table(kind, 11, size * medians, n_arms)
    of_medians = np.array([[statistics.median(table[size * i : size * (i + 1), arm]) for arm in range(n_arms)]
                           for i in range(medians)])  # fmt: skip
    arms = play(hb.MeanOfMedians(inner, m), table)
    assert arms.tolist() == np.repeat(play(inner, of_medians), size).tolist()


class Turns(NamedTuple):
    """Pulls made."""

    pulls: IntArray


class Cycle(NamedTuple):
    """A policy that plays arms in turn, and cannot choose among some of them."""

    step: int = 1

    def init(self, n_arms: int, horizon: int | None) -> Turns:
        return Turns(np.zeros(n_arms, np.int64))

    def select(self, state: Turns, t: int, rng: Any) -> int:
        return t % len(state.pulls)

    def update(self, state: Turns, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


def test_it_is_random_if_the_policy_is() -> None:
    assert is_randomised(hb.MeanOfMedians(hb.ThompsonGaussian()))
    assert not is_randomised(hb.MeanOfMedians(hb.UCB()))


def test_wrappers_within_wrappers() -> None:
    policy = hb.MeanOfMedians(hb.MeanOfMedians(hb.UCB(), 1), 1)
    hb.check_policy(policy, horizon=60)
    assert play(policy, np.zeros((18, 2))).tolist() == [0] * 9 + [1] * 9


def test_a_closed_arm_ends_its_batch() -> None:
    policy = hb.MeanOfMedians(hb.UCB(), m=2)
    state = policy.init(3, None)
    assert policy.select(state, 0, None) == 0
    state.restrict(np.array([1, 2]))
    assert policy.select(state, 0, None) == 1
    state.restrict(None)
    assert policy.select(state, 0, None) == 1


def test_a_policy_that_cannot_be_restricted() -> None:
    state = hb.MeanOfMedians(Cycle()).init(3, None)
    with pytest.raises(TypeError, match="MeanOfMedians: among must be None: the policy inside cannot choose"):
        state.restrict(np.array([1]))


def test_outliers_do_not_reach_the_policy() -> None:
    state = fed(hb.MeanOfMedians(hb.UCB()), [[0.0, 1.0, math.inf, 0.0, -math.inf, 2.0], [2.0, 3.0, -math.inf] * 2])
    assert [value_of(hb.UCB(), state.inner, arm) for arm in range(2)] == [0.5, 2.0]


@pytest.mark.parametrize("part", [3, "ucb", hb.UCB, ClippedSGD()])
def test_what_is_no_policy_is_refused(part: Any) -> None:
    with pytest.raises(TypeError, match="MeanOfMedians: policy must be a policy with the methods init, select, update"):
        hb.MeanOfMedians(part)


def test_a_policy_inside_by_name() -> None:
    policy = hb.make("mean-of-medians", policy={"kind": "ucb", "c": 2}, m=3)
    assert policy == hb.MeanOfMedians(hb.UCB(2.0), 3)
