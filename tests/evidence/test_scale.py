"""Which limits the first rewards choose."""

import math

import numpy as np
import pytest

from heavybandits.evidence.scale import ALL_ALIKE, CAPS, ENOUGH, GRID, LOW, SPREADS, WIDE, ladder
from heavybandits.evidence.tally import Tally, add, is_sized_up, new_tally
from heavybandits.protocols import FloatArray


def sized_up(rewards: FloatArray | list[float]) -> Tally:
    tally = new_tally(1)
    add(tally, np.zeros(len(rewards), np.int64), rewards)
    return tally


def limits(rewards: FloatArray | list[float], rung: int = 0) -> tuple[float, float]:
    tally = sized_up(rewards)
    assert is_sized_up(tally)
    low, high = ladder(tally.scale)[rung].limits(tally.scale)
    return round(low, 9), round(high, 9)


SKEWED = np.arange(1.0, 25.0)  # 90% of it up to 21.7


def test_coins_count_exactly_after_twelve_of_them() -> None:
    coins = [0.0, 2.5] * ALL_ALIKE
    assert not is_sized_up(sized_up(coins[:-1]))
    assert limits(coins) == (0.0, 2.5)


def test_skewed_rewards_count_from_zero_to_a_round_number() -> None:
    assert limits(SKEWED) == (0.0, 30.0)
    assert [limits(SKEWED, rung) for rung in range(1, CAPS)] == [(0, 90), (0, 270), (0, 810), (0, 2430)]


def test_zeros_are_counted_but_do_not_decide() -> None:
    tally = sized_up(np.concatenate([np.zeros(1000), SKEWED[:-1]]))
    assert not is_sized_up(tally)
    assert tally.sizes.tolist() == [ENOUGH - 1, 1000]
    assert limits(np.concatenate([np.zeros(1000), SKEWED])) == (0.0, 30.0)


def test_amounts_far_from_zero_count_from_zero_if_some_pay_nothing() -> None:
    orders = 95.0 + np.arange(24.0) / 4.0
    low, high = limits(orders)
    assert 90.0 <= low < high <= 105.0
    assert limits([0.0, *orders]) == (0.0, 150.0)


def test_limits_of_both_signs_reach_beyond_most_rewards() -> None:
    signed = SKEWED - 12.5  # 80% of it within 9.2 of zero
    assert limits(signed) == (-20.0, 20.0)
    assert limits(signed, 1) == (-100.0, 100.0)


@pytest.mark.parametrize("rewards", [SKEWED, SKEWED - 12.5, SKEWED + 1000.0, SKEWED - 3.5, np.full(12, 3.0)])
def test_negated_rewards_have_negated_limits(rewards: FloatArray) -> None:
    for rung in range(CAPS):
        low, high = limits(rewards, rung)
        assert limits(-rewards, rung) == pytest.approx((-high, -low))


@pytest.mark.parametrize("unit", [1e-200, 1e-9, 1e6, 1e200])
def test_limits_scale_with_rewards(unit: float) -> None:
    for rewards in (SKEWED, SKEWED - 12.5, SKEWED + 1000.0):
        one, other = sized_up(rewards).scale, sized_up(unit * rewards).scale
        assert other[[LOW, WIDE]] == pytest.approx(unit * one[[LOW, WIDE]])
        assert other[SPREADS:] == pytest.approx(one[SPREADS:])


def test_infinite_rewards_do_not_stretch_the_limits() -> None:
    rewards = [*SKEWED[:-4], math.inf, math.inf, math.inf, math.inf]
    assert limits(rewards) == (0.0, 20.0)
    assert limits([math.inf] * 24) == (0.0, 1.0)


@pytest.mark.parametrize(
    "rewards",
    [[1e308, -1e308] * 12, [5e-324] * 12, [5e-324, 1e-323] * 12, [1e308] * 12, [1e16, 1e16 + 2.0] * 12,
     [math.inf, -math.inf] * 12, [-1.0] + [5.0] * 23, [1e300] + [1e-300] * 23],
)  # fmt: skip
def test_odd_rewards_leave_a_usable_grid(rewards: list[float]) -> None:
    scale = sized_up(rewards).scale
    points = scale[LOW] + scale[WIDE] * GRID
    assert np.isfinite(scale).all()
    assert (np.diff(points) > 0.0).all()


def test_spread_is_that_of_the_first_rewards() -> None:
    rewards = np.concatenate([np.zeros(72), np.full(6, 1.0), np.full(18, 10.0)])
    u = rewards / 10.0
    guess = (u.sum() + 0.5) / (len(u) + 1)
    assert sized_up(rewards).scale[SPREADS] == pytest.approx(u.var() / (guess * (1.0 - guess)))
