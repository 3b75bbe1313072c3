"""Evidence about means, against a slow reference that searches finely with the raw rewards."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp

from heavybandits.evidence.bets import (
    EDGES,
    SIZED_UP,
    STATED,
    Bets,
    Border,
    Claim,
    log_wealth,
    log_wealth_point_by_point,
    new_work,
)
from heavybandits.evidence.measures import RATIOS, ClippedMean, measures
from heavybandits.evidence.tally import add, new_tally
from heavybandits.protocols import FloatArray

FINE = 40  # numbers m in each interval
LAWS = {
    "coins": lambda rng, n: 1.0 * (rng.random(n) < 0.1),
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "normal": lambda rng, n: rng.normal(1.0, 1.0, n),
    "orders": lambda rng, n: (rng.random(n) < 0.1) * rng.lognormal(0.0, 1.3, n),
    "Pareto": lambda rng, n: rng.pareto(1.5, n),
}


def measured(b: FloatArray, a: FloatArray, limits: tuple[float, float] | None = None) -> list[ClippedMean]:
    tally = new_tally(2, limits=limits)
    if limits is None:  # size up by rewards that are in neither sample
        add(tally, np.zeros(500, np.int64), np.resize(np.concatenate([b, a]), 500))
        add(tally, np.zeros(0, np.int64), np.zeros(0))
        tally.rows[:], tally.totals[:] = 0.0, 0.0
    add(tally, np.repeat([0, 1], [len(b), len(a)]), np.concatenate([b, a]))
    return [one for one in measures(tally) if isinstance(one, ClippedMean)]


def reference(one: ClippedMean, b: FloatArray, a: FloatArray, ratio: float = 1.0, shift: float = 0.0) -> float:
    """The least mixed wealth over a fine grid of m, with rewards that were not split between points."""
    bets = STATED if one.share == 1.0 else SIZED_UP
    low, high = one.limits
    u_b, u_a = (np.clip((x - low) / (high - low), 0.0, 1.0) for x in (b, a))
    sizes = bets.steepest * 0.5 ** np.arange(len(bets.single))
    with np.errstate(divide="ignore"):
        prior = np.log(bets.joint)
    least = math.inf
    for left, right in pairwise(EDGES):
        odds = math.sqrt((left + 1e-5) / (1 - left + 1e-5) * (right + 1e-5) / (1 - right + 1e-5))
        middle = odds / (1 + odds)
        sd = [
            math.sqrt(one.clip.spread * x * (1 - x)) for x in np.clip([ratio * middle + shift, middle], 1e-4, 1 - 1e-4)
        ]
        top = min(ratio * right + shift, 1.0)
        if top <= 0.0:
            continue
        p, q = np.minimum(sizes / sd[0], 0.8 / top), np.minimum(ratio * sizes / sd[1], 0.8 / (1 - left))
        for m in np.linspace(left, right, FINE):
            y = ratio * m + shift
            if y >= 0.0:
                g_b = np.log1p(np.outer(p, u_b - min(y, 1.0))).sum(axis=1)
                g_a = np.log1p(-np.outer(q, u_a - m)).sum(axis=1)
                least = min(least, float(logsumexp(prior + g_b[:, None] + g_a)))
    return least


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n_b", "n_a", "factor"), [(400, 400, 1.3), (3000, 60, 1.5), (60, 900, 2.0), (150, 150, 1.0)])
def test_evidence_is_certified_and_tight(law: str, n_b: int, n_a: int, factor: float) -> None:
    rng = np.random.default_rng(n_b)
    b, a = factor * LAWS[law](rng, n_b), LAWS[law](rng, n_a)
    for one in measured(b, a)[:2]:
        exact, found = reference(one, b, a), one.log_evidence(0, 1)
        assert 0.995 * exact - 0.06 < found <= exact + 1e-9


@pytest.mark.parametrize("eps", [0.02, 0.3, 1.0])
def test_evidence_for_no_difference_is_certified(eps: float) -> None:
    rng = np.random.default_rng(5)
    b, a = rng.exponential(1.0, 500), rng.exponential(1.0, 500)
    one = measured(b, a)[0]
    low, high = one.limits
    exact, found = reference(one, b, a, shift=-eps / (high - low)), one.log_evidence(0, 1, eps=eps)
    assert 0.995 * exact - 0.06 < found <= exact + 1e-9


def test_evidence_within_stated_limits_is_certified() -> None:
    rng = np.random.default_rng(6)
    for width in (1.0, 0.3):  # rewards that fill the limits, and others that do not
        b, a = (0.5 + width * (rng.random(300) - centre) for centre in (0.5, 0.65))
        one = measured(b, a, (0.0, 1.0))[0]
        exact, found = reference(one, b, a), one.log_evidence(0, 1)
        assert 3.0 < 0.8 * exact < found <= exact + 1e-9  # rewards that vary little share few cells


@pytest.mark.parametrize("factor", [1.0, 1.25, 3.0])
def test_early_ends_are_on_the_right_side(factor: float) -> None:
    rng = np.random.default_rng(7)
    one = measured(factor * rng.exponential(1.0, 400), rng.exponential(1.0, 400))[0]
    full = one.log_evidence(0, 1)
    for need in (0.5, 3.0, 3.9, 10.0, 40.0):
        if abs(full - need) > 0.03:
            assert (one.log_evidence(0, 1, below=need, above=need) >= need) == (full >= need)


def test_more_rewards_of_the_same_kind_count_as_their_number() -> None:
    rng = np.random.default_rng(8)
    b, a = rng.exponential(1.2, 300), rng.exponential(1.0, 300)
    one, twice = measured(b, a)[0], measured(b, a)[0]
    twice.tally.rows[:] *= 2.0
    assert one.log_evidence(0, 1, times=2.0) == pytest.approx(twice.log_evidence(0, 1))


def refuted(one: ClippedMean, rewards: FloatArray, m: float, sign: int, alpha: float) -> bool:
    """Whether bets on rewards above m (or below) have won 2/alpha, with raw rewards."""
    low, high = one.limits
    u, m = np.clip((rewards - low) / (high - low), 0.0, 1.0), (m - low) / (high - low)
    if sign < 0:
        u, m = 1.0 - u, 1.0 - m
    c = int(np.searchsorted(EDGES, m)) - 1
    left, right = EDGES[c], EDGES[c + 1]
    odds = math.sqrt((left + 1e-5) / (1 - left + 1e-5) * (right + 1e-5) / (1 - right + 1e-5))
    middle = np.clip(odds / (1 + odds), 1e-4, 1 - 1e-4)
    sizes = SIZED_UP.steepest * 0.5 ** np.arange(len(SIZED_UP.single))
    bets = np.minimum(sizes / math.sqrt(one.clip.spread * middle * (1 - middle)), 0.8 / right)
    logs = np.log1p(np.outer(bets, u - m)).sum(axis=1)
    return bool(logsumexp(logs, b=SIZED_UP.single) >= math.log(2.0 / alpha))


@pytest.mark.parametrize("law", LAWS)
def test_intervals_end_where_means_are_refuted(law: str) -> None:
    rng = np.random.default_rng(9)
    rewards = LAWS[law](rng, 500)
    one = measured(rewards, rewards)[0]
    low, high = one.interval(0, 0.05)
    width = high - low
    assert low < one.estimates()[0] < high
    assert refuted(one, rewards, low, 1, 0.05)
    assert refuted(one, rewards, high, -1, 0.05)
    assert not refuted(one, rewards, low + 0.05 * width, 1, 0.05)
    assert not refuted(one, rewards, high - 0.05 * width, -1, 0.05)


@pytest.mark.parametrize("origin", [0.0, 50.0])
def test_lifts_bracket_the_ratio_of_means(origin: float) -> None:
    rng = np.random.default_rng(10)
    b, a = origin + rng.exponential(1.5, 3000), origin + rng.exponential(1.0, 3000)
    one = measured(b, a)[0]
    ratio = one.estimates()[0] / one.estimates()[1]
    low, high = one.least_ratio(0, 1, math.log(40.0)), 1.0 / one.least_ratio(1, 0, math.log(40.0))
    assert 1.0 < low < ratio < high
    assert high - low < 0.5 if origin == 0.0 else high - low < 0.01
    cost = measured(-b, -a)[0]
    assert cost.least_ratio(0, 1, math.log(40.0)) == pytest.approx(low)


def bisected_ratio(one: ClippedMean, b: int, a: int, need: float) -> float:
    """The largest ratio that is sure, by halving blocks of ratios, with evidence that is never cut short."""

    def is_sure(power: float, block: int) -> bool:
        middle, top = Border(2.0**block, 0.0), Border(2.0 ** (block + 0.5), 0.0)
        claim = Claim(Border(2.0**power, 0.0), middle, top, one._origin)
        return one._claimed(b, a, claim, 1.0, one._is_cost, -math.inf, math.inf) >= need

    found = 0.0
    for block in RATIOS:
        low, high = block - 0.5, block + 0.5
        if is_sure(high, block):
            found = 2.0**high
            continue
        for _ in range(7):
            middle = 0.5 * (low + high)
            if is_sure(middle, block):
                low, found = middle, 2.0**middle
            else:
                high = middle
        break
    return found


@pytest.mark.parametrize("law", ["coins", "exponential", "orders", "Pareto", "costs", "far from zero"])
def test_lifts_are_found_by_few_looks(law: str) -> None:
    rng = np.random.default_rng(16)
    draws = {
        **LAWS,
        "costs": lambda rng, n: -rng.exponential(1.0, n),
        "far from zero": lambda rng, n: rng.gamma(900.0, 1.0, n),
    }
    found = []
    for sizes, factor in (((300, 300), 1.0), ((3000, 400), 1.5), ((200, 5000), 3.0)):
        b, a = (scale * draws[law](rng, n) for scale, n in zip((factor, 1.0), sizes, strict=True))
        for one in measured(b, a)[:2]:
            for pair in ((0, 1), (1, 0)):
                found.append(one.least_ratio(*pair, math.log(50.0)))
                assert found[-1] == pytest.approx(bisected_ratio(one, *pair, math.log(50.0)), rel=1e-12)
    assert max(found) > 0.0


def test_evidence_falls_as_the_ratio_grows() -> None:
    rng = np.random.default_rng(11)
    one = measured(rng.exponential(3.0, 300), rng.exponential(1.0, 300))[0]
    for block in (0, 1, 2):
        middle, top = Border(2.0**block, 0.0), Border(2.0 ** (block + 0.5), 0.0)
        lines = [Border(2.0 ** float(power), 0.0) for power in np.linspace(block - 0.5, block + 0.5, 40)]
        claims = [Claim(line, middle, top, 0.0) for line in lines]
        logs = [one._claimed(0, 1, claim, 1.0, False, -math.inf, math.inf) for claim in claims]
        assert (np.diff(logs) < 0.021).all()  # the search is exact to 0.02 nats


@pytest.mark.parametrize("law", ["exponential", "normal", "orders"])
def test_differences_bracket_the_difference_of_means(law: str) -> None:
    rng = np.random.default_rng(14)
    b, a = 1.2 * LAWS[law](rng, 3000), LAWS[law](rng, 3000)
    one, need = measured(b, a)[0], math.log(40.0)
    difference = one.estimates()[0] - one.estimates()[1]
    low, high = one.least_difference(0, 1, need), -one.least_difference(1, 0, need)
    assert low < difference < high
    assert high - low < 0.2 * (one.limits[1] - one.limits[0])
    # The bounds are where the evidence for a difference, with bets of its own, is about enough.
    for eps, side in ((-low, (0, 1)), (high, (1, 0))):
        assert one.log_evidence(*side, eps=eps) == pytest.approx(need, abs=0.3)


def test_evidence_falls_as_the_difference_grows() -> None:
    rng = np.random.default_rng(15)
    one = measured(rng.exponential(1.5, 300), rng.exponential(1.0, 300))[0]
    for bottom, top in ((-0.5, -0.25), (0.0, 0.125), (0.125, 0.25)):
        lines = [Border(1.0, float(shift)) for shift in np.linspace(bottom, top, 40)]
        claims = [Claim(line, Border(1.0, 0.5 * (bottom + top)), lines[-1], 0.0) for line in lines]
        logs = [one._claimed(0, 1, claim, 1.0, False, -math.inf, math.inf) for claim in claims]
        assert (np.diff(logs) < 0.021).all()


def test_lifts_of_both_signs_make_no_sense() -> None:
    rng = np.random.default_rng(12)
    assert math.isnan(measured(rng.normal(size=300), rng.normal(size=300))[0].least_ratio(0, 1, 3.0))


def test_the_lowest_ratio_of_equal_coins_is_below_one() -> None:
    rng = np.random.default_rng(13)
    b, a = (np.where(rng.random(20_000) < 0.1, 1.0, 0.0) for _ in range(2))
    one = measured(b, a)[0]
    assert 0.8 < one.least_ratio(0, 1, math.log(40.0)) < 1.0


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60])
def test_wealth_is_the_same_all_at_once(n: int) -> None:
    work, rng = new_work(SIZED_UP), np.random.default_rng(n)
    work.sizes[1] = n
    work.points[1], work.weights[1] = rng.random(work.points.shape[1]), rng.pareto(1.0, work.points.shape[1])
    for m, bet in ((0.3, 0.9), (0.01, -0.99), (0.5, 0.0)):
        assert log_wealth(work, 1, m, bet) == log_wealth_point_by_point(work, 1, m, bet)


@pytest.mark.parametrize("bets", [SIZED_UP, STATED])
def test_the_stake_is_one(bets: Bets) -> None:
    assert bets.joint.sum() == pytest.approx(1.0, abs=1e-12)
    assert bets.single.sum() == pytest.approx(1.0, abs=1e-12)
    assert (bets.joint >= 0.0).all()
