"""Spreads of arms: evidence that one is louder, exact scaling, and whether rewards repeat."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from heavybandits.algorithms.level_sets.spreads import Spreads, init_spreads, learn_spread, loudness, repeats
from heavybandits.protocols import FloatArray

pytestmark = pytest.mark.usefixtures("silent")


def learned(columns: list[FloatArray]) -> Spreads:
    """Return the spreads after these rewards of each arm, in turn."""
    spreads = init_spreads(len(columns))
    for row in np.stack(columns, axis=1).tolist():
        for arm, reward in enumerate(row):
            learn_spread(spreads, arm, reward)
    return spreads


def test_ratios_follow_the_formula() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.standard_normal(40), 9.0 * rng.standard_normal(40), 0.05 * rng.standard_normal(40)]
    logs = [np.log(np.abs(np.diff(column))) for column in columns]
    centre = np.concatenate(logs).mean()
    spread = sum(((log - log.mean()) ** 2).sum() for log in logs) / (3 * 39 - 3)
    error = math.sqrt(1.5 * spread / 39)
    spreads = learned(columns)
    assert loudness(spreads, 1) == pytest.approx(math.exp(logs[1].mean() - centre - 2 * error), rel=0.05)
    assert loudness(spreads, 2) == pytest.approx(math.exp(logs[2].mean() - centre + 3 * error), rel=0.05)


def test_no_evidence_no_difference() -> None:
    rng = np.random.default_rng(1)
    alike = learned([rng.standard_cauchy(30) for _ in range(4)])
    assert [loudness(alike, arm) for arm in range(4)] == [1.0] * 4
    few = learned([rng.standard_normal(3), 100 * rng.standard_normal(3)])
    assert loudness(few, 1) == 1.0


def test_powers_of_two_change_nothing() -> None:
    rng = np.random.default_rng(2)
    columns = [rng.standard_cauchy(50), 20 * rng.standard_cauchy(50)]
    ratios = [
        [loudness(learned([np.ldexp(column, exponent) for column in columns]), arm) for arm in range(2)]
        for exponent in (-700, -3, 0, 41, 900)
    ]
    assert ratios[2][1] > 1.0
    assert all(pair == ratios[2] for pair in ratios)


def test_wild_rewards_leave_spreads_finite() -> None:
    spreads = learned([np.array([1e308, -1e308, 0.0, 1e-300, 0.0, 1.7e308] * 5), np.arange(30.0)])
    assert all(np.isfinite(field).all() for field in spreads)
    assert math.isfinite(loudness(spreads, 0))


Draw = Callable[[np.random.Generator], FloatArray]
ATOMS: dict[str, Draw] = {
    "coins": lambda rng: (rng.random(300) < 0.03).astype(float),
    "fair coins": lambda rng: (rng.random(300) < 0.5).astype(float),
    "orders": lambda rng: np.where(rng.random(300) < 0.1, rng.pareto(1.5, 300), 0.0),
    "orders in dollars": lambda rng: np.where(rng.random(300) < 0.4, np.round(10 * np.exp(rng.normal(size=300))), 0.0),
    "zeros and Cauchy": lambda rng: np.where(rng.random(300) < 0.4, rng.standard_cauchy(300), 0.0),
    "two atoms": lambda rng: np.where(rng.random(300) < 0.2, rng.pareto(1.1, 300), rng.integers(0, 2, 300) * 1.0),
    "rare counts": lambda rng: rng.poisson(0.5, 300).astype(float),
    "counts": lambda rng: rng.poisson(2.0, 300).astype(float),
    "ratings": lambda rng: rng.binomial(4, 0.7, 300).astype(float),
    "one number": lambda rng: np.full(300, 7.0),
}
ROUNDED: dict[str, Draw] = {
    "milliseconds": lambda rng: -np.round(20.0 * (1.0 + rng.pareto(1.1, 300))),
    "short times": lambda rng: -np.round(2.0 * (1.0 + rng.pareto(1.1, 300))),
    "times near the unit": lambda rng: -np.round(1.0 + rng.pareto(1.3, 300)),
    "times below the unit": lambda rng: -np.ceil(0.5 * (1.0 + rng.pareto(0.8, 300))),
    "cents": lambda rng: np.round(300.0 * rng.standard_cauchy(300)) / 100,
    "coarse cents": lambda rng: np.round(0.5 * rng.standard_cauchy(300)) / 100,
    "units near the scale": lambda rng: np.round(rng.standard_cauchy(300)),
    "units near the scale, index 1.5": lambda rng: np.round(rng.standard_t(1.5, 300)),
    "minutes": lambda rng: np.round(10.0 * rng.standard_normal(300)),
    "continuous": lambda rng: rng.standard_normal(300),
}


@pytest.mark.parametrize("kind", ATOMS)
def test_atoms_repeat(kind: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert repeats(learned([ATOMS[kind](rng) for _ in range(3)]))


@pytest.mark.parametrize("kind", ROUNDED)
def test_rounded_numbers_do_not(kind: str) -> None:
    """Not even while they are few."""
    mistaken = 0
    for seed in range(25):
        spreads, ever = init_spreads(1), False
        for number in ROUNDED[kind](np.random.default_rng(seed)).tolist():
            learn_spread(spreads, 0, number)
            ever = ever or repeats(spreads)
        mistaken += ever
    assert mistaken <= (2 if "1.5" in kind else 0)


@pytest.mark.parametrize("exponent", [-600, 3, 600])
def test_powers_of_two_change_no_answer(exponent: int) -> None:
    for draw in (*ATOMS.values(), *ROUNDED.values()):
        numbers = draw(np.random.default_rng(4))[:150]
        scaled, plain = (learned([column]) for column in (np.ldexp(numbers, exponent), numbers))
        assert (scaled.steps, *scaled.powers, repeats(scaled)) == (plain.steps, *plain.powers, repeats(plain))


def test_steps_are_counted_whatever_the_offset() -> None:
    """Cents are not exact in binary, and less so far from 0."""
    cents = np.random.default_rng(3).integers(0, 4, 200)
    differences = np.abs(np.diff(cents))
    for offset in (0.0, 1e6, -1e6):
        spreads = learned([offset + cents / 100])
        assert spreads.step[0] == pytest.approx(0.01, rel=1e-6)
        assert spreads.steps[0] == np.count_nonzero(differences == 1)
        assert spreads.equal[0] == np.count_nonzero(differences == 0)


def test_light_tails_have_a_small_kurtosis() -> None:
    """Two values a step apart, equally often, and now and then a third: only how far it is away decides."""
    near, far = (np.tile([0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, third], 10) for third in (3.0, 300.0))
    assert repeats(learned([near]))
    assert not repeats(learned([far]))


def test_few_pairs_tell_nothing() -> None:
    assert not repeats(learned([np.zeros(20)]))
    assert repeats(learned([np.zeros(21)]))
