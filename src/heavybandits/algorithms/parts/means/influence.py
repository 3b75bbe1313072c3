r"""The influence function :math:`\psi(z) = \mathrm{sign}(z) \ln(1 + |z| + C |z|^p)`, which grows like a logarithm."""

from __future__ import annotations

import math

from ....protocols import compilable


@compilable
def influence(z: float, c: float, p: float) -> tuple[float, float]:
    r"""Return :math:`\psi(z)` and its derivative, for any finite z.

    Examples
    --------
    >>> influence(2.0, 0.5, 2.0) == (math.log(5.0), 0.6)
    True
    >>> round(influence(-1e300, 0.5, 2.0)[0], 6)
    -1380.857909
    """
    size = abs(z)
    if size > 1e8:  # |z|^p may overflow
        log = math.log(size)
        ratio = math.exp((1.0 - p) * log) / c
        psi = p * log + math.log(c) + math.log1p(ratio + ratio / size)
        return math.copysign(psi, z), (ratio + p) / (1.0 + ratio + ratio / size) / size
    # c |z|^(p - 1); a power costs as much as all the rest
    steep = c * size if p == 2.0 else c * size ** (p - 1.0)
    rest = size + steep * size
    return math.copysign(math.log1p(rest), z), (1.0 + p * steep) / (1.0 + rest)
