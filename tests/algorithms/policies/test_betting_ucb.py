"""Betting UCB: the bound against a slow reference, coverage, which rewards the scale depends on, and symmetry."""

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playing import fed, play

import heavybandits as hb
from heavybandits.algorithms.parts.state.tree import carried
from heavybandits.algorithms.policies.betting_ucb import BETS, Scales, learn_scale, scale_of, upper_bound
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")
BENCHMARK = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "betting.py"))


def reference_wealth(pairs: list[tuple[float, float]], theta: float) -> float:
    """Return the wealth by the formula."""
    total = 0.0
    for bet in BETS:
        z = [(reward - theta) / scale for reward, scale in pairs]
        total += math.prod(1 - bet * x / math.sqrt(1 + x * x) for x in z)
    return total / len(BETS)


def bets_of(state: Any, arm: int) -> list[tuple[float, float]]:
    start, size = state.rewards.start[arm], state.rewards.size[arm]
    return [tuple(pair) for pair in state.rewards.records[start : start + 2 * size].reshape(-1, 2).tolist()]


@pytest.mark.parametrize("n", [25, 70])
@pytest.mark.parametrize("level", [3.0, 9.0])
def test_the_bound_is_where_the_wealth_reaches_its_level(n: int, level: float) -> None:
    policy = hb.BettingUCB()
    state = fed(policy, [(5.0 + np.random.default_rng(n).standard_cauchy(n)).tolist()])
    pairs = bets_of(state, 0)
    for begin in (5.0, -300.0, 1e6):
        bound = upper_bound(state.rewards, state.scratch, 0, level, begin, 1.0)
        assert math.log(reference_wealth(pairs, bound)) >= level - 1e-9
        assert math.log(reference_wealth(pairs, bound - 0.03 / math.sqrt(n))) < level


def test_few_rewards_bound_nothing() -> None:
    state = fed(hb.BettingUCB(), [[0.0, 1.0, 2.0, 1.0, 0.5]])
    assert upper_bound(state.rewards, state.scratch, 0, 5.0, 0.0, 1.0) == math.inf


def test_scales_depend_on_earlier_rewards_only() -> None:
    """A different last reward leaves all scales as they were; otherwise the proof would fail."""
    rewards = np.random.default_rng(3).standard_cauchy(40).tolist()
    one, two = (fed(hb.BettingUCB(), [[*rewards, last], rewards]) for last in (0.0, 1e9))
    assert [scale for _, scale in bets_of(one, 0)] == [scale for _, scale in bets_of(two, 0)]
    assert bets_of(one, 1)[0] != bets_of(two, 1)[0]  # the other arm starts with a scale that both share


@pytest.mark.parametrize(("law", "size"), [("normal", 0.67449), ("cauchy", math.sqrt(2.0))])
def test_the_scale_is_the_median_distance_of_successive_rewards(law: str, size: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal(20_000) if law == "normal" else rng.standard_cauchy(20_000)
    ints = [np.zeros(1, np.int64), np.zeros(1, np.int64)]
    scales = Scales(np.zeros(1), np.zeros(1), ints[0], np.zeros(9), np.zeros(1), ints[1])
    assert scale_of(scales, np.zeros(1, np.int64), 0) == 0.0
    for i, reward in enumerate((1e6 + 50.0 * x).tolist()):
        learn_scale(scales, 0, reward, i + 1)
    assert scale_of(scales, np.array([20_000]), 0) / 50.0 == pytest.approx(size, rel=0.05)
    assert math.exp(scales.pooled[0]) / 50.0 == pytest.approx(size, rel=0.05)


@pytest.mark.slow
def test_shifts_and_powers_of_two_change_nothing() -> None:
    table = np.array([0.0, 1.0, 2.0]) + np.random.default_rng(1).standard_cauchy((400, 3))
    arms = play(hb.BettingUCB(), table)
    assert arms.tolist() == play(hb.BettingUCB(), 3.7 * table + 11.0).tolist()
    assert np.bincount(arms, minlength=3)[2] > 200


def test_an_old_index_is_brought_up_to_date_when_arms_or_time_have_grown() -> None:
    policy = hb.BettingUCB()
    rng = np.random.default_rng(2)
    state = fed(policy, [rng.standard_normal(64).tolist(), (0.2 + rng.standard_normal(64)).tolist()], horizon=1000)
    policy.select(state, 128, None)
    before = state.bound.copy()
    for n in range(4):
        policy.update(state, 0, -50.0)
        policy.select(state, 128, None)
        assert (state.bound[0] == before[0]) == (n < 3)  # 4 of 64 is a sixteenth
    assert state.bound[1] == before[1]
    policy.select(state, 145, None)
    assert state.bound[1] > before[1]


@pytest.mark.parametrize("values", [(0.0, 1.0), (-3.0, 5.0, 4.0), (1e-300, 0.0), (-1.7e308, 1.7e308)])
def test_the_best_of_arms_that_always_pay_the_same_is_found(values: tuple[float, ...]) -> None:
    """Rewards that never differ within an arm tell no scale; those of other arms do."""
    arms = play(hb.BettingUCB(), np.tile(values, (1500, 1)))
    assert np.count_nonzero(arms != np.argmax(values)) < 0.2 * 1500


def test_arms_that_all_pay_the_same_take_turns() -> None:
    assert np.bincount(play(hb.BettingUCB(), np.ones((30, 3)))).tolist() == [10, 10, 10]


def test_an_arm_keeps_its_bound_when_those_that_told_its_scale_are_gone() -> None:
    policy = hb.BettingUCB()
    state = policy.init(2, None)
    for t in range(120):
        policy.update(state, t % 2, float(t % 2))
    after = carried(state, policy.init(2, None), policy.init(1, None), np.array([0]))
    for t in range(120, 300):
        assert policy.select(after, t, None) == 0
        policy.update(after, 0, 0.0)
    assert 0.0 < after.bound[0] < 3.0


def test_a_removed_arm_leaves_the_others_bounds() -> None:
    policy = hb.BettingUCB()
    state = fed(policy, [[0.0] * 3, np.random.default_rng(0).standard_normal(50).tolist()])
    policy.select(state, 53, None)
    after = carried(state, policy.init(2, None), policy.init(1, None), np.array([1]))
    assert after.bound[0] == state.bound[1] < math.inf
    assert bets_of(after, 0) == bets_of(state, 1)


@pytest.mark.slow
@pytest.mark.parametrize("law", BENCHMARK["LAWS"])
def test_the_bound_misses_no_more_often_than_it_may(law: str) -> None:
    """By Ville's inequality it ever misses with probability at most the level; three standard errors are allowed."""
    runs = 500
    for level, share in BENCHMARK["misses"](BENCHMARK["LAWS"][law], runs=runs, n=800, seed=7).items():
        assert share <= level + 3.0 * math.sqrt(level * (1.0 - level) / runs)


class Skewed:
    """Log-normal noise with mean 0 and a lower median."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        return np.exp(rng.standard_normal(size)) - math.exp(0.5)


@pytest.mark.slow
def test_the_bound_of_a_skewed_law_misses_its_mean() -> None:
    """This shows that the check above can fail."""
    assert BENCHMARK["misses"](Skewed(), runs=60, n=400)[0.05] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("rewards", [[math.inf, -math.inf], [1.7e308, -1.7e308], [5e-324, 0.0]])
def test_scales_beyond_the_floats_neither_overflow_nor_stop_the_search(rewards: list[float]) -> None:
    policy, rng = hb.BettingUCB(c=0.5), np.random.default_rng(0)
    drawn = rng.choice(rewards, 200).tolist()
    state, agent = policy.init(2, 1000), hb.Agent(policy, 2, horizon=1000)
    for t, reward in enumerate(drawn):
        arm = policy.select(state, t, None)
        assert 1e-300 <= scale_of(state.scales, state.pulls, arm) <= 1e300 or state.scales.seen[0] == 0
        assert arm == agent.select()
        policy.update(state, arm, reward)
        agent.update(arm, reward)
