"""The median of means against its definition."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from means import TWELVE, fed, stream

from heavybandits.algorithms.estimators.median_of_means import MOST_BLOCKS, MedianOfMeans, _range_sum
from heavybandits.numerics import LARGEST_FLOAT, saturate
from heavybandits.protocols import FloatArray


def block_means(rewards: FloatArray, log_term: float) -> list[tuple[Fraction, Fraction]]:
    """Return the mean of each block by the definition, and a bound on its rounding error."""
    n = len(rewards)
    k = max(1, math.floor(min(1 + 8 * log_term, n / 2)))
    length = n // k
    blocks = [[Fraction(saturate(x)) for x in rewards[i * length : (i + 1) * length].tolist()] for i in range(k)]
    sizes = [sum(map(abs, block), Fraction(0)) for block in blocks]
    slack = [
        2 * Fraction(LARGEST_FLOAT) if size > Fraction(LARGEST_FLOAT) else size * Fraction(1e-14) for size in sizes
    ]
    return [(sum(block, Fraction(0)) / length, room / length) for block, room in zip(blocks, slack, strict=True)]


def exact_median(values: list[Fraction]) -> Fraction:
    ordered = sorted(values)
    return (ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2


def test_median_of_means_vectors() -> None:
    mean = MedianOfMeans(eps=0.5, v=4.0)
    log_term = 2 * math.log(20)
    state = fed(mean, TWELVE)
    assert mean.refresh(state, 0, log_term) == mean.value(state, 0) == 6.5
    assert (state.middle.size[0], state.length[0]) == (6, 2)
    assert mean.width(12) * mean.factor(log_term) == pytest.approx(26.585238332, rel=1e-9)
    long = fed(mean, range(1, 401))
    assert mean.refresh(long, 0, 2 * math.log(3)) == 198.5
    assert (long.middle.size[0], long.length[0]) == (18, 22)
    assert mean.refresh(long, 0, -1.0) == 200.5  # one block of all rewards


def test_median_of_means_survives_what_ruins_prefix_sums() -> None:
    state = fed(MedianOfMeans(1.0, 1.0), [1.0, 2.0, 1e17, 3.0, 4.0, 5.0])
    assert _range_sum(state.sums, 0, 3, 6) == 12.0


def test_sums_of_infinities_are_finite() -> None:
    state = fed(MedianOfMeans(1.0, 1.0), 16 * [math.inf])
    assert {_range_sum(state.sums, 0, begin, end) for begin in range(15) for end in range(begin + 1, 16)} == {
        LARGEST_FLOAT
    }


@settings(derandomize=True, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 600), st.floats(0.01, 200.0))
def test_median_of_means_is_the_median_of_the_block_means(seed: int, n: int, log_term: float) -> None:
    rewards, mean = stream(seed, n), MedianOfMeans(1.0, 1.0)
    value = Fraction(mean.refresh(fed(mean, rewards), 0, log_term))
    blocks = block_means(rewards, log_term)
    assert exact_median([m - slack for m, slack in blocks]) <= value <= exact_median([m + slack for m, slack in blocks])


@settings(derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(0, 300), st.integers(1, 300))
def test_sums_over_ranges(seed: int, begin: int, length: int) -> None:
    rewards = stream(seed, begin + length, wild=0.0)
    state = fed(MedianOfMeans(1.0, 1.0), rewards)
    expected = rewards[begin:]
    assert _range_sum(state.sums, 0, begin, begin + length) == pytest.approx(
        math.fsum(expected), abs=1e-14 * math.fsum(abs(expected))
    )


def test_median_of_means_stays_until_it_says() -> None:
    """k is computed from L without rounding, so the estimate changes exactly when announced."""
    mean = MedianOfMeans(1.0, 1.0)
    state, log_term, values = fed(mean, stream(1, 1000, wild=0.0)), 0.01, set()
    while log_term < 50.0:
        value = mean.refresh(state, 0, log_term)
        values.add(value)
        blocks, until = state.middle.size[0], mean.until(state, 0, log_term)
        assert mean.refresh(state, 0, math.nextafter(until, 0.0)) == value
        assert state.middle.size[0] == blocks
        mean.refresh(state, 0, until)
        assert state.middle.size[0] == blocks + 1 == math.floor(1 + 8 * until)
        log_term = until
    assert len(values) > 100


def test_number_of_blocks_is_limited() -> None:
    mean = MedianOfMeans(1.0, 1.0)
    for n, blocks in ((10, 5), (3000, MOST_BLOCKS)):
        state = fed(mean, range(n))
        mean.refresh(state, 0, 1e300)
        assert state.middle.size[0] == blocks
        assert mean.until(state, 0, 1e300) == math.inf


def test_eps_zero_makes_the_radius_a_constant() -> None:
    mean = MedianOfMeans(eps=0, v=2)
    assert {mean.width(n) * mean.factor(log_term) for n in (1, 7, 1000) for log_term in (0.5, 20.0)} == {24.0}
