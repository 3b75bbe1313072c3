"""The store against plain lists, however the records are spread over the arms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heavybandits.algorithms.kit.pool import FIRST, Store, append, init_store

Lists = list[list[float]]


def write(store: Store, lists: Lists, arm: int, width: int, number: int) -> None:
    record = [float(number), *(number + 0.5 for _ in range(width - 1))]
    at = append(store, arm)
    store.pool[at : at + width] = record
    lists[arm].extend(record)


def contents(store: Store) -> Lists:
    width = store.plan[0]
    return [
        store.pool[start : start + width * size].tolist() for start, size in zip(store.start, store.size, strict=True)
    ]


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 3), st.lists(st.integers(0, 4), max_size=200))
def test_with_a_horizon_any_spread_fits(width: int, arms: list[int]) -> None:
    store, lists = init_store(5, len(arms), width), [[] for _ in range(5)]  # type: tuple[Store, Lists]
    for number, arm in enumerate(arms):
        write(store, lists, arm, width, number)
    assert contents(store) == lists


@pytest.mark.parametrize("records", [1, FIRST + 1, 2 * FIRST + 1, 8 * FIRST + 1])
def test_the_worst_spread_fits(records: int) -> None:
    """Every arm has just doubled, or has just begun."""
    store, lists = init_store(50, 50 * records, 2), [[] for _ in range(50)]  # type: tuple[Store, Lists]
    for number in range(50 * records):
        write(store, lists, number % 50, 2, number)
    assert contents(store) == lists


def test_pool_of_four_records_per_reward_cannot_be_smaller() -> None:
    """The size that the horizon buys is the size that is needed: one reward for each arm takes all of it."""
    store = init_store(10, 10, 1)
    for arm in range(10):
        append(store, arm)
    assert store.plan[1] == len(store.pool)


def test_a_full_store_says_so() -> None:
    store = init_store(1, 1, 2)
    for _ in range(FIRST):
        append(store, 0)
    before = contents(store)
    with pytest.raises(IndexError, match="the store is full"):
        append(store, 0)
    assert contents(store) == before


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1), st.sampled_from([None, 3]))
def test_grows_without_a_horizon_or_past_it(width: int, seed: int, horizon: int | None) -> None:
    rng = np.random.default_rng(seed)
    store, lists = init_store(5, horizon, width), [[] for _ in range(5)]  # type: tuple[Store, Lists]
    popular = rng.random(5) ** 3
    arms = rng.choice(5, 2000, p=popular / popular.sum())
    grew = 0
    for number, arm in enumerate(arms):
        before, store = store, store.grown()
        grew += store is not before
        write(store, lists, arm, width, number)
    assert contents(store) == lists
    assert 0 < grew < 15
    assert len(store.pool) <= 20 * width * 2000


def test_grown_is_the_store_itself_while_any_record_fits() -> None:
    store = init_store(2, None, 1)
    while store.grown() is store:
        append(store, 0)
    # The next record of arm 0 would not fit if it made the arm move.
    assert store.plan[1] + 2 * store.room[0] > len(store.pool)
    assert store.size[0] >= 256


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 1000]))
def test_carry_keeps_the_records_of_the_arms_that_stay(seed: int, horizon: int | None) -> None:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    store, lists = init_store(6, None, width), [[] for _ in range(6)]  # type: tuple[Store, Lists]
    for number in range(int(rng.integers(600))):
        store = store.grown()
        write(store, lists, int(rng.integers(6)), width, number)
    store.size[0] //= 2  # whoever lowers the size gives those records up
    lists[0] = lists[0][: width * store.size[0]]
    rows = rng.permutation(6)[: rng.integers(1, 7)]
    n_arms = len(rows) + int(rng.integers(3))
    store = store.carry(init_store(n_arms, horizon, width), rows)
    lists = [lists[row] for row in rows] + [[] for _ in range(n_arms - len(rows))]
    assert contents(store) == lists
    for number in range(300):
        store = store.grown()
        write(store, lists, int(rng.integers(n_arms)), width, number)
    assert contents(store) == lists


def test_arms_without_rewards_cost_a_few_numbers() -> None:
    few, many = init_store(1, None, 2), init_store(100_000, None, 2)
    assert len(few.pool) == len(many.pool)
    assert sum(array.nbytes for array in many) < 100_000 * 25
