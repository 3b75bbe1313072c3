"""Shifts, scales and orders of arms change nothing in what policies play."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    fed,
    play,
    rewards_table,
    seeds,
)

import heavybandits as hb
from heavybandits.algorithms.parts.choice.estimates import value_of

pytestmark = pytest.mark.usefixtures("silent")


@pytest.mark.slow
@settings(max_examples=25, derandomize=True)
@given(seeds, st.floats(-50, 50), st.sampled_from([1.0, 0.2]))
def test_a_common_shift_of_all_rewards_changes_nothing(seed: int, shift: float, c: float) -> None:
    table = rewards_table("cauchy", seed, 200, 4)
    for policy in (
        hb.UCB(c=c),
        hb.ThompsonGaussian(scale=c),
        hb.ClippedSGDUCB(0, 1, coeff=c, theta=0),
        hb.ClippedSGDUCB(1, 2, coeff=c, theta=0),
    ):
        assert np.array_equal(play(policy, table), play(policy, table + shift))
    assert np.array_equal(play(hb.KLUCB(-2, 3), table), play(hb.KLUCB(-2 + shift, 3 + shift), table + shift))


@pytest.mark.slow
@settings(max_examples=25, derandomize=True)
@given(seeds, st.integers(-30, 30), st.sampled_from(["cauchy", "coins", "constant"]))
def test_scaling_by_a_power_of_two_is_exact(seed: int, power: int, kind: str) -> None:
    """With parameters scaled too, arms are the same even where they tie, and estimates scale to the last bit."""
    a = 2.0**power
    table = rewards_table(kind, seed, 150, 4)
    sgd, smom = hb.ClippedSGDUCB(0, 1, theta=0), hb.ClippedSGDUCB(1, 2, init_pulls=0, theta=0)
    pairs: list[tuple[Any, Any]] = [
        (hb.UCB(c=0.7), hb.UCB(c=0.7 * a)),
        (hb.ThompsonGaussian(scale=0.7, prior_scale=3), hb.ThompsonGaussian(scale=0.7 * a, prior_scale=3 * a)),
        (hb.KLUCB(-0.5, 3), hb.KLUCB(-0.5 * a, 3 * a)),
        *((p._replace(coeff=0.3, clip=1.3), p._replace(coeff=0.3 * a, clip=1.3 * a)) for p in (sgd, smom)),
    ]
    for policy, scaled in pairs:
        assert np.array_equal(play(policy, table), play(scaled, a * table))
        columns = table[:12].T.tolist()
        one, two = fed(policy, columns, 48), fed(scaled, (a * table[:12]).T.tolist(), 48)
        values = [a * value_of(policy, one, arm) for arm in range(4)]
        assert values == [value_of(scaled, two, arm) for arm in range(4)]


@pytest.mark.slow
@settings(max_examples=25, derandomize=True)
@given(seeds, st.permutations(range(5)))
def test_permuted_arms_are_chosen_in_the_permuted_order(seed: int, order: list[int]) -> None:
    for policy, first, kind in (
        (hb.UCB(c=0.5), 5, "cauchy"),
        (hb.KLUCB(-5, 6), 5, "normal"),  # clipped rewards would tie
        (hb.ClippedSGDUCB(0, 1, coeff=0.5, theta=0), 15, "cauchy"),
        (hb.ClippedSGDUCB(1, 1, coeff=0.5, theta=0), 15, "cauchy"),
    ):
        table = rewards_table(kind, seed, 200, 5)
        arms, permuted = play(policy, table), play(policy, table[:, order])
        assert np.array_equal(arms[first:], np.array(order)[permuted[first:]])
