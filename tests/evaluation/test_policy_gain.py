"""What a policy earns beyond its control: a slow reference, a batch evaluation, and how often it is wrong."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.evaluation.policy_gain import GAIN_BETS, LOG_WEIGHTS, GainRecord, PolicyGain
from heavybandits.evidence.bets import SAFE
from heavybandits.evidence.measures import SHARES

Rows = list[tuple[bool, float, float]]  # whether the control was chosen, p, the reward


def rows_of(rng: np.random.Generator, n: int, control: float, draw: Callable[[bool], float]) -> Rows:
    chosen = rng.random(n) < control
    return [(bool(c), control if c else 1.0 - control, float(draw(bool(c)))) for c in chosen]


def recorded(rows: Rows, floor: float) -> GainRecord:
    record = GainRecord(floor)
    for row in rows:
        record.learn(*row)
    return record


def reference(rows: Rows, floor: float, cap: float, level: float) -> tuple[float, float]:
    """Return the bounds of the difference, with rewards from 0 to a cap, by sums of logarithms over all rows."""
    most, ends = 1.0 / floor, []
    for side in (1.0, -1.0):
        logs = LOG_WEIGHTS.copy()
        total = of_control = n_control = 0.0
        for n, (is_control, p, reward) in enumerate(rows):
            u, weight = min(max(reward, 0.0), cap) / cap, 1.0 / p if is_control else 0.0
            guess = (of_control + total / (n + 1.0)) / (n_control + 1.0)
            for k, bet in enumerate(GAIN_BETS):
                room = SAFE / (bet * (most - 1.0))
                centre = max(guess, 1.0 - room) if side > 0.0 else min(guess, room)
                logs[k] += math.log(1.0 + side * bet * (u - centre) * (1.0 - weight))
            total += u
            of_control, n_control = of_control + u * is_control, n_control + is_control
        low, high = -float(len(rows)), float(len(rows))
        for _ in range(60):
            middle = (low + high) / 2.0
            won = np.logaddexp.reduce(logs - GAIN_BETS * middle) >= math.log(1.0 / level)
            low, high = (middle, high) if won else (low, middle)
        ends.append(side * low * cap / len(rows))
    return ends[0], ends[1]


def test_it_is_known_whether_rewards_are_cut_off_below_zero() -> None:
    rng = np.random.default_rng(0)
    record = recorded(rows_of(rng, 300, 0.2, lambda control: rng.exponential()), 0.1)
    found = record.found(0.05)
    assert found is not None
    assert found.has_one_sign
    record.learn(False, 0.8, -1.0)
    found = record.found(0.05)
    assert found is not None
    assert not found.has_one_sign


def test_bounds_are_those_of_a_slow_reference() -> None:
    rng = np.random.default_rng(0)
    rows = rows_of(rng, 300, 0.2, lambda control: rng.exponential(1.0 if control else 1.3))
    found = recorded(rows, 0.1).found(0.05)
    assert found is not None
    first = next(n for n in range(1, 300) if recorded(rows[: n + 1], 0.1).n)  # those before it decide the cap
    low, high = reference(rows[first:], 0.1, found.cap[1], 0.05 * SHARES[0] / 3.0)
    assert low < 0.0 < high
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.3])
@pytest.mark.parametrize("law", ["exponential", "coins", "Pareto 1.5"])
def test_bounds_agree_with_a_batch_evaluation_of_the_same_log(share: float, law: str) -> None:
    rng = np.random.default_rng(1)
    draws: dict[str, Callable[[bool], float]] = {
        "exponential": lambda control: rng.exponential(1.0 if control else 2.0),
        "coins": lambda control: float(rng.random() < (0.1 if control else 0.3)),
        "Pareto 1.5": lambda control: 1.0 + rng.pareto(1.5),
    }
    rows = rows_of(rng, 6000, share, draws[law])
    found = recorded(rows, share).found(0.05)
    assert found is not None
    log = {"arm": np.where([row[0] for row in rows], "control", "other"), "p": [row[1] for row in rows],
           "reward": [row[2] for row in rows]}  # fmt: skip
    lead = hb.evaluate(log, arm="control", cap=found.cap[1], floor=share).lead
    assert lead is not None
    assert found.low < -lead.estimate < found.high
    assert max(found.low, -lead.high) < min(found.high, -lead.low)
    assert found.high - found.low < 1.3 * (lead.high - lead.low)
    assert (found.low > 0.0) == (law != "Pareto 1.5")  # where both arms pay the same


def ever_wrong(
    rng: np.random.Generator, law: Callable[[], float], truth: float, n: int, floor: float, both_signs: bool
) -> bool:
    """Return whether bounds are ever wrong about arms of one law, chosen by their rewards, with a look every 25."""
    record, sums, pulls = GainRecord(floor), np.zeros(2), np.ones(2)
    for t in range(n):
        control = floor + (1.0 - 2.0 * floor) * float(sums[0] / pulls[0] > sums[1] / pulls[1])
        is_control = rng.random() < control
        reward = law() - truth * both_signs
        arm = 0 if is_control else 1
        sums[arm] += min(reward, 10.0)
        pulls[arm] += 1.0
        record.learn(is_control, control if is_control else 1.0 - control, reward)
        if t % 25 == 24 and (found := record.found(0.05)) is not None and not found.low <= 0.0 <= found.high:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("both_signs", [False, True])
@pytest.mark.parametrize("name", ["Pareto 1.2", "rare orders", "exponential"])
def test_equal_arms_are_told_apart_in_few_experiments_of_a_policy_that_chooses_by_rewards(
    name: str, both_signs: bool
) -> None:
    rng = np.random.default_rng(3)
    laws: dict[str, Callable[[], float]] = {
        "Pareto 1.2": lambda: float(1.0 + rng.pareto(1.2)),
        "rare orders": lambda: float((rng.random() < 0.05) * rng.lognormal(0.0, 1.3)),
        "exponential": lambda: float(rng.exponential()),
    }
    wrong = sum(ever_wrong(rng, laws[name], 1.0, 1000, 0.1, both_signs) for _ in range(40))
    assert wrong <= 4  # two are expected at most, and more than four happen once in twenty times


def test_a_control_that_is_better_is_told_and_so_are_costs() -> None:
    rng = np.random.default_rng(2)
    rows = rows_of(rng, 4000, 0.2, lambda control: rng.exponential(2.0 if control else 1.0))
    worse = recorded(rows, 0.2).found(0.05)
    costs = recorded([(control, p, -reward) for control, p, reward in rows], 0.2).found(0.05)
    assert worse is not None
    assert costs is not None
    assert worse.high < 0.0 < costs.low
    assert costs.cap == (-worse.cap[1], 0.0)
    assert worse.lift == pytest.approx(costs.lift, rel=0.01)
    assert 0.1 < costs.lift < 0.5
    assert (costs.low, costs.high) == pytest.approx((-worse.high, -worse.low), rel=0.01)


def test_without_a_floor_bounds_hold_too_and_are_wider() -> None:
    rng = np.random.default_rng(4)
    rows = rows_of(rng, 4000, 0.3, lambda control: rng.exponential(1.0 if control else 2.0))
    known, unknown = (recorded(rows, floor).found(0.05) for floor in (0.3, 0.0))
    assert known is not None
    assert unknown is not None
    assert 0.0 < unknown.low < 1.4 < 2.0 * unknown.high  # counting at most 5, the difference is 0.66
    assert unknown.cap[1] < known.cap[1]  # which it takes more decisions to tell


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rewards", [[0.0], [math.inf], [-math.inf, 1e308, -1e308], [5.0], [1e-300, 0.0]])
def test_any_rewards_give_bounds(rewards: list[float]) -> None:
    rows = [(n % 3 == 0, 0.3 if n % 3 == 0 else 0.7, reward) for n, reward in enumerate(rewards * 200)]
    found = recorded(rows, 0.3).found(0.05)
    if rewards == [0.0]:
        assert found is None
    else:
        assert isinstance(found, PolicyGain)
        assert found.low <= found.high
        assert math.isfinite(found.high - found.low)


def test_a_saved_record_goes_on_bit_for_bit() -> None:
    rng = np.random.default_rng(5)
    rows = rows_of(rng, 200, 0.3, lambda control: rng.pareto(1.5))
    for cut in (10, 100):
        again = GainRecord.loads(recorded(rows[:cut], 0.2).dumps())
        for row in rows[cut:]:
            again.learn(*row)
        assert again.dumps() == recorded(rows, 0.2).dumps()
