"""Estimates against the published formulas, written independently row by row."""

import math

import numpy as np
import pytest

from heavybandits.evaluation.estimators import (
    METHODS,
    doubly_robust,
    doubly_robust_by_arms,
    ips,
    median_of_means,
    snips,
)
from heavybandits.protocols import FloatArray

rng = np.random.default_rng(5)
N, K = 400, 4
ACTIONS = rng.integers(K, size=N)
PSCORE = rng.uniform(0.05, 0.9, N)
REWARDS = rng.pareto(1.5, N)
DIST = rng.dirichlet(np.ones(K), N)  # of the target
MODEL = rng.uniform(0.0, 3.0, (N, K))  # predicted rewards
WEIGHTS: FloatArray = DIST[np.arange(N), ACTIONS] / PSCORE


def test_ips_snips_and_dr_are_those_of_open_bandit_pipeline() -> None:
    """The round-by-round formulas of obp 0.4.1: iw * reward, divided by mean iw, and with a regression model."""
    rounds_ips, rounds_dr = [], []
    for i in range(N):
        iw = DIST[i, ACTIONS[i]] / PSCORE[i]
        rounds_ips.append(iw * REWARDS[i])
        baseline = sum(DIST[i, a] * MODEL[i, a] for a in range(K))
        rounds_dr.append(baseline + iw * (REWARDS[i] - MODEL[i, ACTIONS[i]]))
    mean_weight = sum(DIST[i, ACTIONS[i]] / PSCORE[i] for i in range(N)) / N
    assert ips(WEIGHTS, REWARDS) == pytest.approx(math.fsum(rounds_ips) / N, rel=1e-12)
    assert snips(WEIGHTS, REWARDS) == pytest.approx(math.fsum(rounds_ips) / N / mean_weight, rel=1e-12)
    expected, of_target = MODEL[np.arange(N), ACTIONS], (DIST * MODEL).sum(axis=1)
    assert doubly_robust(WEIGHTS, REWARDS, expected, of_target) == pytest.approx(math.fsum(rounds_dr) / N, rel=1e-12)


def test_predictions_use_the_past_alone() -> None:
    plan = np.repeat(np.arange(N), K), np.tile(np.arange(K), N), DIST.ravel()
    total = 0.0
    for i in range(N):
        past = [REWARDS[:i][ACTIONS[:i] == a].mean() if (ACTIONS[:i] == a).any() else 0.0 for a in range(K)]
        total += sum(DIST[i, a] * past[a] for a in range(K)) + WEIGHTS[i] * (REWARDS[i] - past[ACTIONS[i]])
    assert doubly_robust_by_arms(WEIGHTS, REWARDS, ACTIONS, plan) == pytest.approx(total / N, rel=1e-9)


def test_other_estimates_against_their_formulas() -> None:
    y = WEIGHTS * REWARDS
    clipped = [min(w, math.sqrt(N)) * r for w, r in zip(WEIGHTS, REWARDS, strict=True)]
    shrunk = [N * w / (w * w + N) * r for w, r in zip(WEIGHTS, REWARDS, strict=True)]
    level = 1.0 / math.sqrt(math.fsum(y**2))
    smoothed = [math.log(1.0 + level * term) / level for term in y]
    for name, terms in (("clipped", clipped), ("shrunk", shrunk), ("log-smoothing", smoothed)):
        assert METHODS[name](WEIGHTS, REWARDS) == pytest.approx(math.fsum(terms) / N, rel=1e-9)
    assert METHODS["log-smoothing"](WEIGHTS, REWARDS) < ips(WEIGHTS, REWARDS)
    with pytest.raises(ValueError, match="'log-smoothing' needs rewards of at least 0"):
        METHODS["log-smoothing"](WEIGHTS, -REWARDS)


def test_one_huge_reward_does_not_move_the_median_of_means() -> None:
    spoiled = np.r_[REWARDS[:-1], 1e12]
    assert median_of_means(WEIGHTS, spoiled) < 2.0 * median_of_means(WEIGHTS, REWARDS)
    assert snips(np.zeros(3), np.ones(3)) != snips(np.zeros(3), np.ones(3))
