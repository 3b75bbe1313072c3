"""Which policy is advised, and by which goal."""

import math

import numpy as np
import pytest
from logged_rewards import noise_of

from heavybandits.diagnosis.advice import Advice, advise, measured_sgd_ucb, two_values
from heavybandits.diagnosis.goals import choose_goal
from heavybandits.diagnosis.shape import measure
from heavybandits.diagnosis.tails import Estimate
from heavybandits.protocols import FloatArray


def advised(goal: str, medians: list[float], noise: FloatArray) -> Advice:
    arms = [noise + median for median in medians]
    return advise(arms, goal, np.array(medians, float), measure(noise), noise)


@pytest.mark.parametrize(
    ("law", "goal", "medians", "expected"),
    [
        ("normal", "mean", [0, 1], "ucb"),
        ("normal", "location", [0, 1], "ucb"),
        ("cauchy", "location", [0, 9, 2], "sgd-ucb"),
        ("cauchy", "location", [0, 9, 8.5], "auto"),
        ("log-normal", "location", [0, 1], "auto"),
        ("log-normal", "mean", [0, 1], "auto-mean"),
        ("clicks", "mean", [0, 0], "thompson-beta"),
        ("orders", "mean", [0, 0], "auto-mean"),
    ],
)
def test_rules(law: str, goal: str, medians: list[float], expected: str) -> None:
    advice = advised(goal, medians, noise_of(law))
    assert advice.name == expected
    assert advice.policy().init(2, 100) is not None


@pytest.mark.parametrize(
    ("law", "goal"), [("normal", "mean"), ("cauchy", "location"), ("clicks", "mean"), ("orders", "mean")]
)
def test_the_goal_is_the_mean_where_it_exists(law: str, goal: str) -> None:
    noise = noise_of(law)
    found, why = choose_goal([noise, noise + 1], np.array([0.0, 1.0]), measure(noise))
    assert found == goal
    assert "mean" in why


def test_the_goal_where_tails_are_heavy() -> None:
    """Infinite rewards have no mean; a timeout ends a tail; and medians that tie are of no use."""
    noise = noise_of("cauchy")
    capped = np.clip(noise, -20, 20)
    arms, medians = [noise, noise + 1], np.array([0.0, 1.0])
    assert choose_goal([capped, capped], medians, measure(capped))[0] == "mean"
    assert choose_goal([np.minimum(noise, 20), noise], medians, measure(noise))[0] == "location"
    assert choose_goal(arms, np.array([0.0, 0.0]), measure(noise))[0] == "mean"
    assert choose_goal(arms, medians, measure(np.append(noise_of("normal"), math.inf)))[0] == "location"


def test_arms_of_different_spread_are_compared_by_means() -> None:
    noise = noise_of("normal")
    residuals = np.concatenate([noise, 2 * noise])
    for goal, expected in (("mean", "auto-mean"), ("location", "auto")):
        advice = advise([noise, 2 * noise + 1], goal, np.array([0.0, 1.0]), measure(residuals), residuals)
        assert advice.name in (expected, "ucb")
        assert goal == "location" or advice.name == expected


def test_measured_parameters_scale_with_the_rewards() -> None:
    noise = noise_of("cauchy")
    for factor in (1.0, 1000.0):
        advice = measured_sgd_ucb(factor * np.array([0.0, 3.0]), measure(factor * noise))
        assert advice.parameters["clip"] == pytest.approx(3 * factor)
        assert advice.parameters["coeff"] == pytest.approx(0.3 * factor, rel=0.05)
    assert advised("mean", [0, 0], 7 * noise_of("clicks") - 2).parameters == {"low": -2, "high": 5}


def test_infinite_rewards_are_never_averaged() -> None:
    noise = np.append(noise_of("normal"), [math.inf, -math.inf])
    assert advised("location", [0, 1], noise).name == "sgd-ucb"
    assert advised("location", [0, 0], noise).name == "auto"


def test_rare_spikes_are_not_light_tails() -> None:
    """The tail indices do not see two spikes in six thousand rewards."""
    spiked = np.append(noise_of("normal"), [50.0, -50.0])
    assert min(measure(spiked).upper.low, measure(spiked).lower.low) > 4
    assert advised("location", [0, 1], spiked).name == "auto"


def test_few_data_give_the_policy_that_need_not_know() -> None:
    assert advised("location", [0, 1], noise_of("normal", 30)).name == "auto"


def test_a_tail_is_light_if_it_is_called_so() -> None:
    """The interval of the upper tail index starts at 4.02, which is printed as 4."""
    noise = np.random.default_rng(324).normal(size=3000)
    shape = measure(noise)
    assert 4 < min(shape.upper.low, shape.lower.low) < 4.05
    assert advised("location", [0, 1], noise).name == "auto"
    light = shape._replace(upper=Estimate(5.2, 4.1, math.inf))
    assert advise([noise, noise + 1], "location", np.array([0.0, 1.0]), light, noise).name == "ucb"


def test_a_value_that_is_rare_does_not_make_a_coin() -> None:
    zeros = np.zeros(50)
    assert two_values([zeros, np.repeat([0.0, 37.5], (48, 2))]) is None
    assert two_values([zeros, np.repeat([0.0, 37.5], (47, 3))]) == (0.0, 37.5)
    assert two_values([zeros, np.append(zeros, [1.0, 2.0, 2.0, 2.0])]) is None
    orders = np.append(zeros, 37.5)
    assert advise([zeros, orders], "mean", np.zeros(2), measure(orders), orders).name == "auto-mean"
    assert "too few rewards differ" in choose_goal([zeros, orders], np.zeros(2), measure(orders))[1].lower()


def test_advice_reads_as_a_call() -> None:
    assert str(Advice("ucb", {"c": 0.5}, "")) == "ucb(c=0.5)"
    assert str(Advice("auto", {}, "")) == "auto"
