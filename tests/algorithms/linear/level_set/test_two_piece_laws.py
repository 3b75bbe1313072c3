"""Two-piece laws against numerical integration and their own definition."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize

from heavybandits.algorithms.linear._level_set.two_piece_laws import (
    ABOVE,
    BELOW,
    INFORMATION,
    LEARNED,
    LEAST_SQUARES,
    NORM,
    RATIO,
    SHARPNESS,
    SLACK,
    TAIL,
    WEIGHT,
    log_likelihood,
    loss_at,
    match,
    two_piece_table,
    weigh_all,
    weigh_one_by_one,
    weight_at,
)
from heavybandits.protocols import FloatArray

TABLE = two_piece_table(LEARNED)


def expectation(law: FloatArray, function: Callable[[float], float]) -> float:
    """Return the mean of a function of a residual under a law, by integration over both sides."""

    def integrand(z: float) -> float:
        return math.exp(-loss_at(law, z) - law[NORM]) * function(z)

    # The substitution z = x^3 makes even the heaviest tail easy to integrate.
    sides = (quad(lambda x, s=sign: 3 * x * x * integrand(s * x**3), 0, math.inf, limit=500)[0] for sign in (-1.0, 1.0))
    return float(sum(sides))


@pytest.mark.parametrize("law", TABLE, ids=str)
def test_what_follows_from_a_law_agrees_with_integration(law: FloatArray) -> None:
    assert expectation(law, lambda z: 1.0) == pytest.approx(1.0, rel=1e-5)
    assert expectation(law, lambda z: weight_at(law, z)) == pytest.approx(law[WEIGHT], rel=1e-5)
    assert expectation(law, lambda z: (weight_at(law, z) * z) ** 2) == pytest.approx(law[INFORMATION], rel=1e-5)
    sharpness = expectation(law, lambda z: (weight_at(law, z) * z * z - 1.0) ** 2)
    assert sharpness == pytest.approx(law[SHARPNESS], rel=1e-3)


@pytest.mark.parametrize("law", TABLE[:-1], ids=str)
def test_the_slack_averages_both_sides_and_the_width_has_the_lower_tail(law: FloatArray) -> None:
    slack = expectation(law, lambda z: 1.5 / ((law[BELOW] if z < 0.0 else law[ABOVE]) + 1.0))
    assert slack == pytest.approx(law[SLACK], rel=1e-5)
    assert law[TAIL] == law[BELOW] + 1.0


def test_the_slacks_of_the_contaminated_law_and_of_least_squares() -> None:
    assert (TABLE[-1, SLACK], TABLE[-1, TAIL]) == (1.5 / 4.0, 4.0)
    assert two_piece_table([LEAST_SQUARES])[0, SLACK] == 0.05


@pytest.mark.parametrize("law", TABLE, ids=str)
@pytest.mark.parametrize("z", [-7.0, -0.3, 0.2, 9.0])
def test_the_weight_is_the_slope_of_the_loss_over_z(law: FloatArray, z: float) -> None:
    slope = (loss_at(law, z + 1e-6) - loss_at(law, z - 1e-6)) / 2e-6
    assert weight_at(law, z) * z == pytest.approx(slope, rel=1e-6)


def test_mirrored_laws_mirror() -> None:
    laws = {(law[BELOW], law[ABOVE], law[RATIO]): law for law in TABLE}
    law, mirrored = laws[30.0, 1.0, 3.0], laws[1.0, 30.0, 1.0 / 3.0]
    for z in (-4.0, -0.5, 0.5, 4.0):  # the scale of the mirror image is that of its lower side, three times as large
        assert loss_at(law, z) == pytest.approx(loss_at(mirrored, -z / 3.0))


def test_least_squares_weighs_everything_alike() -> None:
    law = two_piece_table([LEAST_SQUARES])[0]
    assert [weight_at(law, z) for z in (-math.inf, -1e150, 0.0, 3.0, math.inf)] == [1.0] * 5
    assert law[INFORMATION] == law[WEIGHT] == 1.0


def test_wild_residuals_stay_finite() -> None:
    for law in TABLE:
        for z in (-math.inf, math.inf, -1e308, 1e308):
            assert 0.0 < weight_at(law, z) < 1e-100
            assert math.isfinite(loss_at(law, z))


@pytest.mark.parametrize("j", range(len(LEARNED)))
def test_the_match_is_near_the_likeliest_shift_and_scale(j: int) -> None:
    law, residuals = TABLE[j], np.random.default_rng(j).standard_t(2, 200)
    shift, scale = match(law, residuals, 200, 200.0, 1.0)
    best = minimize(
        lambda p: -log_likelihood(law, residuals, 200, p[0], math.exp(p[1]), 1.0), (shift, math.log(scale)), tol=1e-8
    )
    assert log_likelihood(law, residuals, 200, shift, scale, 1.0) == pytest.approx(-best.fun, abs=1.0)


def test_scales_solve_their_equation() -> None:
    # The scale of eight residuals with six degrees of freedom solves its equation at the matching shift.
    law, residuals = two_piece_table([(1.0, 1.0, 1.0)])[0], np.array([0.3, -1.0, 2.0, -0.1, 5.0, -40.0, 0.7, 0.2])
    shift, scale = match(law, residuals, 8, 6.0, 1.0)
    z = (residuals - shift) / scale
    assert (2.0 * z**2 / (1.0 + z**2)).sum() == pytest.approx(6.0, rel=5e-3)


@pytest.mark.parametrize("law", LEARNED)
def test_the_log_likelihood_is_minus_the_sum_of_losses(law: tuple[float, ...]) -> None:
    row, residuals = two_piece_table([law])[0], np.random.default_rng(3).standard_cauchy(500)
    residuals[[5, 6, 200, 201, 499]] = 1e150, -1e150, 1e120, 1e120, 1e150  # products of these would be infinite
    losses = sum(loss_at(row, (residual - 0.1) / 2.0) for residual in residuals)
    expected = -losses - 500 * (row[NORM] + math.log(2.0 / 3.0))
    assert log_likelihood(row, residuals, 500, 0.1, 2.0, 3.0) == pytest.approx(expected, rel=1e-12)


@given(
    st.integers(0, len(LEARNED) - 1),
    st.lists(st.floats(-1e150, 1e150) | st.floats(-5.0, 5.0), min_size=1, max_size=300),
    st.floats(-3.0, 3.0),
    st.floats(1e-3, 1e3),
)
def test_residuals_weigh_the_same_all_at_once(j: int, residuals: list[float], shift: float, scale: float) -> None:
    given_ = TABLE[j], np.array([*residuals, 7.0]), len(residuals), shift, scale
    assert weigh_all(*given_) == weigh_one_by_one(*given_)
