"""Random numbers that are the same, to the last bit, in compiled and interpreted code."""

from __future__ import annotations

import math
from typing import Any

from ...protocols import compilable


@compilable
def draw_gamma(rng: Any, shape: float) -> float:
    """Draw from the gamma law with this shape and scale 1, by the method of Marsaglia and Tsang (2000).

    The generator's own gamma draws differ in the last digit between NumPy and compiled code.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> round(float(np.mean([draw_gamma(rng, 2.5) for _ in range(10_000)])), 1)
    2.5
    """
    boost = 1.0
    if shape < 1.0:  # a gamma draw of shape + 1, times a power of a uniform draw
        boost = math.pow(1.0 - rng.random(), 1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = rng.standard_normal()
        root = 1.0 + c * x
        if root > 0.0:
            cube = root * root * root
            if math.log(1.0 - rng.random()) < 0.5 * x * x + d - d * cube + d * math.log(cube):
                return float(boost * d * cube)


@compilable
def draw_beta(rng: Any, a: float, b: float) -> float:
    """Draw from the beta law with these parameters.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> round(float(np.mean([draw_beta(rng, 3.0, 1.0) for _ in range(10_000)])), 2)
    0.75
    """
    x, y = draw_gamma(rng, a), draw_gamma(rng, b)
    return x / (x + y) if x + y > 0.0 else 0.5  # both underflow only if a and b are tiny
