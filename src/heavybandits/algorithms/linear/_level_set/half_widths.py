r"""Half widths of the level sets of a linear model.

An arm with n rewards has the level set :math:`\{d : n\,\mathrm{KL}(d) \le \ell\}`.  For a row x of features, the
leverage :math:`h = (x - \bar x)'P(x - \bar x)` replaces 1/n, and the number D of determined parameters replaces K:

.. math::  u = \frac{t\,h}{D},\qquad
           \ell = \frac{1}{1 - kh}\ln\bigl(1 + c\,a\,(0.3 + u(1 + \tfrac{2k}{3}\ln^2(1 + u)))\bigr),\qquad
           w(h) = s\,\sqrt{\frac{\nu_- + 1}{I}\Bigl(e^{2\ell h/(\nu_- + 1)} - 1\Bigr)},

where a = min(1, 12/D), I is the information of the law and k its slack (see :mod:`.two_piece_laws`).  With many
features, h is at most 1/2 in the exponent and in 1 - kh, and w(h) is multiplied by :math:`\sqrt{2h}` where it is
larger: of such rows hardly a reward is known, so that the ridge bounds what they may pay, and the ridge is a normal
law, not one with heavy tails.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ....protocols import FloatArray, compilable, rarely_called
from .two_piece_laws import INFORMATION, SLACK, TAIL

WIDEST = 600.0  # beyond this exponent, widths count as infinite
EXPLORED_AT_FIRST = 0.3
EXPLORED_PARAMETERS = 12.0  # parameters beyond which each is explored less: a = min(1, EXPLORED_PARAMETERS/D)


class Width(NamedTuple):
    """What half widths depend on besides the leverage."""

    pace: float  # t/D
    base: float  # 0.3 c a
    explore: float  # c a
    slack: float
    reach: float  # s² (nu + 1)/I; infinite before there is a scale
    rate: float  # 2/(nu + 1)
    most: float  # leverage beyond which widths grow like those of normal noise


@compilable
def explored_share(parameters: float) -> float:
    """Return a, how much each of so many parameters is explored."""
    return min(1.0, EXPLORED_PARAMETERS / parameters)


@compilable
def width_for(law: FloatArray, scale: float, t: float, parameters: float, c: float, most: float) -> Width:
    """Return what half widths depend on after t rewards."""
    explore = c * explored_share(parameters)
    reach = scale * scale * law[TAIL] / law[INFORMATION]
    return Width(
        pace=t / parameters,
        base=EXPLORED_AT_FIRST * explore,
        explore=explore,
        slack=law[SLACK],
        reach=reach,
        rate=2.0 / law[TAIL],
        most=most,
    )


@rarely_called
def half_width(width: Width, leverage: float) -> float:
    """Return the half width of the level set at a leverage.

    Examples
    --------
    >>> import numpy as np
    >>> cauchy = {"slack": 0.75, "reach": 4.0, "rate": 1.0, "most": math.inf}
    >>> width = Width(pace=100 / 11, base=4 / 11, explore=4 / 11, **cauchy)
    >>> round(half_width(width, 0.1), 6), half_width(width, 2.0)
    (0.502944, inf)
    >>> round(half_width(width._replace(most=0.5), 2.0), 6)  # as among many features
    16.444341
    """
    held = min(leverage, width.most)  # beyond it, what is not known is mostly the ridge's, and the ridge is normal
    slack = 1.0 - width.slack * held
    if slack <= 0.001 or width.reach == math.inf:
        return math.inf
    u = width.pace * leverage
    lead = math.log(1.0 + u)
    level = math.log(1.0 + width.base + width.explore * u * (1.0 + 2.0 / 3.0 * width.slack * lead * lead)) / slack
    exponent = width.rate * level * held
    if exponent > WIDEST:
        return math.inf
    grown = leverage / held if leverage > held else 1.0
    return math.sqrt(width.reach * math.expm1(exponent) * grown)
