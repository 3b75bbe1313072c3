"""AdaR-UCB: published numbers, its formula from scratch, ranked rewards, invariances."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    KINDS,
    WILD,
    fed,
    play,
    rewards_table,
    seeds,
)
from scipy import optimize

from heavybandits.algorithms.policies._ranked import init_ranked, insert, inside, settle, sums
from heavybandits.algorithms.policies.adar_ucb import AdarUCB, C
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def interleaved(first: Any, second: Any) -> list[float]:
    return [float(x) for pair in zip(first, second, strict=True) for x in pair]


def definition(rewards: Any, rounds: int) -> float:
    """Return the index in this round, from the pairs of rewards."""
    rewards = np.clip(rewards, -1e150, 1e150)
    first, second = rewards[0::2][: len(rewards) // 2], np.abs(rewards[1::2])
    n, log = len(second), 3 * math.log(rounds)
    if np.count_nonzero(second) <= C * log:
        return math.inf

    def excess(m: float) -> float:
        return float(np.minimum((second / m) ** 2, 1).sum() - C * log)

    positive = second[second > 0]
    # Beyond sqrt(n) times the largest magnitude the sum is below 1; at the smallest magnitude all terms are 1.
    low, high = math.log(positive.min()) - 1, math.log(positive.max()) + math.log(n) + 1
    m = math.exp(optimize.brentq(lambda x: excess(math.exp(x)), low, high, xtol=1e-15, rtol=1e-15))
    kept = np.where(np.abs(first) <= m, first, 0.0)
    spread = math.sqrt(2 * float(np.var(kept / m, ddof=1)) * log / n) * m
    return float(np.mean(kept) + spread + 10 * m * log / n)


SECOND = [0.1, -0.2, 0.3, 0.5, -0.7, 1, 1.5, -2, 3, 4, -6, 10, 25, -100]
FIRST = [0, 0.5, -1, 2, -3, 5, -9, 30, 0.2, -0.4, 1, 1, -2, 0.6]


def test_vector() -> None:
    policy = AdarUCB()
    state = fed(policy, [interleaved(FIRST, SECOND)])
    log = policy.log_of(state, 2)
    assert (log, C * log) == pytest.approx((2.079441542, 12.119873486), abs=1e-9)
    assert policy.height_of(state, 0, log) == pytest.approx(0.568587010083, abs=1e-12)
    mean, spread, squares, outside, _ = (numbers[0] for numbers in state.piece)
    threshold = math.sqrt(squares / (C * log - outside))
    assert (threshold, mean) == pytest.approx((0.353573360815, 0.014285714286), abs=1e-12)
    assert spread**2 / 2 * 14 == pytest.approx(0.002857142857, abs=1e-12)
    assert spread * math.sqrt(log) == pytest.approx(0.029133343, abs=1e-9)
    assert 10 * threshold * log / 14 == pytest.approx(0.525167953, abs=1e-9)
    assert policy.index_of(state, 0, 2) == pytest.approx(definition(interleaved(FIRST, SECOND), 2), rel=1e-12)


@pytest.mark.parametrize(("rounds", "pairs"), [(2, 13), (10, 41), (100, 81), (1000, 121), (5000, 149)])
def test_pairs_before_an_index_is_finite(rounds: int, pairs: int) -> None:
    policy, t = AdarUCB(), 2 * (rounds - 1)
    assert policy.index_of(fed(policy, [[1.0, 1.0] * (pairs - 1)]), 0, t) == math.inf
    state = fed(policy, [[1.0, 1.0] * pairs, [1.0, 0.0] * 500])
    assert policy.index_of(state, 0, t) < math.inf
    assert policy.index_of(state, 1, t) == math.inf  # zeros do not count


@pytest.mark.slow
@settings(max_examples=60, derandomize=True)
@given(seeds, st.integers(13, 120), st.integers(0, 3), st.booleans())
def test_index_agrees_with_its_definition(seed: int, pairs: int, decimals: int, wild: bool) -> None:
    rng = np.random.default_rng(seed)
    rewards = np.round(rng.standard_cauchy(2 * pairs), decimals)  # ties and zeros
    if wild:
        rewards = np.where(rng.random(2 * pairs) < 0.1, rng.choice(WILD, 2 * pairs), rewards)
    policy = AdarUCB()
    state = fed(policy, [rewards.tolist()])
    for rounds in (2, 3, 10, 50):
        expected = definition(rewards, rounds)
        found = policy.index_of(state, 0, 2 * (rounds - 1))
        assert found == pytest.approx(expected, rel=1e-7) or (found > 1e140 and expected > 1e140)


def test_pieces_hold_as_long_as_they_say() -> None:
    """Without new rewards the index follows its formula, past every magnitude that M falls below."""
    rewards = np.random.default_rng(1).standard_cauchy(400)
    policy = AdarUCB()
    state = fed(policy, [rewards.tolist()])
    for rounds in np.unique(np.geomspace(2, 10**5, 200).astype(int)):
        log = policy.log_of(state, 2 * (int(rounds) - 1))
        assert policy.height_of(state, 0, log) == pytest.approx(definition(rewards, int(rounds)), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [None, 8000])
def test_settled_rewards_lose_nothing(horizon: int | None) -> None:
    """Few of many pairs are stored, and still the index is that of all."""
    rewards = np.random.default_rng(2).standard_cauchy(6000)
    policy = AdarUCB()
    state = fed(policy, [rewards.tolist()], horizon)
    assert state.second.pool.size[0] < (1000 if horizon is None else 250)
    assert state.first.pool.size[0] < (1200 if horizon is None else 350)
    for rounds in (3000, 4000):
        assert policy.index_of(state, 0, 2 * (rounds - 1)) == pytest.approx(definition(rewards, rounds), rel=1e-9)


def test_l_stops_growing_at_the_horizon() -> None:
    policy = AdarUCB()
    assert policy.log_of(policy.init(1, 99), 98) == 3 * math.log(50)
    assert policy.log_of(policy.init(1, 99), 10**6) == 3 * math.log(50)
    assert policy.log_of(policy.init(1, None), 10**6) == pytest.approx(3 * math.log(500_001))


@pytest.mark.parametrize("kind", KINDS)
def test_it_plays_as_its_reference(kind: str) -> None:
    for n_arms, horizon in ((1, 41), (3, 400)):
        table = rewards_table(kind, 7, horizon, n_arms) - 1.0
        pulls, arms = [0] * n_arms, []
        for rounds in range(1, (horizon + 1) // 2 + 1):
            indices = [definition(table[: 2 * (n // 2), i], rounds) if n else math.inf for i, n in enumerate(pulls)]
            arm = max(range(n_arms), key=lambda i: (indices[i], -pulls[i]))
            arms += [arm, arm]
            pulls[arm] += 2
        assert play(AdarUCB(), table).tolist() == arms[:horizon]


@pytest.mark.slow
@settings(max_examples=15, derandomize=True)
@given(seeds, st.integers(-60, 60), st.sampled_from(["cauchy", "coins"]))
def test_scaling_by_a_power_of_two_is_exact(seed: int, power: int, kind: str) -> None:
    a, table = 2.0**power, rewards_table(kind, seed, 400, 2)
    assert np.array_equal(play(AdarUCB(), table), play(AdarUCB(), a * table))
    one, two = (fed(AdarUCB(), [(factor * table[:, 0]).tolist()]) for factor in (1.0, a))
    for state in (one, two):
        AdarUCB().height_of(state, 0, 3.0)
    assert a * one.piece.mean[0] == two.piece.mean[0]
    assert a * a * one.piece.squares[0] == two.piece.squares[0]


@pytest.mark.slow
@settings(max_examples=5, derandomize=True)
@given(seeds)
def test_permuted_arms(seed: int) -> None:
    """Arms are chosen by their rewards, not by their numbers."""
    table: FloatArray = rewards_table("cauchy", seed, 400, 2)
    states = [fed(AdarUCB(), columns.T.tolist()) for columns in (table, table[:, ::-1])]
    for t in (800, 3000, 9000):
        one, two = ([AdarUCB().index_of(state, arm, t) for arm in range(2)] for state in states)
        assert one == two[::-1]
        assert AdarUCB().select(states[0], t, None) != AdarUCB().select(states[1], t, None)
        for state in states:
            state.turn.left[0] = 0


@settings(max_examples=50, derandomize=True)
@given(
    st.lists(st.sampled_from([0.0, 1.0, -1.0, 2.5, -3.0, 1e10, -1e150]), max_size=40), st.floats(0, 4), st.floats(0, 4)
)
def test_ranked_rewards(rewards: list[float], limit: float, threshold: float) -> None:
    ranked = init_ranked(1, None)
    for x in rewards[::2]:
        insert(ranked, 0, x, 0.0)
    settle(ranked, 0, limit)
    for x in rewards[1::2]:
        insert(ranked, 0, x, limit)
    threshold = max(limit, threshold)
    kept = [x for x in rewards if abs(x) <= threshold]
    found = sums(ranked, 0, inside(ranked, 0, threshold))
    assert found == pytest.approx((sum(kept), sum(x * x for x in kept)))
    assert inside(ranked, 0, threshold) == sum(limit < abs(x) <= threshold for x in rewards if x != 0.0)
