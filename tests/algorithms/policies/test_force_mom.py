"""ForceMoM: published numbers, a slow reference, rewards that come late or unasked."""

import math
import statistics

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

from heavybandits.algorithms.parts.state.tree import carried
from heavybandits.algorithms.policies.force_mom import (
    MOST_FORCED_BLOCKS,
    ForceMOM,
    block_count,
    exploration,
    first_pulls,
)
from heavybandits.numerics import saturate
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def median_of_means(rewards: list[float], n_arms: int) -> float:
    n = len(rewards)
    q = min(n, 2 * math.ceil(math.log(2 * n_arms) + math.log(math.log(math.exp(math.e) + n))) + 1)
    q -= 1 - q % 2
    size = n // q
    blocks = [rewards[i * size : (i + 1) * size] for i in range(q)]
    return statistics.median(saturate(sum(map(saturate, block))) / size for block in blocks)


def reference(rho: float, table: FloatArray) -> list[int]:
    """Explore arms in turn while exploration is due, otherwise play the arm with the largest estimate."""
    horizon, n_arms = table.shape
    explored: list[list[float]] = [[] for _ in range(n_arms)]
    pulls, arms, turns = [0] * n_arms, [], 0
    for t in range(1, horizon + 1):
        first = n_arms * math.ceil(16 * math.log(2 * n_arms + math.e))
        if turns < max(first, math.ceil(n_arms ** (1 - rho) * t**rho)):
            arm, turns = turns % n_arms, turns + 1
            explored[arm].append(float(table[pulls[arm], arm]))
        else:
            estimates = [median_of_means(own, n_arms) for own in explored]
            arm = max(range(n_arms), key=lambda i: (estimates[i], -pulls[i]))
        pulls[arm] += 1
        arms.append(arm)
    return arms


def test_numbers() -> None:
    assert [first_pulls(n_arms) for n_arms in (2, 10, 100)] == [31, 50, 85]
    assert [block_count(n_arms, first_pulls(n_arms)) for n_arms in (2, 10, 100)] == [7, 11, 15]
    assert [exploration(n_arms, 10_000, 0.5) for n_arms in (2, 10, 100)] == [142, 500, 8500]


@settings(max_examples=100, derandomize=True)
@given(st.integers(1, 10**9), st.integers(1, 10**15))
def test_blocks_are_odd_and_fit(n_arms: int, n: int) -> None:
    q = block_count(n_arms, n)
    assert q % 2 == 1
    assert 1 <= q <= min(n, MOST_FORCED_BLOCKS)


@pytest.mark.parametrize("kind", KINDS)
def test_it_plays_as_its_reference(kind: str) -> None:
    for n_arms, horizon, rho in ((1, 60, 0.5), (2, 400, 0.8), (3, 300, 0.3)):
        table = rewards_table(kind, horizon, horizon, n_arms)
        if kind == "wild":  # the sum of infinities of both signs depends on their order
            table = np.abs(table)
        assert play(ForceMOM(rho), table).tolist() == reference(rho, table)


@settings(max_examples=10, derandomize=True)
@given(seeds, st.integers(-30, 30), st.integers(-5, 5))
def test_shifts_and_powers_of_two(seed: int, power: int, shift: int) -> None:
    table = np.round(rewards_table("normal", seed, 300, 3), 3)
    arms = play(ForceMOM(0.7), table)
    assert np.array_equal(arms, play(ForceMOM(0.7), 2.0**power * table))
    assert np.array_equal(arms, play(ForceMOM(0.7), table + shift))


def test_rewards_of_greedy_pulls_are_not_learned_from() -> None:
    policy = ForceMOM(0.5)
    state = fed(policy, [[0.0] * 40, [1.0] * 40])  # rewards that come unasked count as exploration
    assert policy.select(state, 80, None) == 1
    policy.update(state, 1, -1e9)
    assert policy.value(state, 1) == 1.0
    assert state.pulls.tolist() == [40, 40]
    policy.update(state, 1, -1e9)  # nobody selected this one
    assert state.pulls.tolist() == [40, 41]


def test_a_new_arm_is_explored_first() -> None:
    policy = ForceMOM()
    state = fed(policy, [[0.0] * 50, [1.0] * 50])
    state = carried(state, policy.init(2, None), policy.init(3, None), np.array([0, 1]))
    assert [int(policy.select(state, 100, None)) for _ in range(5)] == [2] * 5
