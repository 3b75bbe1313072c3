"""Verdicts: false winners under peeking, what stays known, and forecasts."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from heavybandits.evidence.measures import measures
from heavybandits.evidence.tally import Tally, add, is_sized_up, new_tally
from heavybandits.evidence.verdict import Peaks, Verdict, judge
from heavybandits.protocols import FloatArray, IntArray

Rule = Callable[[Tally, np.random.Generator, int], IntArray]  # which arms come next, given what is known

# None of these laws was used to choose the constants.
LAWS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "Frechet 1.1": lambda rng, n: rng.exponential(1.0, n) ** (-1.0 / 1.1),
    "orders, Pareto 1.3": lambda rng, n: (rng.random(n) < 0.1) * (1.0 + rng.pareto(1.3, n)),
    "two jackpots": lambda rng, n: rng.choice([0.0, 1.0, 50.0, 1000.0], n, p=[0.5, 0.47, 0.025, 0.005]),
    "skewed costs": lambda rng, n: -rng.lognormal(0.0, 2.0, n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
}


def uniform(tally: Tally, rng: np.random.Generator, n: int) -> IntArray:
    return rng.integers(len(tally.n), size=n)


def greedy(tally: Tally, rng: np.random.Generator, n: int) -> IntArray:
    """Play the arm with the best mean, and each other one now and then."""
    with np.errstate(invalid="ignore"):
        best = int(np.argmax(np.nan_to_num(tally.totals / tally.rows.sum(axis=1), nan=np.inf)))
    return np.where(rng.random(n) < 0.2, rng.integers(len(tally.n), size=n), best)


def hostile(tally: Tally, rng: np.random.Generator, n: int) -> IntArray:
    """Stop an arm while it looks lucky, to keep its luck; play the worst one as long as it looks unlucky."""
    with np.errstate(invalid="ignore"):
        means = np.nan_to_num(tally.totals / tally.rows.sum(axis=1), nan=0.0)
    return np.full(n, int(np.argmin(means)) if rng.random() < 0.8 else int(rng.integers(len(means))))


def false_winners(law: str, rule: Rule, n_arms: int, runs: int, decisions: int, delta: float) -> float:
    """The share of runs in which a winner among equal arms is ever named, with a look after each fiftieth decision."""
    wrong = 0
    for run in range(runs):
        rng, tally, peaks = np.random.default_rng([run, n_arms]), new_tally(n_arms), Peaks()
        for _ in range(decisions // 50):
            arms = rule(tally, rng, 50)
            add(tally, arms, LAWS[law](rng, 50))
            if is_sized_up(tally) and judge(tally, measures(tally), delta, peaks=peaks).is_winner:
                wrong += 1
                break
    return wrong / runs


@pytest.mark.parametrize("rule", [uniform, greedy, hostile])
@pytest.mark.parametrize("law", LAWS)
def test_winners_among_equal_arms_are_rare_however_often_one_looks(law: str, rule: Rule) -> None:
    # 6 of 30 or more have a probability of 0.3% if each has at most 5%.
    assert false_winners(law, rule, 2, 30, 1500, 0.05) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("n_arms", [2, 5])
@pytest.mark.parametrize("rule", [uniform, greedy, hostile])
def test_the_promise_holds_at_a_level_that_can_be_seen(rule: Rule, n_arms: int) -> None:
    # 65 of 100 or more have a probability of 0.2% if each has at most 50%.
    for law in ("Frechet 1.1", "orders, Pareto 1.3"):
        assert false_winners(law, rule, n_arms, 100, 1500, 0.5) < 0.65


@pytest.mark.slow
def test_intervals_lifts_and_differences_are_rarely_ever_wrong() -> None:
    alpha, wrong, runs = 0.2, np.zeros(4), 60
    for run in range(runs):
        rng, tally = np.random.default_rng([1, run]), new_tally(2)
        missed = np.zeros(4)
        for _ in range(25):
            arms = np.where(rng.random(100) < 0.8, 1, 0)
            add(tally, arms, rng.exponential(1.0 + 0.5 * arms))
            one = measures(tally)[0]
            cap = one.limits[1]
            true = [scale * -math.expm1(-cap / scale) for scale in (1.0, 1.5)]  # means of what is counted
            for arm in range(2):
                low, high = one.interval(arm, alpha)
                missed[arm] += not low <= true[arm] <= high
            missed[2] += one.least_ratio(1, 0, -math.log(alpha)) > true[1] / true[0]
            missed[3] += one.least_difference(1, 0, -math.log(alpha)) > true[1] - true[0]
        wrong += missed > 0
    # 21 of 60 or more have a probability of 0.4% if each has at most 20%.
    assert (wrong <= 20).all()


def judged(*columns: FloatArray, peaks: Peaks | None = None, eps: float | None = None, cap: float = 1.0) -> Verdict:
    tally = new_tally(len(columns), limits=(0.0, cap))
    for arm, rewards in enumerate(columns):
        add(tally, np.full(len(rewards), arm), rewards)
    return judge(tally, measures(tally), 0.05, eps, peaks)


def coins(chance: float, n: int) -> FloatArray:
    return np.where(np.arange(n) % 100 < 100 * chance, 1.0, 0.0)


def test_a_winner_needs_evidence_against_every_arm() -> None:
    assert judged(coins(0.5, 400), coins(0.2, 400)).is_winner
    verdict = judged(coins(0.5, 400), coins(0.2, 400), coins(0.48, 400))
    assert (verdict.is_winner, verdict.leader, verdict.rival) == (False, 0, 2)
    assert verdict.logs[1] > verdict.need > verdict.logs[2]
    assert verdict.need == pytest.approx(math.log(3 / 0.05))
    assert not judged(coins(0.5, 400), coins(0.2, 400), coins(0.1, 0)).is_winner


def test_what_was_shown_once_stays_shown() -> None:
    peaks = Peaks()
    assert judged(coins(0.9, 100), coins(0.1, 100), peaks=peaks).is_winner
    later = judged(coins(0.5, 1000), coins(0.5, 1000), peaks=peaks)
    assert later.is_winner
    assert later.logs[1] == pytest.approx(max(peaks.values()))
    assert not judged(coins(0.5, 1000), coins(0.5, 1000)).is_winner


def test_a_winner_is_shown_pair_by_pair_at_different_times() -> None:
    peaks = Peaks()
    judged(coins(0.9, 200), coins(0.1, 200), coins(0.85, 200), peaks=peaks)
    assert judged(coins(0.9, 300), coins(0.8, 300), coins(0.1, 300), peaks=peaks).is_winner


def test_the_widest_clip_with_a_winner_counts() -> None:
    rng = np.random.default_rng(0)
    tally = new_tally(2)
    for arm, scale in enumerate((1.0, 3.0)):
        add(tally, np.full(3000, arm), rng.exponential(scale, 3000))
    ladder = measures(tally)
    verdict = judge(tally, ladder, 0.05)
    assert verdict.is_winner
    assert verdict.measure is ladder[-1]
    assert verdict.need == pytest.approx(math.log(2 / (0.05 * 0.03)))


def test_no_difference_is_known_where_none_matters() -> None:
    same = coins(0.5, 2000)
    assert judged(same, same, eps=0.2).is_close
    assert not judged(same, same, eps=0.01).is_close
    assert not judged(same, same).is_close
    assert judged(same, coins(0.51, 20_000), eps=5.0).is_close


def test_a_forecast_is_what_it_takes_if_things_go_on() -> None:
    early = judged(coins(0.3, 200), coins(0.2, 200))
    assert early.forecast is not None
    assert 300 < early.forecast.decisions < 500
    assert judged(coins(0.3, 500), coins(0.2, 500)).is_winner
    assert not judged(coins(0.3, 300), coins(0.2, 300)).is_winner
    assert early.forecast.low < early.forecast.decisions < early.forecast.high
    assert judged(coins(0.3, 50), coins(0.3, 50)).forecast is None
    assert judged(coins(0.9, 500), coins(0.1, 500)).forecast is None
