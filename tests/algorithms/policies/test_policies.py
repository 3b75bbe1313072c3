"""The policies: worked examples, edge cases, bad input, and the check that all must pass."""

import math
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import (
    Means,
    fed,
    play,
    rewards_table,
)
from scipy import stats

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.estimators.two_point import TwoPoint
from heavybandits.algorithms.parts.choice.estimates import index_of, value_of
from heavybandits.algorithms.parts.choice.pending import ask, find_pending, settle
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.policies.kl_ucb import bernoulli_bound
from heavybandits.algorithms.policies.robust_ucb import RobustUCB
from heavybandits.algorithms.policies.zo_ucb import ZOUCB
from heavybandits.algorithms.registry import examples
from heavybandits.numerics import LARGEST_FLOAT

pytestmark = pytest.mark.usefixtures("silent")

# Worked examples.


def test_trace_of_sgd_ucb() -> None:
    """Compare indices before each pull, and the arm's iterate after it."""
    policy = hb.ClippedSGDUCB(m=0, n=1, coeff=1, clip=2, init_pulls=3, theta=0)
    state = policy.init(2, 100)
    rewards = [iter([1, 3, -7, 0, -4, 1e300, 2, 0, 0]), iter([0.5, 2, 0.9, 1, -1e300, 0.5])]
    for t, expected in enumerate([0, 0, 0, 1, 1, 1]):
        assert policy.select(state, t, None) == expected
        policy.update(state, expected, next(rewards[expected]))
    assert [value_of(policy, state, arm) for arm in range(2)] == [1.0, 0.9]
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
        assert index_of(policy, state, 0, t) == pytest.approx(first, abs=6e-10)
        assert index_of(policy, state, 1, t) == pytest.approx(second, abs=6e-10)
        assert policy.select(state, t, None) == arm
        policy.update(state, arm, next(rewards[arm]))
        assert value_of(policy, state, arm) == pytest.approx(x, abs=6e-13)
    assert state.pulls.tolist() == [9, 5]


@pytest.mark.parametrize("reward", [1e300, math.inf])
def test_a_huge_reward_moves_sgd_ucb_by_step_times_clip(reward: float) -> None:
    policy = hb.ClippedSGDUCB(m=0, n=1, clip=2, init_pulls=1, theta=0)
    assert value_of(policy, fed(policy, [[1.0, reward]], 100), 0) == pytest.approx(1.131477266570, abs=1e-11)
    assert value_of(policy, fed(policy, [[1.0, -reward]], 100), 0) == pytest.approx(0.868522733430, abs=1e-11)


def test_ucb_indices() -> None:
    columns = [[0.5] * 10, [0.4] * 20, [0.9] * 3]
    for c, expected in [(1.0, (1.336242496, 0.991312740, 2.426762929)), (0.1, (0.583624250, 0.459131274, 1.052676293))]:
        policy = hb.UCB(c=c)
        state = fed(policy, columns)
        assert [index_of(policy, state, arm, 33) for arm in range(3)] == pytest.approx(expected, abs=1e-9)
        assert policy.select(state, 33, None) == 2


@pytest.mark.parametrize(
    ("c", "expected"), [(0, (0.887908761646, 0.369042655520)), (3, (0.958464787587, 0.600950937639))]
)
def test_kl_ucb_indices(c: float, expected: tuple[float, float]) -> None:
    policy = hb.KLUCB(c=c)
    state = fed(policy, [[0.0, 1.0] * 5, [0.0] * 10, [1.0] * 10])
    assert [index_of(policy, state, arm, 100) for arm in range(3)] == pytest.approx((*expected, 1.0), abs=1e-12)
    assert index_of(policy, state, 0, 2) == bernoulli_bound(0.5, math.log(2) / 10)  # ln ln 2 is negative: left out
    moved = hb.KLUCB(low=-3, high=5, c=c)
    state = fed(moved, [[-3.0, 5.0] * 5, [-math.inf] * 10])
    back = [(index_of(moved, state, arm, 100) + 3) / 8 for arm in range(2)]
    assert back == pytest.approx(expected, abs=1e-12)


def test_kl_indices_of_location_families() -> None:
    """For normal noise the KL index is UCB's; the Cauchy radius inverts the Cauchy divergence."""
    policy = hb.UCB(c=1)
    assert index_of(policy, fed(policy, [[0.5] * 10]), 0, 100) == pytest.approx(1.459705182438, abs=1e-12)
    for n, radius in [(10, 1.529566203158), (100, 0.434182210833)]:
        assert n * hb.Cauchy().kl_shift(radius) == pytest.approx(math.log(100), rel=1e-9)


@pytest.mark.slow
@settings(max_examples=300, derandomize=True)
@given(st.one_of(st.floats(0, 1), st.floats(0, 1e-6)), st.floats(-18, 3), st.booleans())
def test_bernoulli_bound_solves_its_equation(p: float, exponent: float, mirrored: bool) -> None:
    """It agrees with bisection on the divergence written with log1p, which is exact to the last digits."""
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
        divergence = p * math.log(p / bound) + (1.0 - p) * math.log((1.0 - p) / (1.0 - bound))
        assert divergence == pytest.approx(budget, rel=1e-6)


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


# Edge cases.


def test_equal_arms_share_the_pulls() -> None:
    table = rewards_table("constant", 0, 100, 4)
    for policy in (hb.UCB(), hb.UCB(c=0), hb.KLUCB(low=0, high=2)):  # ties go to the arm with fewer pulls
        assert np.ptp(np.bincount(play(policy, table))) <= 1


@pytest.mark.parametrize("name", ["sgd-ucb", "sgd-ucb-median", "sgd-ucb-smom"])
def test_a_horizon_shorter_than_the_initial_pulls_is_used_up_by_them(name: str) -> None:
    assert play(hb.make(name), np.ones((5, 4))).tolist() == [0, 0, 0, 1, 1]
    assert play(hb.make(name, init_pulls=0), np.ones((1, 4))).tolist() == [0]


def test_arms_whose_first_rewards_are_on_their_way() -> None:
    """Every arm is asked once; then the known arm is played, and waiting arms are asked four times as often."""
    policies: list[Any] = [hb.UCB(), hb.KLUCB(), hb.ThompsonGaussian()]
    for policy in policies:
        state, rng = policy.init(3, None), np.random.default_rng(0)
        pending, arms = find_pending(state), []
        for _ in range(60):
            arms.append(int(policy.select(state, 1, rng)))
            ask(pending, arms[-1])
            if len(arms) == 3:
                settle(pending, 1)
                policy.update(state, 1, 1e9)
        assert arms[:3] == [0, 1, 2]
        asked = np.bincount(arms)
        assert 4 * asked[1] - 4 <= asked[0] <= 4 * asked[1]
        assert 4 * asked[1] - 4 <= asked[2] <= 4 * asked[1]


def test_extreme_scales_do_not_break_thompson_sampling() -> None:
    for scale, prior in [(1e-200, math.inf), (1e200, math.inf), (1e-200, 1e200), (1e200, 1e-200)]:
        policy = hb.ThompsonGaussian(scale=scale, prior_scale=prior)
        state = fed(policy, [[1.0, 3.0], [2.0]])
        assert all(math.isfinite(policy.value(state, arm)) for arm in range(2))
        assert policy.select(state, 3, np.random.default_rng(0)) in (0, 1)


def test_large_rewards_saturate() -> None:
    """Twice infinity stays finite, so a mean can recover from it."""
    policy = hb.UCB()
    assert value_of(policy, fed(policy, [[math.inf, math.inf]]), 0) == LARGEST_FLOAT
    assert value_of(policy, fed(policy, [[math.inf, -math.inf]]), 0) == 0.0


# Bad input: one clear sentence.


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("sgd-ubc", {}, "unknown policy 'sgd-ubc'; did you mean 'sgd-ucb'? Known: "),
        ("qqq", {}, "unknown policy 'qqq'; known: "),
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
        (hb.ClippedSGDUCB(0, 1), None, "ClippedSGDUCB: .*horizon must be given"),
        (FOUCB(ClippedSGD()), None, "FOUCB: .*horizon must be given"),
        (ZOUCB(TwoPoint()), None, "ZOUCB: .*horizon must be given"),
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


@pytest.mark.parametrize(("template", "word"), [(FOUCB, "optimizer"), (ZOUCB, "optimizer"), (RobustUCB, "estimator")])
@pytest.mark.parametrize("part", [3, "clipped-sgd", hb.UCB(), ClippedSGD])
def test_a_template_refuses_what_is_no_estimator(template: Any, word: str, part: Any) -> None:
    with pytest.raises(
        TypeError, match=f"{template.__name__}: {word} must be an estimator with the methods init, observe"
    ):
        template(part)


# What all policies must pass.


@pytest.mark.slow
@pytest.mark.parametrize("name", hb.policies())
def test_every_registered_policy_keeps_to_the_protocol(name: str) -> None:
    hb.check_policy(hb.make(name, **examples()[name]))


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
    policy = FOUCB(SampleMean(0.3))
    hb.check_policy(policy)
    horizon = 2000
    state = fed(policy, [[1.0, 2.0], [0.5]], horizon)
    radius = 0.3 * math.sqrt(2 * math.log(2 * horizon**2))
    assert index_of(policy, state, 0, 3) == pytest.approx(1.5 + radius / math.sqrt(2), rel=1e-12)
    assert index_of(policy, state, 1, 3) == pytest.approx(0.5 + radius, rel=1e-12)
    chosen = np.bincount(play(policy, rewards_table("normal", 0, horizon, 3)), minlength=3)
    assert chosen[2] > 0.9 * horizon  # the best arm
    assert all(chosen > radius**2)  # and no arm is given up before its radius is below the largest gap
