"""Statements about numbers with limits: against slow references, and how often they are wrong."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandits.evidence.statements import (
    LOG_STAKE_WEIGHTS,
    STAKES,
    AllOf,
    MeanAbove,
    PairedNumbers,
    ProductBelow,
    QuantileAbove,
    Statement,
)
from heavybandits.protocols import FloatArray

NEED = math.log(20.0)


def wealth(numbers: list[float]) -> float:
    """Return the mixture of what all bets have made, number by number."""
    total = 0.0
    for part, log in zip(STAKES, LOG_STAKE_WEIGHTS, strict=True):
        won = math.exp(log)
        for number in numbers:
            won *= 1.0 + part * number
        total += won
    return total


@given(st.lists(st.floats(-1.0, 3.0), min_size=1, max_size=20))
def test_evidence_on_a_mean_is_the_wealth_of_the_bets(numbers: list[float]) -> None:
    found = MeanAbove(2.0 * np.array(numbers), 2.0).log_evidence()
    assert found == pytest.approx(math.log(wealth(numbers)), abs=1e-9)


def test_bets_are_a_mixture_and_never_lose_everything() -> None:
    assert np.exp(LOG_STAKE_WEIGHTS).sum() == pytest.approx(1.0)
    assert STAKES.max() < 1.0
    with pytest.raises(ValueError, match="no number may be below -1, got -2"):
        MeanAbove(np.array([1.0, -2.0]), 1.0)


def test_evidence_on_a_product_is_below_a_fine_search() -> None:
    rng = np.random.default_rng(0)
    pairs = [PairedNumbers(rng.uniform(0.0, low, 60), rng.uniform(0.0, high, 60), 1.0)
             for low, high in ((0.5, 0.9), (0.6, 0.8))]  # fmt: skip
    found = ProductBelow(pairs).log_evidence()

    def log(pair: PairedNumbers, ratio: float) -> float:
        return MeanAbove(ratio * pair.second - pair.first, pair.most).log_evidence()

    exact = min(log(pairs[0], c) + log(pairs[1], 1.0 / c) for c in np.exp(np.linspace(-3.0, 3.0, 1201)))
    assert found <= exact
    assert found == pytest.approx(exact, abs=1.0)  # two steps of 2% in a ratio


@given(st.integers(0, 10**6))
def test_evidence_on_quantiles_is_the_least_over_every_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    higher, lower = rng.integers(0, 9, 30), rng.integers(0, 7, 20)
    plain, same = (
        QuantileAbove(np.asarray(change(higher), float), np.asarray(change(lower), float), 0.9).log_evidence()
        for change in (np.asarray, np.exp)
    )
    assert plain == pytest.approx(same)  # only the order counts
    assert plain <= 1e-9 or higher.max() > lower.min()


def rare_failures(rng: np.random.Generator, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.03, rng.uniform(0.5, 1.0, n), rng.uniform(0.0, 0.02, n))


@pytest.mark.slow
@pytest.mark.parametrize(
    "state",
    [
        lambda a, b, c, d: MeanAbove(a - b, 1.0),
        lambda a, b, c, d: ProductBelow([PairedNumbers(a, b, 1.0), PairedNumbers(c, d, 1.0)]),
        lambda a, b, c, d: QuantileAbove(a, b, 0.9),
    ],
    ids=["mean", "product", "quantile"],
)
def test_wrong_statements_are_rarely_shown_at_any_look(state: Callable[..., Statement]) -> None:
    rng, wrong = np.random.default_rng(7), []
    for _ in range(200):
        drawn = [rare_failures(rng, 512) for _ in range(4)]
        looks = (state(*(some[:n] for some in drawn)) for n in (32, 64, 128, 256, 512))
        wrong.append(any(look.log_evidence() >= NEED for look in looks))
    assert np.mean(wrong) <= 0.05


def test_all_of_several_statements_are_as_sure_as_the_least() -> None:
    numbers = [MeanAbove(np.full(n, 0.5), 1.0) for n in (5, 9)]
    for one, other in itertools.permutations(numbers):
        assert AllOf(one, other).log_evidence(2.0) == numbers[0].log_evidence(2.0)
