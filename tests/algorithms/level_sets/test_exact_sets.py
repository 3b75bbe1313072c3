"""Level sets of a few rewards against a fine grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from level_set_reference import slow_set

import heavybandits as hb
from heavybandits.algorithms.level_sets.exact_sets import minimiser, total, upper_end
from heavybandits.algorithms.level_sets.level_set import EXACT_REWARDS
from heavybandits.algorithms.level_sets.loss_tables import BINS, tabulate
from heavybandits.algorithms.policies.level_set_ucb import DOUBT, LEARNED_LAWS
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")

CAUCHY, LEARNED = tabulate((hb.Cauchy(),)), tabulate(LEARNED_LAWS, DOUBT)


def upper_end_at(rewards: FloatArray, scale: float, x: float, level: float) -> float:
    """Return the upper end of the level set of the Cauchy loss whose minimiser is x."""
    rho, score, mode, n = CAUCHY.rho[0], CAUCHY.score[0], float(CAUCHY.mode[0]), len(rewards)
    return upper_end(rho, score, mode, rewards, n, scale, x, level)


@settings(max_examples=40, derandomize=True)
@given(st.lists(st.floats(-4, 4), min_size=1, max_size=EXACT_REWARDS), st.floats(0.3, 3.0), st.floats(0.3, 6.0))
def test_upper_end_against_a_grid(rewards: list[float], scale: float, level: float) -> None:
    ordered = np.sort(np.array(rewards))
    x, upper = slow_set(ordered, scale, level)
    found = upper_end_at(ordered, scale, x, level)
    total = [np.log1p(((ordered - theta) / scale) ** 2).sum() for theta in (x, upper, found)]
    assert total[2] - total[0] == pytest.approx(level, abs=0.05)
    assert found == pytest.approx(upper, abs=0.5 * scale)  # the table is not exact where the loss is flat


def test_a_set_with_a_gap_keeps_the_far_mode() -> None:
    """Two very low rewards do not hide that the third is high, as an estimate plus a bonus would."""
    rewards = np.array([-60.0, -50.0, 9.0])
    x, upper = slow_set(rewards, 1.0, 4.5)
    assert x < -40
    assert upper > 9
    assert upper_end_at(rewards, 1.0, x, 4.5) == pytest.approx(upper, abs=0.4)
    assert upper_end_at(np.array([-0.4, 0.1, 0.3]), 1.0, 0.05, 4.5) < 3


def test_a_far_reward_does_not_blur_the_end() -> None:
    near = np.array([0.9, 1.0, 1.1, 1.2])
    far = np.append(near, 1e9)
    ends = [upper_end_at(rewards, 0.2, 1.05, 2.0) for rewards in (near, far)]
    assert ends[1] == pytest.approx(ends[0], abs=0.01)


def tabulated(law: int, rewards: FloatArray, thetas: FloatArray) -> FloatArray:
    """Return F at many thetas, in units of the scale, from a law's table."""
    z = rewards[:, None] - thetas
    bins = (z / (1.0 + np.abs(z)) + 1.0) * (BINS / 2) - 0.5
    beyond = 2.0 * np.log((1.0 + np.abs(z)) / BINS)
    inside = np.interp(bins, np.arange(BINS), LEARNED.rho[law])
    sums: FloatArray = np.where((bins <= 0) | (bins >= BINS - 1), inside + beyond, inside).sum(axis=0)
    return sums


@pytest.mark.slow
@pytest.mark.parametrize("law", range(len(LEARNED_LAWS)))
def test_the_set_of_a_young_arm_is_that_of_a_dense_grid(law: int) -> None:
    """Whatever the rewards, the minimum is the global one, and no gap hides the upper end."""
    rng = np.random.default_rng(law)
    rho, score, mode = LEARNED.rho[law], LEARNED.score[law], float(LEARNED.mode[law])
    for _ in range(75):
        n, level = int(rng.integers(1, EXACT_REWARDS + 1)), float(rng.uniform(0.5, 8.0))
        rewards = np.sort(rng.choice([1.0, 5.0]) * rng.standard_t(rng.choice([1.0, 2.0]), n))
        grid = np.sort(np.concatenate([np.arange(-8.0, 100.0, 0.02) + reward for reward in rewards]))
        losses = tabulated(law, rewards, grid)
        x = minimiser(rho, score, mode, rewards, n, 1.0, float(rng.choice(rewards)))
        assert total(rho, rewards, n, 1.0, x) <= losses.min() + 0.05
        upper = grid[losses <= losses.min() + level].max()
        assert upper_end(rho, score, mode, rewards, n, 1.0, x, level) == pytest.approx(upper, abs=0.1)
