"""What arms have earned more than a control would have: what the number is, and how often its bounds are wrong."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from heavybandits.evidence.gain import LAMBDAS, Gain, gain_over
from heavybandits.evidence.ledger import Ledger
from heavybandits.evidence.measures import ClippedMean, measures
from heavybandits.evidence.tally import add, is_sized_up, new_tally
from heavybandits.protocols import FloatArray

Rule = Callable[[np.random.Generator, FloatArray, FloatArray], int]


def gain_of(rewards: dict[str, list[float]], control: str, minimise: bool = False) -> Gain | None:
    ledger = Ledger(list(rewards), "mean", minimise)
    longest = max(map(len, rewards.values()))
    for at in range(longest):
        for arm, values in rewards.items():
            if at < len(values):
                ledger.learn(arm, values[at])
    return ledger.gain(ledger.evidence(list(rewards), control), control)


@pytest.mark.parametrize("arms", [2, 3])
def test_it_is_what_arms_are_worth_times_how_often_they_were_played(arms: int) -> None:
    coins = {"a": [1.0, 0.0, 0.0, 0.0] * 200, "b": [1.0, 1.0, 1.0, 0.0] * 100, "c": [1.0, 0.0] * 50}
    found = gain_of({name: coins[name] for name in list(coins)[:arms]}, "a")
    assert found is not None
    left_out, much = 24, 0.5 * 400 + (0.25 * 100 if arms == 3 else 0.0)
    assert much - left_out < found.value < much + left_out
    assert 0.0 < found.low < found.value < found.high
    assert 400 - left_out <= found.n <= 500


def test_of_equal_arms_nothing_is_known_to_be_gained() -> None:
    found = gain_of({name: [1.0, 0.0, 0.0] * 300 for name in "abc"}, "b")
    assert found is not None
    assert found.low < 0.0 < found.high


def test_of_costs_it_is_what_was_saved() -> None:
    costs = {"a": [30.0, 10.0, 20.0] * 200, "b": [15.0, 5.0, 10.0] * 200}
    found = gain_of(costs, "a", minimise=True)
    assert found is not None
    assert 0.0 < found.low < 10.0 * 600 * 0.9 < found.high
    backwards = gain_of(costs, "b", minimise=True)
    assert backwards is not None
    assert backwards.high < 0.0


def test_there_is_none_without_rewards_of_the_control_or_of_medians() -> None:
    assert gain_of({"a": [], "b": [1.0, 0.0] * 100}, "a") is None
    ledger = Ledger(["a", "b"], "location")
    for value in np.random.default_rng(0).normal(size=200):
        ledger.learn("a", float(value))
        ledger.learn("b", float(value) + 1.0)
    assert ledger.gain(ledger.evidence(["a", "b"]), "a") is None


def test_arms_that_are_gone_count() -> None:
    ledger = Ledger(["a", "b", "gone"], "mean")
    for _ in range(300):
        for arm, share in {"a": 0.2, "b": 0.2, "gone": 0.9}.items():
            ledger.learn(arm, float(ledger.n % 10 < 10 * share))
    with_it = ledger.gain(ledger.evidence(["a", "b"]), "a")
    assert with_it is not None
    assert with_it.value > 100.0


def test_bounds_of_many_arms_are_those_of_the_formula() -> None:
    rng = np.random.default_rng(1)
    tally = new_tally(4, limits=(0.0, 1.0))
    arms, rewards = np.arange(2000) % 4, np.round(rng.random(2000) * 50) / 50  # points of the grid
    add(tally, arms, rewards)
    measure = measures(tally)[0]
    assert isinstance(measure, ClippedMean)
    found = gain_over(measure, 0, 0.05)
    assert found is not None
    others = rewards[arms != 0]
    squares, (low, high) = float(((others - 0.5) ** 2).sum()), measure.interval(0, 0.025)
    luck = found.high - others.sum() + len(others) * low
    assert luck == pytest.approx(others.sum() - len(others) * high - found.low)
    wealth = np.mean(np.exp(LAMBDAS * luck - (-np.log(1.0 - LAMBDAS) - LAMBDAS) * squares))
    assert wealth == pytest.approx(2.0 / 0.025, rel=1e-6)


def test_the_first_rewards_centre_the_squares() -> None:
    ledger = Ledger(["a", "b"], "mean")
    for value in ([0.0] * 9 + [2.0]) * 40:
        ledger.learn("a", value)
    measure = ledger.evidence(["a", "b"]).measure
    assert isinstance(measure, ClippedMean)
    assert measure.first_mean == pytest.approx(0.1, abs=0.01)


def evenly(rng: np.random.Generator, sums: FloatArray, counts: FloatArray) -> int:
    return int(rng.integers(len(sums)))


def greedy(rng: np.random.Generator, sums: FloatArray, counts: FloatArray) -> int:
    if rng.random() < 0.1:
        return int(rng.integers(len(sums)))
    return int(np.argmax(sums / np.maximum(counts, 1.0)))


def while_lucky(rng: np.random.Generator, sums: FloatArray, counts: FloatArray) -> int:
    """Play the others as long as they look better than the control, which is starved."""
    means = sums / np.maximum(counts, 1.0)
    best = 1 + int(np.argmax(means[1:]))
    return best if means[best] >= means[0] and rng.random() < 0.98 else int(rng.integers(len(sums)))


RARE_ORDERS = np.concatenate([np.zeros(190), np.exp(np.linspace(-2.5, 2.5, 9)), [400.0]])
VALUES = {"coins": np.array([0.0, 0.0, 0.0, 1.0]), "orders": RARE_ORDERS,
          "skewed": -np.log(np.linspace(0.002, 0.998, 250)), "signed": np.linspace(-3.0, 4.0, 50)}  # fmt: skip


def ever_wrong(rng: np.random.Generator, values: FloatArray, scales: FloatArray, rule: Rule, delta: float) -> bool:
    """Play an experiment whose arms draw from values times scales, and look all the time; coins are drawn by scale."""
    arms = [f"{number}" for number in range(len(scales))]
    ledger, sums, counts = Ledger(arms, "mean"), np.zeros(len(arms)), np.zeros(len(arms))
    for step in range(1500):
        arm = rule(rng, sums, counts)
        value = float(scales[arm] * rng.choice(values))
        ledger.learn(arms[arm], value)
        sums[arm] += value
        counts[arm] += 1
        if step % 50 == 49 and is_sized_up(ledger._tally):
            measure = ledger.evidence(arms, "0", delta, closest=1).measure
            assert isinstance(measure, ClippedMean)
            means = np.array([np.clip(scale * values, *measure.limits).mean() for scale in scales])
            truth = float(ledger._tally.rows.sum(axis=1) @ (means - means[0]))
            found = ledger.gain(ledger.evidence(arms, "0", delta, closest=1), "0", delta)
            slack = 1e-9 * (1.0 + abs(truth))
            if found is not None and not found.low - slack <= truth <= found.high + slack:
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("rule", [evenly, greedy, while_lucky])
@pytest.mark.parametrize("scales", [[1.0, 1.0], [1.0, 1.3], [1.0, 1.0, 1.0, 1.0], [1.0, 0.7, 1.4]])
def test_bounds_are_rarely_ever_wrong_however_often_one_looks(rule: Rule, scales: list[float]) -> None:
    rng, runs = np.random.default_rng(2), 5
    wrong = [ever_wrong(rng, values, np.array(scales), rule, 0.05) for values in VALUES.values() for _ in range(runs)]
    most = 0.05 * len(wrong) + 2.5 * math.sqrt(0.05 * 0.95 * len(wrong))
    assert sum(wrong) <= most
