"""Rewards adjusted by a column from before the experiment: the same differences, known sooner, and rarely wrong."""

import math

import numpy as np
import pytest

from heavybandits.evidence.ab_test.adjusted import FIT_AFTER, Adjusted
from heavybandits.evidence.ab_test.once import FoldSums
from heavybandits.evidence.measures import measures
from heavybandits.protocols import FloatArray, IntArray


def log(seed: int, n: int, gain: float = 0.0, own: float = 1.0) -> tuple[IntArray, FloatArray, FloatArray]:
    """Spending after and before: each unit has a heavy-tailed level of its own."""
    rng = np.random.default_rng(seed)
    level = rng.pareto(1.8, n)
    arms = rng.integers(2, size=n)
    return arms, (level + own * rng.exponential(0.3, n)) * (1.0 + gain * arms), level + own * rng.exponential(0.3, n)


def test_what_counts_is_the_clipped_reward_less_the_slope_times_the_column() -> None:
    arms, y, u = log(0, 2000)
    kept = Adjusted(2)
    kept.add(arms, y, u)
    assert kept.left_out == FIT_AFTER  # no zeros here
    part = kept.parts[0]
    first = slice(0, FIT_AFTER)
    y_c, u_c = np.clip(y, *part.limits), np.clip(u, *part.before)
    design = np.stack([arms[first] == 0, arms[first] == 1, u_c[first]], axis=1).astype(float)
    assert part.slope == pytest.approx(np.linalg.lstsq(design, y_c[first])[0][2])
    z = y_c - part.slope * (u_c - u_c[first].mean())
    later = slice(FIT_AFTER, None)
    one = kept.measures()[0]
    means = [z[later][arms[later] == k].mean() for k in (0, 1)]
    shift = y_c[later].mean() - z[later].mean()
    assert one.estimates() == pytest.approx(np.array(means) + shift)


def test_a_column_that_explains_much_saves_rewards() -> None:
    arms, y, u = log(1, 4000, gain=0.1)
    kept = Adjusted(2)
    kept.add(arms, y, u)
    plain, adjusted = measures(kept.tally)[0], kept.measures()[0]
    need = math.log(40.0)
    widths = [-one.least_difference(0, 1, need) - one.least_difference(1, 0, need) for one in (plain, adjusted)]
    assert widths[1] < 0.75 * widths[0]
    assert adjusted.log_evidence(1, 0) > 2.0 * plain.log_evidence(1, 0)


def test_parts_of_a_log_make_the_whole() -> None:
    arms, y, u = log(2, 3000)
    whole, parts = Adjusted(2), Adjusted(2)
    whole.add(arms, y, u)
    for rows in (slice(0, 7), slice(7, 1000), slice(1000, None)):
        parts.add(arms[rows], y[rows], u[rows])
    assert parts.measures()[0].estimates() == pytest.approx(whole.measures()[0].estimates())
    assert parts.measures()[1].log_evidence(1, 0) == pytest.approx(whole.measures()[1].log_evidence(1, 0))


def test_few_rows_are_compared_without_the_column() -> None:
    arms, y, u = log(3, 45)
    kept = Adjusted(2)
    kept.add(arms, y, u)
    assert not kept.parts
    assert kept.measures()[0].estimates() == pytest.approx(measures(kept.tally)[0].estimates())


@pytest.mark.slow
def test_equal_arms_are_rarely_ever_told_apart_and_differences_rarely_ever_missed() -> None:
    alpha, runs, wrong = 0.3, 60, np.zeros(2)
    for run in range(runs):
        arms, y, u = log(100 + run, 1500, own=0.5)
        kept, ever = Adjusted(2), np.zeros(2)
        for start in range(0, 1500, 75):
            rows = slice(start, start + 75)
            kept.add(arms[rows], y[rows], u[rows])
            if kept.parts:
                one = kept.measures()[0]
                ever[0] += one.log_evidence(1, 0) >= -math.log(alpha)
                ever[1] += one.least_difference(0, 1, -math.log(alpha)) > 0.0
        wrong += ever > 0
    assert (wrong <= 28).all()  # 29 of 60 or more have a probability of 0.3% if each has at most 30%


def test_arms_that_differed_before_are_found() -> None:
    arms, y, u = log(4, 3000)
    kept, chosen = Adjusted(2), Adjusted(2)
    kept.add(arms, y, u)
    chosen.add(arms, y, u * (1.0 + 0.5 * arms))
    assert kept.log_imbalance() < 1.0
    assert chosen.log_imbalance() > 5.0


def test_moments_give_the_cross_fitted_interval() -> None:
    arms, y, u = log(5, 1001)
    kept = FoldSums(2, (0.0, 3.0), (0.0, 2.0))
    for rows in (slice(0, 333), slice(333, None)):
        kept.add(arms[rows], y[rows], u[rows])
    y, u, fold = np.clip(y, 0.0, 3.0), np.clip(u, 0.0, 2.0), np.empty(len(y))
    for k in (0, 1):
        fold[arms == k] = np.arange(np.count_nonzero(arms == k)) % 2
    z = np.empty(len(y))
    for f in (0, 1):
        other = fold != f
        y_left, u_left = y[other].copy(), u[other].copy()
        for k in (0, 1):
            mine = arms[other] == k
            y_left[mine] -= y_left[mine].mean()
            u_left[mine] -= u_left[mine].mean()
        z[fold == f] = (y - (u_left @ y_left) / (u_left @ u_left) * (u - u.mean()))[fold == f]
    (found,) = kept.differences(("a", "b"), 0, 0.05)
    a, b = z[arms == 0], z[arms == 1]
    assert found.difference == pytest.approx(b.mean() - a.mean())
    a, b = (np.append(one, [0.0, 3.0]) for one in (a, b))  # one more reward at either limit
    half = 1.96 * math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    assert found.high - found.low == pytest.approx(2.0 * half, rel=0.01)
    assert found.high + found.low == pytest.approx(2.0 * (b.mean() - a.mean()))


def test_the_interval_of_one_look_covers_with_few_rewards_that_are_not_zero() -> None:
    rng, covered = np.random.default_rng(6), 0
    for _ in range(1000):  # Welch's interval covers in 91%
        kept = FoldSums(2, (0.0, 1.0))
        kept.add((np.arange(1000) % 10 == 0).astype(np.int64), (rng.random(1000) < 0.05).astype(float))
        (found,) = kept.differences(("a", "b"), 0, 0.05)
        covered += found.low <= 0.0 <= found.high
    assert covered >= 940
