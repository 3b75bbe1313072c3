"""Lipschitz instances: suprema against known ones, keys, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.protocols import FloatArray
from heavybandits.world.functions import functions
from heavybandits.world.halton import halton

# Known suprema: by hand, or from the literature (Hartmann), or by Newton's method from the best point of a fine grid.
SUPREMA = {
    "lu-2019": 0.0,
    "lu-2019-low": -2.0,
    "peak": 1.0,
    "bump": 0.180375471,
    "garland": 0.997772379,
    "double-sine": 0.975599144,
    "plateau": 0.5,
    "himmelblau": 0.0,
    "hartmann-3": 3.862779787,
}


def test_every_function_has_a_known_supremum() -> None:
    assert SUPREMA.keys() == functions().keys()


@pytest.mark.parametrize("name", SUPREMA)
def test_suprema_are_found(name: str) -> None:
    instance = hb.LipschitzInstance(name, hb.Cauchy(), functions()[name].dim or 1)
    assert instance.supremum == pytest.approx(SUPREMA[name], abs=2e-8)


@settings(max_examples=20)
@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.5, 1.0, 2.0]))
def test_the_top_of_any_hill_is_found(u: float, v: float, power: float) -> None:
    def hill(x: FloatArray) -> FloatArray:
        away: FloatArray = np.maximum(np.abs(x[:, 0] - u), np.abs(x[:, 1] - v))
        return 3.0 - away**power

    instance = hb.LipschitzInstance(hill, hb.Gaussian(), dim=2)
    assert 3.0 - 1e-5 <= instance.supremum <= 3.0


def test_gaps_are_of_centres_of_boxes() -> None:
    instance = hb.LipschitzInstance("peak", hb.Gaussian(), dim=1)
    assert instance.n_arms == 64
    np.testing.assert_allclose(instance.gaps, np.abs((np.arange(64) + 0.5) / 64 - 0.3), atol=1e-9)
    assert hb.LipschitzInstance("peak", hb.Gaussian(), dim=7).n_arms == 64


def test_the_key_is_of_what_points_pay() -> None:
    one = hb.LipschitzInstance("peak", hb.Cauchy())
    same = hb.LipschitzInstance(lambda x: 1.0 - np.abs(x - 0.3).max(axis=1), hb.Cauchy(1))
    assert one == same
    assert (hash(one), one.key) == (hash(same), same.key)
    for other in (
        hb.LipschitzInstance("peak", hb.Cauchy(2)),
        hb.LipschitzInstance("bump", hb.Cauchy()),
        hb.LipschitzInstance("peak", hb.Cauchy(), dim=2),
    ):
        assert other != one
    assert one != "peak"


def test_it_tells_what_it_is() -> None:
    instance = hb.LipschitzInstance("peak", hb.Cauchy(), dim=2)
    assert repr(instance) == "LipschitzInstance(function='peak', noise=Cauchy(scale=1.0), dim=2)"
    assert instance.lai_robbins(100) is None


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown function 'paek'; did you mean 'peak'"):
        hb.LipschitzInstance("paek", hb.Cauchy())
    with pytest.raises(ValueError, match="dim must be 2 for 'himmelblau', got 1"):
        hb.LipschitzInstance("himmelblau", hb.Cauchy())
    with pytest.raises(TypeError, match="function must be a callable or a known name, got 3"):
        hb.LipschitzInstance(3, hb.Cauchy())  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"function must return 20000 finite values .*, got an array of shape \(20000, 1\)$"
    ):
        hb.LipschitzInstance(lambda x: x, hb.Cauchy())
    with pytest.raises(ValueError, match=r"finite values .*, got nan$"):
        hb.LipschitzInstance(lambda x: np.full(len(x), math.nan), hb.Cauchy())
    with pytest.raises(TypeError, match="noise must be an object with a method sample"):
        hb.LipschitzInstance("peak", 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dim must be a positive whole number, got 0"):
        hb.LipschitzInstance("peak", hb.Cauchy(), dim=0)


@pytest.mark.parametrize(("dim", "base"), [(0, 2), (1, 3), (2, 5)])
def test_halton_turns_digits_around(dim: int, base: int) -> None:
    points = halton(40, 3)[:, dim]
    for number in range(1, 41):
        digits, rest = [], number
        while rest:
            digits.append(rest % base)
            rest //= base
        assert points[number - 1] == pytest.approx(sum(d / base ** (i + 1) for i, d in enumerate(digits)))
