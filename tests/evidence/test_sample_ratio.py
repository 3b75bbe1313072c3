"""Counts of arms against their planned shares."""

import math

import numpy as np
import pytest
from scipy.stats import dirichlet_multinomial, multinomial

from heavybandits.evidence.ab_test.sample_ratio import CONCENTRATIONS, check_shares, log_mismatch


@pytest.mark.parametrize(("counts", "shares"), [([3, 9], [0.5, 0.5]), ([40, 10, 0], [0.6, 0.3, 0.1])])
def test_evidence_is_a_ratio_of_chances(counts: list[int], shares: list[float]) -> None:
    n, plan = sum(counts), np.array(shares)
    ratios = [
        dirichlet_multinomial.pmf(counts, c * len(shares) * plan, n) / multinomial.pmf(counts, n, plan)
        for c in CONCENTRATIONS
    ]
    assert math.exp(log_mismatch(np.array(counts, float), plan)) == pytest.approx(np.mean(ratios), rel=1e-9)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5)])
def test_alarms_are_rare_however_often_one_looks(shares: tuple[float, ...]) -> None:
    plan, alarms = np.array(shares), 0
    for run in range(300):
        drawn = np.random.default_rng(run).choice(len(plan), 3000, p=plan)
        counts = np.cumsum(drawn[:, None] == np.arange(len(plan)), axis=0)[9::10]
        alarms += log_mismatch(counts.astype(float), plan).max() >= math.log(20.0)
    assert alarms <= 25  # 26 of 300 or more have a probability of 0.4% if each has at most 5%


def test_a_small_mismatch_is_found_in_a_large_experiment() -> None:
    assert check_shares("compare", "equal", {"a": 502_500, "b": 497_500}).is_alarm
    assert not check_shares("compare", "equal", {"a": 500_700, "b": 499_300}).is_alarm
    assert check_shares("compare", {"a": 1, "b": 1, "c": 1}, {"a": 50, "b": 60}).is_alarm  # c got nothing
    ratio = check_shares("compare", {"a": 1, "b": 3}, {"a": 300, "b": 300})
    assert ratio.sentence.startswith(
        "ALARM: the arms did not get their planned shares: a has 300 of 600 rows, where 150"
    )


def test_what_shares_may_be() -> None:
    with pytest.raises(ValueError, match=r"^compare: shares must be 'equal' or weights by arm, got 'even'$"):
        check_shares("compare", "even", {"a": 1})
    with pytest.raises(ValueError, match=r"^compare: the share of 'a' must be a positive finite number, got 0$"):
        check_shares("compare", {"a": 0}, {"a": 1})
    with pytest.raises(ValueError, match=r"^compare: shares: unknown arm 'gren'; did you mean 'green'"):
        check_shares("compare", {"green": 1}, {"gren": 1})
