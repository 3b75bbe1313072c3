"""The policies: the fact sheet's numbers, slow references, invariances, bad input, and the check that all must pass."""

import math
import random
import re
import statistics
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import heavybandits as hb
from heavybandits.choice import SCAN
from heavybandits.numerics import LARGEST, clip, saturate
from heavybandits.policies.kl_ucb import bernoulli_bound, bernoulli_divergence
from heavybandits.protocols import FloatArray, IntArray
from heavybandits.state import with_room
from heavybandits.testing import EXAMPLES

WILD = [0.0, 0.0, 1.0, 1e300, -1e300, math.inf, -math.inf]
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def _silent() -> Any:
    """Interpreted code as silent as compiled code when numbers overflow."""
    with np.errstate(all="ignore"):
        yield


def play(policy: Any, table: FloatArray, seed: int = 0) -> IntArray:
    """Arms that the interpreted policy chooses; an arm's k-th pull pays the k-th number of its column."""
    horizon, n_arms = table.shape
    state, rng = policy.init(n_arms, horizon), np.random.default_rng(seed)
    arms, pulls = np.zeros(horizon, np.int64), np.zeros(n_arms, np.int64)
    for t in range(horizon):
        arm = arms[t] = policy.select(state, t, rng)
        policy.update(state, arm, table[pulls[arm], arm])
        pulls[arm] += 1
    return arms


def fed(policy: Any, columns: list[list[float]], horizon: int | None = None) -> Any:
    """State after these rewards of each arm."""
    state = policy.init(len(columns), horizon)
    for arm, rewards in enumerate(columns):
        for reward in rewards:
            state = with_room(state)
            policy.update(state, arm, reward)
    return state


def rewards_table(kind: str, seed: int, horizon: int, n_arms: int) -> FloatArray:
    """Streams that are hard in different ways; means rise with the arm, except where ties matter."""
    rng = np.random.default_rng(seed)
    shape = (horizon, n_arms)
    if kind == "normal":
        return np.linspace(0.0, 1.0, n_arms) + 0.3 * rng.standard_normal(shape)
    if kind == "coins":
        return (rng.random(shape) < np.linspace(0.3, 0.7, n_arms)).astype(float)
    if kind == "constant":
        return np.ones(shape)
    table = rng.standard_cauchy(shape)
    if kind == "wild":
        table = np.where(rng.random(shape) < 0.3, rng.choice(WILD, shape), table)
    return table


KINDS = ["normal", "coins", "constant", "cauchy", "wild"]


# The fact sheet's numbers.


def test_trace_of_sgd_ucb() -> None:
    """Section 1.9(a): indices before each pull, and the arm's iterate after it."""
    policy = hb.ClippedSGDUCB(m=0, n=1, coeff=1, clip=2, init_pulls=3, theta=0)
    state = policy.init(2, 100)
    rewards = [iter([1, 3, -7, 0, -4, 1e300, 2, 0, 0]), iter([0.5, 2, 0.9, 1, -1e300, 0.5])]
    for t, expected in enumerate([0, 0, 0, 1, 1, 1]):
        assert policy.select(state, t, None) == expected
        policy.update(state, expected, next(rewards[expected]))
    assert [policy.value(state, arm) for arm in range(2)] == [1.0, 0.9]
    trace = [
        (0, 1.772821555, 1.672821555, 0.934261366715),
        (1, 1.631740784, 1.705379858, 0.906573863329),
        (0, 1.655274810, 1.627587307, 0.802784100144),
        (1, 1.465690515, 1.647725767, 0.775096596758),
        (0, 1.481398143, 1.453710639, 0.934261366715),
        (0, 1.566439516, 1.467613062, 1.004321567906),
        (0, 1.600129141, 1.480065624, 0.938298840653),
        (0, 1.504530833, 1.491329709, 0.876616357256),
    ]
    for t, (arm, first, second, x) in enumerate(trace, 6):
        assert policy.index_of(state, 0, t) == pytest.approx(first, abs=6e-10)
        assert policy.index_of(state, 1, t) == pytest.approx(second, abs=6e-10)
        assert policy.select(state, t, None) == arm
        policy.update(state, arm, next(rewards[arm]))
        assert policy.value(state, arm) == pytest.approx(x, abs=6e-13)
    assert state.pulls.tolist() == [9, 5]


@pytest.mark.parametrize("reward", [1e300, math.inf])
def test_a_huge_reward_moves_sgd_ucb_by_step_times_clip(reward: float) -> None:
    policy = hb.ClippedSGDUCB(m=0, n=1, clip=2, init_pulls=1, theta=0)
    assert policy.value(fed(policy, [[1.0, reward]], 100), 0) == pytest.approx(1.131477266570, abs=1e-11)
    assert policy.value(fed(policy, [[1.0, -reward]], 100), 0) == pytest.approx(0.868522733430, abs=1e-11)


def test_ucb_indices() -> None:
    columns = [[0.5] * 10, [0.4] * 20, [0.9] * 3]
    for c, expected in [(1.0, (1.336242496, 0.991312740, 2.426762929)), (0.1, (0.583624250, 0.459131274, 1.052676293))]:
        policy = hb.UCB(c=c)
        state = fed(policy, columns)
        assert [policy.index_of(state, arm, 33) for arm in range(3)] == pytest.approx(expected, abs=1e-9)
        assert policy.select(state, 33, None) == 2


@pytest.mark.parametrize(
    ("c", "expected"), [(0, (0.887908761646, 0.369042655520)), (3, (0.958464787587, 0.600950937639))]
)
def test_kl_ucb_indices(c: float, expected: tuple[float, float]) -> None:
    policy = hb.KLUCB(c=c)
    state = fed(policy, [[0.0, 1.0] * 5, [0.0] * 10, [1.0] * 10])
    assert [policy.index_of(state, arm, 100) for arm in range(3)] == pytest.approx((*expected, 1.0), abs=1e-12)
    assert policy.index_of(state, 0, 2) == bernoulli_bound(0.5, math.log(2) / 10)  # ln ln 2 is negative, and left out
    moved = hb.KLUCB(low=-3, high=5, c=c)
    state = fed(moved, [[-3.0, 5.0] * 5, [-math.inf] * 10])
    back = [(moved.index_of(state, arm, 100) + 3) / 8 for arm in range(2)]
    assert back == pytest.approx(expected, abs=1e-12)


def test_kl_indices_of_location_families() -> None:
    """For normal noise the KL index is UCB's; the Cauchy radius inverts the Cauchy divergence."""
    policy = hb.UCB(c=1)
    assert policy.index_of(fed(policy, [[0.5] * 10]), 0, 100) == pytest.approx(1.459705182438, abs=1e-12)
    for n, radius in [(10, 1.529566203158), (100, 0.434182210833)]:
        assert n * hb.Cauchy().kl_shift(radius) == pytest.approx(math.log(100), rel=1e-9)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.one_of(st.floats(0, 1), st.floats(0, 1e-6)), st.floats(-18, 3), st.booleans())
def test_bernoulli_bound_solves_its_equation(p: float, exponent: float, mirrored: bool) -> None:
    """Against bisection on the divergence written with log1p, which is exact to the last digits."""
    p = 1.0 - p if mirrored else p
    budget = 10.0**exponent
    bound = bernoulli_bound(p, budget)
    assert p <= bound <= 1.0
    if 1e-300 < p < 1.0:
        low, high = 0.0, 1.0 - p
        for _ in range(200):
            x = 0.5 * (low + high)
            below = x < 1.0 - p and -p * math.log1p(x / p) - (1.0 - p) * math.log1p(-x / (1.0 - p)) <= budget
            low, high = (x, high) if below else (low, x)
        assert bound == pytest.approx(p + low, abs=3e-16)
    if p > 1e-3 and bound < 1 - 1e-3 and exponent > -6:
        assert bernoulli_divergence(p, bound) == pytest.approx(budget, rel=1e-6)


def test_thompson_posterior() -> None:
    policy = hb.ThompsonGaussian(scale=1, prior_mean=0, prior_scale=2)
    state = fed(policy, [[1.0, 2.0, 6.0]])
    assert policy.value(state, 0) == pytest.approx(2.769230769, abs=1e-9)
    assert policy.scale**2 / state.weight[0] == pytest.approx(0.307692308, abs=1e-9)


def test_thompson_chooses_as_often_as_an_arm_is_best_under_the_posterior() -> None:
    policy = hb.ThompsonGaussian(scale=2.0)
    state, rng = fed(policy, [[1.0] * 4, [0.5] * 9]), np.random.default_rng(0)
    chosen = np.mean([policy.select(state, 13, rng) for _ in range(4000)])
    expected = stats.norm.cdf((0.5 - 1.0) / math.hypot(2 / math.sqrt(4), 2 / math.sqrt(9)))
    assert chosen == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 4000))


# Slow references.


def best_arm(indices: list[float], chosen: int) -> int:
    """Lowest arm with the highest index; many arms play a tournament, where rounding decides between near equals."""
    highest = max(indices)
    if len(indices) > SCAN and indices[chosen] >= highest - 1e-15 * abs(highest):
        return chosen
    return indices.index(highest)


def reference_ucb(c: float, table: FloatArray, chosen: IntArray) -> list[int]:
    horizon, n_arms = table.shape
    arms: list[int] = []
    means, pulls = [0.0] * n_arms, [0] * n_arms
    for t in range(horizon):
        if 0 in pulls:
            arm = pulls.index(0)
        else:
            level = math.sqrt(2 * math.log(t))
            arm = best_arm([means[i] + level * (c / math.sqrt(pulls[i])) for i in range(n_arms)], chosen[t])
        reward = saturate(float(table[pulls[arm], arm]))
        pulls[arm] += 1
        means[arm] = saturate(means[arm] * (1 - 1 / pulls[arm]) + reward / pulls[arm])
        arms.append(arm)
    return arms


def reference_kl_ucb(policy: hb.KLUCB, table: FloatArray) -> list[int]:
    horizon, n_arms = table.shape
    arms: list[int] = []
    means, pulls = [0.0] * n_arms, [0] * n_arms
    for t in range(horizon):
        if 0 in pulls:
            arm = pulls.index(0)
        else:
            threshold = math.log(t) + (policy.c * math.log(math.log(t)) if t >= 3 else 0.0)
            arm = int(np.argmax([bernoulli_bound(means[i], threshold / pulls[i]) for i in range(n_arms)]))
        reward = min(max(float(table[pulls[arm], arm]), policy.low), policy.high)
        pulls[arm] += 1
        scaled = (reward - policy.low) / (policy.high - policy.low)
        means[arm] = min(max(means[arm] * (1 - 1 / pulls[arm]) + scaled / pulls[arm], 0.0), 1.0)
        arms.append(arm)
    return arms


def reference_sgd_ucb(policy: hb.ClippedSGDUCB, table: FloatArray, chosen: IntArray) -> list[int]:
    """Section 1.5, line by line."""
    horizon, n_arms = table.shape
    size = (2 * policy.m + 1) * policy.n
    step = 1 / math.log(4 * (horizon + 1) * horizon**2)
    arms: list[int] = []
    x, pulls = [policy.clip] * n_arms, [0] * n_arms

    def pull(arm: int, times: int) -> list[float]:
        times = min(times, horizon - len(arms))
        rewards = [saturate(float(table[pulls[arm] + i, arm])) for i in range(times)]
        pulls[arm] += times
        arms.extend([arm] * times)
        return rewards

    def descend(arm: int) -> None:
        rewards = pull(arm, size)
        if len(rewards) == size:
            blocks = [rewards[j * policy.n : (j + 1) * policy.n] for j in range(2 * policy.m + 1)]
            gradients = [x[arm] - math.fsum(reward / policy.n for reward in block) for block in blocks]
            x[arm] -= step * clip(statistics.median(gradients), policy.clip)

    for arm in range(n_arms):
        if policy.init_pulls == 0:
            descend(arm)
        else:
            rewards = pull(arm, policy.init_pulls)
            x[arm] = statistics.median(rewards) if rewards else x[arm]
    while len(arms) < horizon:
        level = math.sqrt(math.log(len(arms)))
        indices = [x[i] + level * (policy.coeff / math.sqrt(pulls[i])) for i in range(n_arms)]
        descend(best_arm(indices, chosen[len(arms)]))
    return arms


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 300), (5, 400), (90, 500)])
def test_ucb_plays_as_its_reference(kind: str, n_arms: int, horizon: int) -> None:
    for seed in range(3):
        table = rewards_table(kind, seed, horizon, n_arms)
        for c in (0.0, 0.5):
            arms = play(hb.UCB(c=c), table)
            assert arms.tolist() == reference_ucb(c, table, arms)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 300), (5, 400), (30, 400)])
def test_kl_ucb_plays_as_its_reference(kind: str, n_arms: int, horizon: int) -> None:
    for seed in range(3):
        table = rewards_table(kind, seed, horizon, n_arms)
        for policy in (hb.KLUCB(), hb.KLUCB(low=-1, high=2, c=3)):
            assert play(policy, table).tolist() == reference_kl_ucb(policy, table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init_pulls", [0, 1, 3])
@pytest.mark.parametrize(("m", "n"), [(0, 1), (0, 2), (1, 1), (1, 2)])
def test_clipped_sgd_ucb_plays_as_its_reference(m: int, n: int, init_pulls: int, kind: str) -> None:
    policy = hb.ClippedSGDUCB(m=m, n=n, coeff=0.3, clip=2, init_pulls=init_pulls, theta=0)
    for n_arms, horizon in ((1, 20), (4, 250), (4, 253), (80, 700)):  # a batch is cut in at least one of these
        table = rewards_table(kind, horizon, horizon, n_arms)
        arms = play(policy, table)
        assert arms.tolist() == reference_sgd_ucb(policy, table, arms)


def test_theory_schedule_is_fo_ucb_on_clipped_sgd() -> None:
    table = rewards_table("normal", 1, 200, 3)
    policy = hb.ClippedSGDUCB(m=1, n=1, clip=2, init_pulls=3, theta=0, schedule="theory")
    assert np.array_equal(play(policy, table), play(hb.FOUCB(hb.ClippedSGD(m=1, clip=2, init_pulls=3)), table))


# Invariances: the table of section 0.


@settings(max_examples=25, deadline=None, derandomize=True)
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


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seeds, st.integers(-30, 30), st.sampled_from(["cauchy", "coins", "constant"]))
def test_scaling_by_a_power_of_two_is_exact(seed: int, power: int, kind: str) -> None:
    """Parameters scaled too: the same arms, whatever ties there are, and estimates scaled to the last bit."""
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
        assert [a * policy.value(one, arm) for arm in range(4)] == [scaled.value(two, arm) for arm in range(4)]


@settings(max_examples=25, deadline=None, derandomize=True)
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


# Corners.


def test_equal_arms_share_the_pulls() -> None:
    table = rewards_table("constant", 0, 100, 4)
    for policy in (hb.UCB(), hb.KLUCB(low=0, high=2)):
        assert np.ptp(np.bincount(play(policy, table))) <= 1
    assert set(play(hb.UCB(c=0), table)[4:]) == {0}  # ties go to the lowest arm


@pytest.mark.parametrize("name", ["sgd-ucb", "sgd-ucb-median", "sgd-ucb-smom"])
def test_a_horizon_shorter_than_the_initial_pulls_is_used_up_by_them(name: str) -> None:
    assert play(hb.make(name), np.ones((5, 4))).tolist() == [0, 0, 0, 1, 1]
    assert play(hb.make(name, init_pulls=0), np.ones((1, 4))).tolist() == [0]


def test_arms_whose_first_rewards_are_on_their_way() -> None:
    """No reward has come: all arms are asked for once, then the choice is among what nothing is known of."""
    policies: list[Any] = [hb.UCB(), hb.KLUCB(), hb.ThompsonGaussian()]
    for policy in policies:
        state, rng = policy.init(3, None), np.random.default_rng(0)
        assert [policy.select(state, 0, rng) for _ in range(3)] == [0, 1, 2]
        policy.update(state, 1, 1e9)
        later = [int(policy.select(state, 1, rng)) for _ in range(200)]
        assert set(later) == ({0, 1, 2} if isinstance(policy, hb.ThompsonGaussian) else {0})


def test_extreme_scales_do_not_break_thompson_sampling() -> None:
    for scale, prior in [(1e-200, math.inf), (1e200, math.inf), (1e-200, 1e200), (1e200, 1e-200)]:
        policy = hb.ThompsonGaussian(scale=scale, prior_scale=prior)
        state = fed(policy, [[1.0, 3.0], [2.0]])
        assert all(math.isfinite(policy.value(state, arm)) for arm in range(2))
        assert policy.select(state, 3, np.random.default_rng(0)) in (0, 1)


# Bad input: one clear sentence.


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("sgd-ubc", {}, "unknown policy 'sgd-ubc'; did you mean 'sgd-ucb'? Known: "),
        ("qqq", {}, "unknown policy 'qqq'; Known: "),
        ("sgd-ucb", {"coef": 1}, "sgd-ucb: unknown parameter 'coef'; did you mean 'coeff'? Known: coeff, clip, "),
        ("sgd-ucb", {"m": 1}, "sgd-ucb: unknown parameter 'm'; "),
        ("rucb-median", {}, "rucb-median: needs eps and v, which have no default"),
        ("fo-ucb", {}, "fo-ucb: needs optimizer, which has no default"),
        ("ucb", {"c": -1}, "UCB: c must be a non-negative finite number, got -1"),
        ("ucb", {"c": math.inf}, "UCB: c must be a non-negative finite number, got inf"),
        ("kl-ucb", {"low": math.nan}, "KLUCB: low must be a finite number, got nan"),
        ("thompson-gaussian", {"scale": 0}, "ThompsonGaussian: scale must be a positive finite number, got 0"),
        ("thompson-gaussian", {"prior_scale": -1}, "ThompsonGaussian: prior_scale must be a positive "),
        ("clipped-sgd-ucb", {"m": -1, "n": 1}, "ClippedSGDUCB: m must be a non-negative whole number, got -1"),
        ("clipped-sgd-ucb", {"m": 0, "n": 0}, "ClippedSGDUCB: n must be a positive whole number, got 0"),
        ("sgd-ucb", {"clip": 0}, "ClippedSGDUCB: clip must be a positive finite number, got 0"),
        ("sgd-ucb", {"init_pulls": 2}, "ClippedSGDUCB: init_pulls must be zero or a positive odd number, got 2"),
        ("sgd-ucb", {"schedule": "quick"}, "ClippedSGDUCB: schedule must be one of 'practical', 'theory', got 'quick'"),
    ],
)
def test_bad_values_are_named(kind: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        hb.make(kind, **parameters)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (3, {}, "make: kind must be the name of a policy, got 3"),
        ("ucb", {"c": "one"}, "UCB: c must be a non-negative finite number, got 'one'"),
        ("ucb", {"c": True}, "UCB: c must be a non-negative finite number, got True"),
        ("ucb", {"c": None}, "UCB: c must be a non-negative finite number, got None"),
        ("clipped-sgd-ucb", {"m": 1.0, "n": 1}, "ClippedSGDUCB: m must be a non-negative whole number, got 1.0"),
        ("sgd-ucb", {"init_pulls": "3"}, "ClippedSGDUCB: init_pulls must be zero or a positive odd number, got '3'"),
    ],
)
def test_wrong_types_are_named(kind: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=r"\A[^\n]+\Z") as caught:
        hb.make(kind, **parameters)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("policy", "horizon", "message"),
    [
        (hb.ClippedSGDUCB(0, 1), None, "clipped-sgd-ucb: .*horizon must be given"),
        (hb.FOUCB(hb.ClippedSGD()), None, "fo-ucb: .*horizon must be given"),
        (hb.ZOUCB(hb.TwoPoint()), None, "zo-ucb: .*horizon must be given"),
    ],
)
def test_a_policy_that_cannot_start_says_why(policy: Any, horizon: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        policy.init(2, horizon)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (-1e308, 1e308)])
def test_an_empty_range_of_rewards_is_refused(low: float, high: float) -> None:
    message = f"KLUCB: high must be above low by a finite amount, got low={float(low)}, high={float(high)}"
    with pytest.raises(ValueError, match=re.escape(message)):
        hb.KLUCB(low=low, high=high)


@pytest.mark.parametrize(
    ("template", "word"), [(hb.FOUCB, "optimizer"), (hb.ZOUCB, "optimizer"), (hb.RobustUCB, "estimator")]
)
@pytest.mark.parametrize("part", [3, "clipped-sgd", hb.UCB(), hb.ClippedSGD])
def test_a_template_refuses_what_is_no_estimator(template: Any, word: str, part: Any) -> None:
    with pytest.raises(
        TypeError, match=f"{template.__name__}: {word} must be an estimator with the methods init, observe"
    ):
        template(part)


# What all policies must pass.


@pytest.mark.parametrize("name", hb.policies())
def test_every_registered_policy_keeps_to_the_protocol(name: str) -> None:
    assert name in EXAMPLES, f"give an example of the parameters of {name} in testing.py"
    hb.check_policy(hb.make(name, **EXAMPLES[name]))


class Means(NamedTuple):
    """Pulls and means."""

    pulls: IntArray
    mean: FloatArray


class SampleMean(NamedTuple):
    """A user's own estimator: the mean, with Hoeffding's bound for sub-Gaussian noise."""

    sigma: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Means:
        return Means(np.zeros(n_arms, np.int64), np.zeros(n_arms))

    def observe(self, state: Means, arm: int, reward: float) -> None:
        state.pulls[arm] += 1
        n = state.pulls[arm]
        state.mean[arm] = state.mean[arm] * (1.0 - 1.0 / n) + min(max(reward, -1e300), 1e300) / n

    def value(self, state: Means, arm: int) -> float:
        return float(state.mean[arm])

    def bound(self, state: Means, arm: int, delta: float) -> float:
        n = state.pulls[arm]
        return self.sigma * self.sigma * math.log(2.0 / delta) / n if n > 0 else math.inf


def test_a_users_own_estimator_becomes_a_policy() -> None:
    policy = hb.FOUCB(SampleMean(0.3))
    hb.check_policy(policy)
    horizon = 2000
    state = fed(policy, [[1.0, 2.0], [0.5]], horizon)
    radius = 0.3 * math.sqrt(2 * math.log(2 * horizon**2))
    assert policy.index_of(state, 0, 3) == pytest.approx(1.5 + radius / math.sqrt(2), rel=1e-12)
    assert policy.index_of(state, 1, 3) == pytest.approx(0.5 + radius, rel=1e-12)
    chosen = np.bincount(play(policy, rewards_table("normal", 0, horizon, 3)), minlength=3)
    assert chosen[2] > 0.9 * horizon  # the best arm
    assert all(chosen > radius**2)  # and no arm is given up before its radius is below the largest gap


# The check itself: each way to break the protocol is caught.


class Sound(NamedTuple):
    """Follow the leader, which keeps to the protocol."""

    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.full(n_arms, self.start))

    def select(self, state: Any, t: int, rng: Any) -> int:
        best = 0
        for arm in range(len(state.mean)):
            if state.mean[arm] > state.mean[best]:
                best = arm
        return best

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1
        state.mean[arm] += (min(max(reward, -1e6), 1e6) - state.mean[arm]) / state.pulls[arm]


def test_a_sound_policy_passes() -> None:
    hb.check_policy(Sound())


class NoNamedTuple:
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)


class NoParameters(NamedTuple):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)


class ChangesItsParameters(NamedTuple):
    weights: list[float]

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        self.weights[0] += reward


class NoUpdate(NamedTuple):
    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0


class SelectsTooHigh(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return len(state.mean)


class SelectsNegative(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return -1


class SelectsFloat(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0.0  # type: ignore[return-value]


class SelectsNothing(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return None  # type: ignore[return-value]


SHARED = {n_arms: np.zeros(n_arms) for n_arms in range(1, 100)}


class SharesItsState(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), SHARED[n_arms])


class StartsAtRandom(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.random.default_rng().random(n_arms))


class NumberInState(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(0, np.zeros(n_arms))  # type: ignore[arg-type]


class ObjectsInState(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, object), np.zeros(n_arms))


class TypeDependsOnArms(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64 if n_arms < 4 else np.int32), np.zeros(n_arms))


class OddShape(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.zeros(n_arms + 1))


class SilentAboutHorizon(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        if horizon is None:
            raise ValueError("something is missing")
        return super().init(n_arms, horizon)


class NeedsALongHorizon(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.full(n_arms, 1 / math.log(horizon or 2)))


class DrawsFromNumPy(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(np.random.randint(len(state.mean)))  # noqa: NPY002


class DrawsFromPython(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        random.random()


class DrawsItsOwn(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(np.random.default_rng().integers(len(state.mean)))


CALLS: list[int] = []


class RemembersElsewhere(Sound):
    def select(self, state: Any, t: int, rng: Any) -> int:
        CALLS.append(t)
        return len(CALLS) // 7 % len(state.mean)


class MeanOfInfinities(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1
        state.mean[arm] += (reward - state.mean[arm]) / state.pulls[arm]

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(t % len(state.mean))


class ValueIsNaN(Sound):
    def value(self, state: Any, arm: int) -> float:
        return math.nan if state.pulls[arm] and abs(state.mean[arm]) > 1e4 else float(state.mean[arm])


class IndexIsNaN(Sound):
    def index_of(self, state: Any, arm: int, t: int) -> float:
        return math.nan if state.pulls[arm] and abs(state.mean[arm]) > 1e4 else float(state.mean[arm])


class KeepsRewardsUpToTheHorizon(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(n_arms, np.int64), np.zeros((n_arms, 1000 if horizon is None else horizon)))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.mean[arm, state.pulls[arm]] = reward
        state.pulls[arm] += 1


class Follower(NamedTuple):
    """Also where it is."""

    mean: FloatArray
    at: IntArray


class StaysWhereItWas(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Follower(np.zeros(n_arms), np.array([n_arms - 1]))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(state.at[0])

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.mean[arm] = min(max(reward, -1e6), 1e6)


class Doors(NamedTuple):
    """Says that it can choose among some arms."""

    pulls: IntArray
    mean: FloatArray
    open: Any


class IgnoresClosedArms(Sound):
    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Doors(np.zeros(n_arms, np.int64), np.zeros(n_arms), np.ones(n_arms, np.bool_))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0


class NeverAskedUpdatesFail(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        if state.pulls.sum() == 0 and arm != 0:
            raise KeyError(arm)
        state.pulls[arm] += 1
        state.mean[arm] = 0.0


class CannotBeCompiled(NamedTuple):
    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Sound().init(n_arms, horizon)

    def select(self, state: Any, t: int, rng: Any) -> int:
        return int(sorted(state.pulls.tolist())[0] % len(state.pulls))

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[arm] += 1


class AddsInAnotherOrder(NamedTuple):
    start: float = 1.0

    def init(self, n_arms: int, horizon: int | None) -> Any:
        return Means(np.zeros(1, np.int64), np.zeros(64))

    def select(self, state: Any, t: int, rng: Any) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.pulls[0] += 1
        state.mean[state.pulls[0] % 63] = min(max(reward, -10.0), 10.0)
        state.mean[63] = np.sum(state.mean[:63])


BROKEN: list[tuple[Any, str]] = [
    (NoNamedTuple(), "must be a NamedTuple of parameters"),
    (NoParameters(), "must have at least one parameter"),
    (ChangesItsParameters([1.0]), "must have parameters that cannot change"),
    (NoUpdate(), "must have a method update"),
    (SelectsTooHigh(), "select must return an arm, a whole number from 0 to 0, got 1"),
    (SelectsNegative(), "select must return an arm, a whole number from 0 to 0, got -1"),
    (SelectsFloat(), r"select must return an arm, a whole number from 0 to 0, got 0\.0"),
    (SelectsNothing(), "select must return an arm, a whole number from 0 to 0, got None"),
    (SharesItsState(), "init must make a fresh state.mean each time"),
    (StartsAtRandom(), "init must make the same state.mean each time"),
    (NumberInState(), "state.pulls must be an array"),
    (ObjectsInState(), "state.pulls must hold numbers or truth values, not object"),
    (TypeDependsOnArms(), "the type of state.pulls must not depend on the number of arms"),
    (OddShape(), "state.mean must have a row per arm, or always the same shape"),
    (SilentAboutHorizon(), "init without a horizon must work, or raise a ValueError that names it"),
    (NeedsALongHorizon(), "must not raise ZeroDivisionError"),
    (DrawsFromNumPy(), "must choose the same arms when it is given the same rewards and seed"),
    (DrawsFromPython(), "must draw random numbers from rng, not from a global generator"),
    (DrawsItsOwn(), "must choose the same arms when it is given the same rewards and seed"),
    (RemembersElsewhere(), "must choose the same arms when it is given the same rewards and seed"),
    (MeanOfInfinities(), "state.mean must not be NaN after infinite rewards"),
    (ValueIsNaN(), "value must not be NaN after infinite rewards"),
    (IndexIsNaN(), "index_of must not be NaN after infinite rewards"),
    (KeepsRewardsUpToTheHorizon(), "must not raise IndexError"),
    (StaysWhereItWas(), "select must return an arm, a whole number from 0 to 2, got 3"),
    (IgnoresClosedArms(), "select must keep to the open arms 1 and 2, got 0"),
    (NeverAskedUpdatesFail(), "must not raise KeyError"),
    (CannotBeCompiled(), "must compile"),
    (AddsInAnotherOrder(), r"state\.mean must come out the same compiled as interpreted"),
]


@pytest.mark.parametrize(("policy", "message"), BROKEN, ids=[type(policy).__name__ for policy, _ in BROKEN])
def test_each_broken_policy_is_caught(policy: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{type(policy).__name__}.*({message})"):
        hb.check_policy(policy, horizon=60)


def test_large_rewards_saturate() -> None:
    """Twice infinity is still a number, so that a mean can come back from it."""
    policy = hb.UCB()
    assert policy.value(fed(policy, [[math.inf, math.inf]]), 0) == LARGEST
    assert policy.value(fed(policy, [[math.inf, -math.inf]]), 0) == 0.0
