"""Named functions on the unit cube, to be maximised: some from the literature, and a few difficult shapes.

Each takes an array of points, (n, dim), and returns n values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..protocols import FloatArray

Function = Callable[[FloatArray], FloatArray]


class Named(NamedTuple):
    """A function that study files may name."""

    function: Function
    dim: int  # 0 if any will do


def lu_2019(x: FloatArray) -> FloatArray:
    """Return minus the distance to the nearer of 0.4 and 0.8: two peaks of equal height.

    Examples
    --------
    >>> lu_2019(np.array([[0.4], [0.5]])).round(3).tolist()
    [0.0, -0.1]
    """
    values: FloatArray = 0.0 - np.minimum(np.abs(x[:, 0] - 0.4), np.abs(x[:, 0] - 0.8))
    return values


def lu_2019_low(x: FloatArray) -> FloatArray:
    """Return the same two peaks, lowered by 2: hard for methods that must be told a raw moment.

    Examples
    --------
    >>> lu_2019_low(np.array([[0.4]])).tolist()
    [-2.0]
    """
    return lu_2019(x) - 2.0


def peak(x: FloatArray) -> FloatArray:
    """Return 1 minus the largest distance of a coordinate from 0.3.

    Examples
    --------
    >>> peak(np.array([[0.3, 0.5]])).round(3).tolist()
    [0.8]
    """
    values: FloatArray = 1.0 - np.abs(x - 0.3).max(axis=1)
    return values


def bump(x: FloatArray) -> FloatArray:
    """Return a bump at 0.3 that is 0.15 high, on a gentle slope.

    Examples
    --------
    >>> bump(np.array([[0.3], [1.0]])).round(3).tolist()
    [0.18, 0.1]
    """
    values: FloatArray = 0.15 * np.exp(-(((x[:, 0] - 0.3) / 0.15) ** 2)) + 0.1 * x[:, 0]
    return values


def garland(x: FloatArray) -> FloatArray:
    """Return an arch with many cusps, the highest near 0.52 with a value of 0.99777.

    Examples
    --------
    >>> garland(np.array([[0.0], [np.pi / 6]])).round(3).tolist()
    [0.0, 0.998]
    """
    z = x[:, 0]
    values: FloatArray = 4.0 * z * (1.0 - z) * (1.0 - 0.25 * np.sqrt(np.abs(np.sin(60.0 * z))))
    return values


def double_sine(x: FloatArray) -> FloatArray:
    """Return half the product of two sines, plus a half: six smooth hills, the highest with a value of 0.9756.

    Examples
    --------
    >>> double_sine(np.array([[0.867526]])).round(4).tolist()
    [0.9756]
    """
    z = x[:, 0]
    values: FloatArray = 0.5 * np.sin(13.0 * z) * np.sin(27.0 * z) + 0.5
    return values


def plateau(x: FloatArray) -> FloatArray:
    """Return 0 except for a flat top of height 0.5 from 0.55 to 0.7, with sides that are 0.05 wide.

    Examples
    --------
    >>> plateau(np.array([[0.2], [0.525], [0.6]])).round(3).tolist()
    [0.0, 0.25, 0.5]
    """
    values: FloatArray = 0.5 * np.clip(1.0 - (np.abs(x[:, 0] - 0.625) - 0.075) / 0.05, 0.0, 1.0)
    return values


def himmelblau(x: FloatArray) -> FloatArray:
    """Return minus Himmelblau's function on [-5, 5]^2 divided by 890, its largest value there: four peaks of height 0.

    Examples
    --------
    >>> himmelblau(np.array([[0.8, 0.6], [0.0, 0.0]])).round(3).tolist()
    [-0.011, -0.281]
    """
    u, v = 10.0 * x[:, 0] - 5.0, 10.0 * x[:, 1] - 5.0
    values: FloatArray = -((u * u + v - 11.0) ** 2 + (u + v * v - 7.0) ** 2) / 890.0
    return values


def hartmann_3(x: FloatArray) -> FloatArray:
    """Return minus Hartmann's function in three dimensions: four hills, the highest with a value of 3.86278.

    Examples
    --------
    >>> hartmann_3(np.array([[0.114614, 0.555649, 0.852547]])).round(4).tolist()
    [3.8628]
    """
    heights = np.array([1.0, 1.2, 3.0, 3.2])
    steepness = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0]] * 2)
    tops = np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) / 10_000
    away = (steepness * (x[:, None, :] - tops) ** 2).sum(axis=2)
    values: FloatArray = np.exp(-away) @ heights
    return values


def functions() -> dict[str, Named]:
    """Return the functions by name.

    Examples
    --------
    >>> functions()["himmelblau"].dim
    2
    """
    known = {lu_2019: 1, lu_2019_low: 1, peak: 0, bump: 1, garland: 1, double_sine: 1, plateau: 1, himmelblau: 2,
             hartmann_3: 3}  # fmt: skip
    return {function.__name__.replace("_", "-"): Named(function, dim) for function, dim in known.items()}
