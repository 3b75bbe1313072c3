"""The pool against plain lists, however the records are spread over the arms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heavybandits.algorithms.parts.state.pool import FIRST_SEGMENT, Pool, append, init_pool

Lists = list[list[float]]


def write(pool: Pool, lists: Lists, arm: int, width: int, number: int) -> None:
    record = [float(number), *(number + 0.5 for _ in range(width - 1))]
    at = append(pool, arm)
    pool.records[at : at + width] = record
    lists[arm].extend(record)


def contents(pool: Pool) -> Lists:
    width = pool.width[0]
    return [
        pool.records[start : start + width * size].tolist() for start, size in zip(pool.start, pool.size, strict=True)
    ]


@settings(derandomize=True)
@given(st.integers(1, 3), st.lists(st.integers(0, 4), max_size=200))
def test_with_a_horizon_any_spread_fits(width: int, arms: list[int]) -> None:
    pool, lists = init_pool(5, len(arms), width), [[] for _ in range(5)]  # type: tuple[Pool, Lists]
    for number, arm in enumerate(arms):
        write(pool, lists, arm, width, number)
    assert contents(pool) == lists


@pytest.mark.parametrize("records", [1, FIRST_SEGMENT + 1, 2 * FIRST_SEGMENT + 1, 8 * FIRST_SEGMENT + 1])
def test_the_worst_spread_fits(records: int) -> None:
    """In the worst case, every arm has just doubled its segment, or has just got its first."""
    pool, lists = init_pool(50, 50 * records, 2), [[] for _ in range(50)]  # type: tuple[Pool, Lists]
    for number in range(50 * records):
        write(pool, lists, number % 50, 2, number)
    assert contents(pool) == lists


def test_pool_of_four_records_per_reward_cannot_be_smaller() -> None:
    """One reward for each arm takes up all the room that is made for the horizon."""
    pool = init_pool(10, 10, 1)
    for arm in range(10):
        append(pool, arm)
    assert pool.used[0] == len(pool.records)


def test_a_full_pool_says_so() -> None:
    pool = init_pool(1, 1, 2)
    for _ in range(FIRST_SEGMENT):
        append(pool, 0)
    before = contents(pool)
    with pytest.raises(IndexError, match="the pool is full"):
        append(pool, 0)
    assert contents(pool) == before


@pytest.mark.slow
@settings(derandomize=True, max_examples=40)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1), st.sampled_from([None, 3]))
def test_grows_without_a_horizon_or_past_it(width: int, seed: int, horizon: int | None) -> None:
    rng = np.random.default_rng(seed)
    pool, lists = init_pool(5, horizon, width), [[] for _ in range(5)]  # type: tuple[Pool, Lists]
    popular = rng.random(5) ** 3
    arms = rng.choice(5, 2000, p=popular / popular.sum())
    grew = 0
    for number, arm in enumerate(arms):
        before, pool = pool, pool.grown()
        grew += pool is not before
        write(pool, lists, arm, width, number)
    assert contents(pool) == lists
    assert 0 < grew < 15
    assert len(pool.records) <= 20 * width * 2000


def test_grown_is_the_pool_itself_while_any_record_fits() -> None:
    pool = init_pool(2, None, 1)
    while pool.grown() is pool:
        append(pool, 0)
    # The next record of arm 0 would not fit if the arm had to move.
    assert pool.used[0] + 2 * pool.room[0] > len(pool.records)
    assert pool.size[0] >= 256


@pytest.mark.slow
@settings(derandomize=True, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 1000]))
def test_carry_keeps_the_records_of_the_arms_that_stay(seed: int, horizon: int | None) -> None:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    pool, lists = init_pool(6, None, width), [[] for _ in range(6)]  # type: tuple[Pool, Lists]
    for number in range(int(rng.integers(600))):
        pool = pool.grown()
        write(pool, lists, int(rng.integers(6)), width, number)
    pool.size[0] //= 2  # lowering the size drops those records
    lists[0] = lists[0][: width * pool.size[0]]
    rows = rng.permutation(6)[: rng.integers(1, 7)]
    n_arms = len(rows) + int(rng.integers(3))
    pool = pool.carry(init_pool(n_arms, horizon, width), rows)
    lists = [lists[row] for row in rows] + [[] for _ in range(n_arms - len(rows))]
    assert contents(pool) == lists
    for number in range(300):
        pool = pool.grown()
        write(pool, lists, int(rng.integers(n_arms)), width, number)
    assert contents(pool) == lists


def test_arms_without_rewards_cost_a_few_numbers() -> None:
    few, many = init_pool(1, None, 2), init_pool(100_000, None, 2)
    assert len(few.records) == len(many.records)
    assert sum(array.nbytes for array in many) < 100_000 * 25
