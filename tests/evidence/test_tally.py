"""What is kept of rewards."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandits.evidence.scale import GRID, LOW, WIDE
from heavybandits.evidence.tally import (
    SINH,
    add,
    counts_in_full,
    is_sized_up,
    new_tally,
    plain_means,
    points_of,
    slot_of,
)  # fmt: skip


@given(st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=50))
def test_a_row_keeps_number_and_mean(rewards: list[float]) -> None:
    tally = new_tally(1, limits=(-2.0, 3.0))
    add(tally, np.zeros(len(rewards), np.int64), rewards)
    assert tally.rows.min() >= 0.0
    assert tally.rows.sum() == pytest.approx(len(rewards))
    points = -2.0 + 5.0 * GRID
    assert tally.rows[0] @ points == pytest.approx(sum(rewards), abs=1e-7)
    assert plain_means(tally)[0] == pytest.approx(np.mean(rewards))


def test_a_reward_on_a_point_stays_there() -> None:
    tally = new_tally(1, limits=(0.0, 1.0))
    add(tally, [0, 0, 0], [0.0, 1.0, 1.0])
    assert sorted(tally.rows[0][tally.rows[0] > 0.0].tolist()) == [1.0, 2.0]


def test_what_lies_beyond_the_grid_counts_as_its_end() -> None:
    tally = new_tally(1, limits=(0.0, 1.0))
    add(tally, [0] * 4, [1e308, math.inf, -math.inf, 82.0])
    assert (tally.rows[0, -1], tally.rows[0, 0]) == (3.0, 1.0)
    assert not np.isnan(plain_means(tally)).any()


@pytest.mark.parametrize("tau", [None, 0.5, 0.9])
def test_order_does_not_matter(tau: float | None) -> None:
    rng = np.random.default_rng(1)
    arms, rewards = rng.integers(3, size=3000), rng.standard_t(1.5, 3000)
    whole = new_tally(3, tau)
    add(whole, arms, rewards)
    assert is_sized_up(whole)
    ours, order = new_tally(3, tau), np.r_[:24, 24 + rng.permutation(2976)]
    add(ours, arms[order], rewards[order])
    assert ours.rows == pytest.approx(whole.rows, abs=1e-9)
    assert ours.n.tolist() == whole.n.tolist()
    assert ours.totals == pytest.approx(whole.totals)


@given(st.floats(allow_nan=False, width=32))
def test_a_slot_holds_its_reward(reward: float) -> None:
    tally = new_tally(1, 0.5)
    tally.scale[[LOW, WIDE]] = 1.5, 0.25
    points, slot = points_of(tally.scale), slot_of(tally.scale, reward)
    j = slot // 2
    if slot % 2:
        assert points[j] == reward
    else:
        assert j == 0 or points[j - 1] < reward
        assert j == len(SINH) or reward < points[j]


def test_points_have_slots_of_their_own() -> None:
    tally = new_tally(1, 0.5)
    tally.scale[[LOW, WIDE]] = 1.5, 0.25
    assert [slot_of(tally.scale, x) for x in points_of(tally.scale)] == list(range(1, 2 * len(SINH), 2))


def test_coins_and_rewards_within_stated_limits_count_in_full() -> None:
    coins = new_tally(1)
    add(coins, [0] * 40, [0.0, 3.0] * 20)
    assert counts_in_full(coins)
    add(coins, [0], [2.0])
    assert not counts_in_full(coins)
    stated = new_tally(1, limits=(-1.0, 1.0))
    add(stated, [0, 0], [-1.0, 0.3])
    assert counts_in_full(stated)
    add(stated, [0], [-1.001])
    assert not counts_in_full(stated)
