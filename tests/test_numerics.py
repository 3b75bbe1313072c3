"""Small compiled functions that several rooms share."""

import pytest

from heavybandits.numerics import power


def test_powers_agree_with_the_operator() -> None:
    for exponent in (0.5, 1.0, 2.0, 3.0, 11.0, 32.0, 33.0, 34.0, 2.5, 1e6):
        for x in (0.0, 0.3, 0.999999, 1.0):
            assert power(x, exponent) == pytest.approx(x**exponent, rel=1e-14)
