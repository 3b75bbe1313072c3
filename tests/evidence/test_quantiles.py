"""Evidence about quantiles, against a slow reference that tries every number."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from heavybandits.evidence.bets import SIZED_UP, STATED, Bets
from heavybandits.evidence.measures import Quantile
from heavybandits.evidence.quantiles import _log_mixture, _log_mixture_bet_by_bet, gains
from heavybandits.evidence.tally import add, new_tally
from heavybandits.protocols import FloatArray


def measured(b: FloatArray, a: FloatArray, tau: float) -> Quantile:
    tally = new_tally(2, tau)
    add(tally, np.zeros(24, np.int64), np.resize(np.concatenate([b[:12], a[:12]]), 24))
    add(tally, np.repeat([0, 1], [len(b), len(a)]), np.concatenate([b, a]))
    return Quantile(tally)


def reference(b: FloatArray, a: FloatArray, tau: float, eps: float = 0.0) -> float:
    """The least mixed wealth over all numbers, and the gaps between them."""
    gain = gains(SIZED_UP, tau)
    with np.errstate(divide="ignore"):
        prior = np.log(SIZED_UP.joint)
    values = np.unique(np.concatenate([a, b + eps]))
    thetas = np.concatenate([[values[0] - 1.0], values, 0.5 * (values[1:] + values[:-1]), [values[-1] + 1.0]])
    least = math.inf
    for theta in thetas:
        above, below = (b > theta - eps).sum(), (a < theta).sum()
        g_b = above * gain[0] + (len(b) - above) * gain[1]
        g_a = below * gain[2] + (len(a) - below) * gain[3]
        least = min(least, float(logsumexp(prior + g_b[:, None] + g_a)))
    return least


@pytest.mark.parametrize("tau", [0.5, 0.9, 0.1])
@pytest.mark.parametrize("n_a", [400, 60])
def test_evidence_is_certified_and_tight(tau: float, n_a: int) -> None:
    rng = np.random.default_rng(1)
    b, a = rng.standard_t(1.5, 400) + 1.0, rng.standard_t(1.5, n_a)
    exact, found = reference(b, a, tau), measured(b, a, tau).log_evidence(0, 1)
    assert exact - 3.0 < found <= exact + 1e-9
    assert found > 0.7 * exact - 1.0


def test_evidence_on_the_points_is_exact() -> None:
    rng = np.random.default_rng(2)
    one = measured(rng.normal(size=100), rng.normal(size=100), 0.5)
    points = one._points[200:300]
    b, a = rng.choice(points[30:], 300), rng.choice(points[:70], 300)
    one.tally.rows[:] = 0.0
    add(one.tally, np.repeat([0, 1], 300), np.concatenate([b, a]))
    assert one.log_evidence(0, 1) == pytest.approx(reference(b, a, 0.5))


def test_ties_are_no_evidence() -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(3.0, 5000).astype(float)
    assert measured(counts, counts, 0.5).log_evidence(0, 1) <= 0.0


@pytest.mark.parametrize("eps", [0.1, 0.37, 5.0])
def test_evidence_for_no_difference_is_certified(eps: float) -> None:
    rng = np.random.default_rng(4)
    b, a = rng.normal(size=400), rng.normal(size=400)
    found = measured(b, a, 0.5).log_evidence(0, 1, eps=eps)
    assert found <= reference(b, a, 0.5, eps) + 1e-9
    assert (found > 20.0) == (eps == 5.0)


def test_intervals_hold_the_quantile() -> None:
    rng = np.random.default_rng(5)
    rewards = rng.standard_cauchy(2000) + 10.0
    for tau in (0.25, 0.5, 0.9):
        one = measured(rewards, rewards, tau)
        low, high = one.interval(0, 0.05)
        true = 10.0 + math.tan(math.pi * (tau - 0.5))
        assert low < true < high < low + (5.0 if tau == 0.9 else 0.6)
        assert low <= one.estimates()[0] <= high


def test_estimates_of_counts_are_counts() -> None:
    counts = np.random.default_rng(6).poisson(3.0, 3000).astype(float)
    assert measured(counts, counts, 0.5).estimates().tolist() == [3.0, 3.0]


def test_rewards_beyond_all_points_have_an_end() -> None:
    one = measured(np.full(50, math.inf), np.full(50, -math.inf), 0.5)
    assert not np.isnan(one.estimates()).any()
    assert one.log_evidence(0, 1) > 0.0
    assert math.isnan(one.least_ratio(0, 1, 3.0))


@pytest.mark.parametrize("tau", [0.5, 0.9])
def test_differences_are_bracketed_where_the_evidence_suffices(tau: float) -> None:
    rng = np.random.default_rng(5)
    b, a = 1.0 + rng.standard_t(1.5, 800), rng.standard_t(1.5, 800)
    one, need = measured(b, a, tau), math.log(40.0)
    low, high = one.least_difference(0, 1, need), -one.least_difference(1, 0, need)
    assert low < np.quantile(b, tau) - np.quantile(a, tau) < high
    assert reference(b, a, tau, -low) >= need
    assert reference(a, b, tau, high) >= need
    assert reference(b, a, tau, -low - 0.1 * (high - low)) < need + 0.5


@pytest.mark.parametrize("bets", [SIZED_UP, STATED], ids=["sized up", "stated"])
@pytest.mark.parametrize("tau", [0.5, 0.9])
def test_bets_are_mixed_the_same_all_at_once(bets: Bets, tau: float) -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 30, 1000, 10**6):
        counts = rng.integers(0, n + 1, 4).astype(float)
        assert _log_mixture(bets, gains(bets, tau), *counts) == _log_mixture_bet_by_bet(bets, gains(bets, tau), *counts)
