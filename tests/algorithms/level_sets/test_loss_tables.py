"""Tables of losses against their formulas, and the laws they are made from."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import heavybandits as hb
from heavybandits.algorithms.level_sets.loss_tables import BINS, TwoPiece, at, footing, shift_of, tabulate, weigh
from heavybandits.algorithms.policies.level_set_ucb import LEARNED_LAWS

pytestmark = pytest.mark.usefixtures("silent")

CAUCHY = tabulate((hb.Cauchy(),))


@settings(max_examples=200, derandomize=True)
@given(st.floats(-1e6, 1e6) | st.floats(-10, 10))
def test_a_table_is_the_loss_up_to_interpolation(z: float) -> None:
    exact = math.log(math.pi * (1 + z * z))
    error = 0.001 if abs(z) < 2 else 0.008 if abs(z) < 10 else 0.4
    assert at(CAUCHY.rho[0], z, 2.0) == pytest.approx(exact, abs=error)


def test_no_residual_is_too_large() -> None:
    assert at(CAUCHY.rho[0], math.inf, 2.0) == at(CAUCHY.rho[0], -math.inf, 2.0) < math.inf
    assert abs(at(CAUCHY.score[0], 1e308, 0.0)) < 0.1


def test_no_residual_counts_as_far() -> None:
    """A residual of 0 in units of a scale without an inverse is NaN, which must not be looked up in the table."""
    losses = tabulate((hb.Cauchy(), hb.Gaussian()))
    assert at(losses.rho[0], math.nan, 2.0) == at(losses.rho[0], math.inf, 2.0) == at(losses.rho[0], 1e300, 2.0)
    by_nan, by_far = np.zeros(2), np.zeros(2)
    weigh(by_nan, losses.beside, math.nan)
    weigh(by_far, losses.beside, math.inf)
    assert_array_equal(by_nan, by_far)


def test_tables_cover_the_line() -> None:
    assert CAUCHY.rho.shape == (1, BINS)
    assert at(CAUCHY.rho[0], 127.0, 2.0) == pytest.approx(math.log(math.pi * (1 + 127**2)), abs=1e-6)


@pytest.mark.parametrize(
    ("noise", "information"),
    [(hb.Cauchy(scale=3.0), 0.5), (hb.Gaussian(), 0.6744897501960817**2), (hb.StudentT(3.0), 0.39)],
)
def test_information_and_divergence_are_the_laws(noise: Any, information: float) -> None:
    """In units of the median absolute deviation: the information of t with 3 degrees of freedom is 4/6."""
    losses, unit = tabulate((noise,)), footing(noise)[1]
    assert losses.information[0] == pytest.approx(information, rel=0.01)
    for shift in (0.05, 0.4, 1.0, 3.0):
        assert shift_of(losses.divergence[0], noise.kl_shift(shift * unit)) == pytest.approx(shift, rel=0.03)


def test_laws_are_put_on_a_common_footing() -> None:
    """A shifted and scaled law has the same table, and its centre is where the Cauchy loss is least."""
    narrow, wide = tabulate((hb.LogNormal(0.5),)), tabulate((hb.ScipyNoise(_shifted_log_normal()),))
    inside = narrow.rho < 600
    np.testing.assert_allclose(narrow.rho[inside], wide.rho[inside], rtol=1e-4, atol=1e-6)
    centre, unit = footing(hb.Frechet(1.0))
    draws = hb.Frechet(1.0).quantile((np.arange(20_000) + 0.5) / 20_000)
    assert np.median(np.abs(draws - centre)) == pytest.approx(unit, rel=1e-2)
    z = (draws - centre) / unit
    assert np.mean(2 * z / (1 + z * z)) == pytest.approx(0, abs=2e-3)


def _shifted_log_normal() -> Any:
    import scipy.stats

    return scipy.stats.lognorm(s=0.5, loc=-7.0, scale=30.0)


@pytest.mark.parametrize("law", LEARNED_LAWS, ids=repr)
def test_two_pieces_make_a_density(law: TwoPiece) -> None:
    levels = np.linspace(0.01, 0.99, 99)
    x = law.quantile(levels)
    grid = np.linspace(x[0], x[-1], 200_001)
    density = np.exp(law.log_pdf(grid))
    mass = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(grid))))
    np.testing.assert_allclose(0.01 + np.interp(x, grid, mass), levels, atol=2e-4)


def test_levels_are_corrected_for_heavy_lower_tails_alone() -> None:
    slack = tabulate(LEARNED_LAWS).slack
    assert slack.tolist() == pytest.approx([0.75, 0.375, 0.0, 0.0, 0.75, 0.375, 0.75], abs=1e-3)
    assert tabulate((hb.Frechet(1.0), hb.SymmetricStable(0.5))).slack.tolist() == [0.0, 0.75]
