"""Half widths against vectors, and how they grow."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_auto import LAWS

from heavybandits.algorithms.linear._level_set.half_widths import half_width, width_for
from heavybandits.algorithms.linear._level_set.two_piece_laws import two_piece_table


@pytest.mark.parametrize(
    ("h", "t", "scale", "degrees", "expected"),
    [
        (0.1, 100, 1.0, 1.0, 0.502944135),
        (0.1, 100, 1.0, 30.0, 0.336971365),
        (0.5, 100, 1.0, 1.0, 3.392783077),
        (0.01, 10_000, 2.0, 2.0, 0.564210935),
        (1.0, 12, 1.0, 1.0, 6.688014488),
    ],
)
def test_widths_with_the_older_level(h: float, t: int, scale: float, degrees: float, expected: float) -> None:
    law = two_piece_table([(degrees, degrees, 1.0)])[0]
    width = width_for(law, scale, t, 11.0, 1.0, math.inf)._replace(base=4 / 11, explore=4 / 11)
    assert half_width(width, h) == pytest.approx(expected, rel=1e-8)


def test_many_parameters_are_explored_less() -> None:
    for parameters, share in ((3.0, 1.0), (12.0, 1.0), (48.0, 0.25)):
        width = width_for(LAWS[0], 1.0, 50, parameters, 2.0, math.inf)
        assert width.explore == pytest.approx(2.0 * share)
        assert width.base == pytest.approx(0.6 * share)


@given(st.sampled_from(range(len(LAWS))), st.floats(1.0, 1e6), st.floats(1e-8, 1.0), st.floats(1e-9, 1.0))
def test_widths_grow_faster_than_the_root_of_the_leverage(law: int, t: float, high: float, share: float) -> None:
    for most, largest in ((math.inf, 1.0), (0.5, 1e3)):
        width, high = width_for(LAWS[law], 1.0, t, 5.0, 1.0, most), high * largest
        assert half_width(width, share * high) <= half_width(width, high) * math.sqrt(share) * (1.0 + 1e-9)


def test_widths_of_many_features_are_finite_where_others_are_not() -> None:
    few = width_for(LAWS[0], 1.0, 100, 20.0, 1.0, math.inf)
    many = few._replace(most=0.5)
    assert half_width(many, 0.4) == half_width(few, 0.4)
    assert half_width(few, 1e3) == math.inf
    assert 2.0 * half_width(many, 1e3) < half_width(many, 4e3) < math.inf
