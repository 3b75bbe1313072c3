"""What all policies have in common: edge cases, bad input, and the check that each must pass."""

import math
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from playing import (
    Means,
    fed,
    play,
    rewards_table,
)

import heavybandits as hb
from heavybandits.algorithms.estimators.clipped_sgd import ClippedSGD
from heavybandits.algorithms.estimators.two_point import TwoPoint
from heavybandits.algorithms.parts.choice.estimates import index_of, value_of
from heavybandits.algorithms.parts.choice.pending import ask, find_pending, settle
from heavybandits.algorithms.policies.fo_ucb import FOUCB
from heavybandits.algorithms.policies.robust_ucb import RobustUCB
from heavybandits.algorithms.policies.zo_ucb import ZOUCB
from heavybandits.algorithms.registry import examples
from heavybandits.numerics import LARGEST_FLOAT

pytestmark = pytest.mark.usefixtures("silent")


def test_equal_arms_share_the_pulls() -> None:
    table = rewards_table("constant", 0, 100, 4)
    for policy in (hb.UCB(), hb.UCB(c=0), hb.KLUCB(low=0, high=2)):  # ties go to the arm with fewer pulls
        assert np.ptp(np.bincount(play(policy, table))) <= 1


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


def test_large_rewards_saturate() -> None:
    """Twice infinity stays finite, so a mean can recover from it."""
    policy = hb.UCB()
    assert value_of(policy, fed(policy, [[math.inf, math.inf]]), 0) == LARGEST_FLOAT
    assert value_of(policy, fed(policy, [[math.inf, -math.inf]]), 0) == 0.0


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
