"""The randomised policies: draws, late rewards, batches, huge rewards and parameters, and bad input."""

import math
import re
from typing import Any

import numpy as np
import pytest
from randomised import choose

import heavybandits as hb
from heavybandits.algorithms.parts.choice.ftrl import draw, init_draws, probability
from heavybandits.algorithms.parts.state.tree import carried
from heavybandits.algorithms.policies.htinf import HTINF
from heavybandits.algorithms.policies.inf_clip import INFClip
from heavybandits.algorithms.policies.median_inf import MedianINF
from heavybandits.algorithms.policies.uni_inf import UniINF

pytestmark = pytest.mark.usefixtures("silent")


class Fixed:
    """A generator of one number."""

    def __init__(self, u: float) -> None:
        self.u = u

    def random(self) -> float:
        return self.u


def test_draws_follow_the_cumulative_probabilities() -> None:
    draws = init_draws(5, 1.0)
    draws.chance[:] = 0.0, 0.25, 0.0, 0.75, 0.0
    for u, arm in [(0.0, 1), (0.249, 1), (0.25, 3), (1.0 - 2.0**-53, 3)]:
        assert draw(draws, Fixed(u)) == arm
    draws.chance[3] = 0.75 - 1e-15  # if rounding leaves the sum below one, the last arm must not be drawn
    assert draw(draws, Fixed(1.0 - 2.0**-53)) == 3
    draws.open[3] = False
    assert {draw(draws, Fixed(u)) for u in (0.0, 0.5, 0.99)} == {1}
    assert draws.awaited[1] == 1.0
    draws.open[1] = False  # the arms that are left have probability zero
    assert draw(draws, Fixed(0.5)) == 0
    assert draws.awaited[0] == 1.0


def test_open_arms_keep_their_proportions() -> None:
    policy = HTINF(eps=0.5, scale=1, offset=0)
    state = policy.init(4, None)
    state.draws.loss[:] = 0.0, 2.0, 1.0, 4.0
    chance = choose(policy, state, 3)
    state.draws.open[:] = False, True, True, False
    rng = np.random.default_rng(0)
    drawn = [policy.select(state, 3, rng) for _ in range(4000)]
    share = chance[1] / (chance[1] + chance[2])
    assert set(drawn) == {1, 2}
    assert drawn.count(1) / 4000 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 4000))
    assert state.draws.awaited.tolist() == pytest.approx([0.0, share, 1 - share, 0.0])


def test_a_late_reward_counts_by_the_probability_of_its_draw() -> None:
    policy = INFClip(eps=0.5, scale=10, offset=0)
    state, rng = policy.init(3, 100), np.random.default_rng(0)
    state.draws.loss[:] = 0.0, 30.0, 60.0
    arm = policy.select(state, 0, rng)
    drawn = state.draws.chance[arm]
    for other in {0, 1, 2} - {arm}:
        policy.update(state, other, 40.0)
    state.draws.open[arm] = False
    policy.select(state, 2, rng)  # another arm, with other probabilities
    now, before = state.draws.chance[arm], state.draws.loss[arm]
    assert abs(now - drawn) > 0.05
    policy.update(state, arm, -1.0)
    assert state.draws.loss[arm] - before == pytest.approx(1 / drawn)
    policy.update(state, arm, -1.0)  # unasked
    assert state.draws.loss[arm] - before == pytest.approx(1 / drawn + 1 / now)


def test_a_reward_for_an_arm_without_probability_is_a_number() -> None:
    draws = init_draws(2, 1.0)
    draws.chance[:] = 0.0, 1.0
    assert 0.0 < probability(draws, 0) <= 1e-300


def test_a_batch_ends_when_its_arm_closes() -> None:
    policy = MedianINF(m=2, scale=1, offset=0)
    state, rng = policy.init(2, 100), np.random.default_rng(0)
    arm = policy.select(state, 0, rng)
    assert [policy.select(state, 0, rng) for _ in range(2)] == [arm] * 2
    state.draws.open[arm] = False
    assert [policy.select(state, 0, rng) for _ in range(5)] == [1 - arm] * 5
    state.draws.open[arm] = True
    later = [policy.select(state, 0, rng) for _ in range(500)]
    assert all(len(set(later[i : i + 5])) == 1 for i in range(0, 500, 5))
    assert set(later) == {0, 1}


def test_a_batch_ends_when_its_arm_is_removed() -> None:
    policy = MedianINF(m=2, scale=1, offset=0)
    state, rng = policy.init(3, 100), np.random.default_rng(0)
    state.draws.loss[:2] = 1e9
    assert policy.select(state, 0, rng) == 2
    state = carried(state, policy.init(3, 100), policy.init(2, 100), np.array([0, 1]))
    drawn = [policy.select(state, 0, rng) for _ in range(500)]
    assert set(drawn) == {0, 1}
    assert all(len(set(drawn[i : i + 5])) == 1 for i in range(0, 500, 5))


@pytest.mark.parametrize("reward", [math.inf, -math.inf, 1e300, -1e300])
@pytest.mark.parametrize("policy", [HTINF(eps=0.5, scale=1, offset=1), UniINF(offset=1)])
def test_huge_rewards_are_skipped(policy: Any, reward: float) -> None:
    for n_arms in (1, 2):
        state = policy.init(n_arms, 100)
        choose(policy, state, 0)
        policy.update(state, 0, reward)
        assert state.draws.loss[0] == 0.0


@pytest.mark.parametrize("kind", ["exp3", "tsallis-inf"])
def test_an_empty_range_is_named(kind: str) -> None:
    message = "high must be above low by a finite amount, got low=2.0, high=2.0"
    with pytest.raises(ValueError, match=re.escape(message)):
        hb.make(kind, low=2, high=2)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("htinf", {"eps": 0, "scale": 1, "offset": 0}, "HTINF: eps must be a number in (0, 1], got 0"),
        ("htinf", {"eps": 1, "scale": 0, "offset": 0}, "HTINF: scale must be a positive finite number, got 0"),
        ("htinf", {"eps": 1, "scale": 1}, "htinf: needs offset, which has no default"),
        ("inf-clip", {"eps": 2, "scale": 1, "offset": 0}, "INFClip: eps must be a number in (0, 1], got 2"),
        ("median-inf", {"m": -1, "scale": 1, "offset": 0}, "MedianINF: m must be a non-negative whole number, got -1"),
        ("opt-tinf", {"offset": math.inf}, "HTINF: offset must be a finite number, got inf"),
        ("tsallis-inf", {"estimator": "best"}, "TsallisINF: estimator must be one of 'importance-weighted', 'reduced-"),
    ],
)
def test_bad_values_are_named(kind: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        hb.make(kind, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        HTINF(eps=1.0, scale=1e308, offset=0.0),
        HTINF(eps=1.0, scale=1e-310, offset=0.0),
        HTINF(eps=5e-324, scale=1.0, offset=0.0),
        INFClip(eps=1.0, scale=1e-310, offset=0.0),
        INFClip(eps=1e-200, scale=1e-300, offset=0.0),
        MedianINF(m=1, scale=1e-310, offset=0.0),
        UniINF(offset=0.0),
    ],
    ids=repr,
)
def test_no_parameter_and_no_reward_makes_nan(policy: Any) -> None:
    rng, state = np.random.default_rng(0), policy.init(3, 2)
    for t in range(300):
        arm = policy.select(state, t, rng)
        policy.update(state, arm, rng.choice([0.0, 1.0, -1e308, 1e308, math.inf, -math.inf]))
        assert math.fsum(state.draws.chance) == pytest.approx(1.0, abs=1e-3)
    for _ in range(16_100):
        policy.update(state, 0, -math.inf)
    policy.select(state, 300, rng)
    assert math.fsum(state.draws.chance) == pytest.approx(1.0, abs=1e-3)
