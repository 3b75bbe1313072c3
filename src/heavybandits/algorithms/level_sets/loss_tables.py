r"""Tables of losses: the negative log density of a law of the noise, its score and its divergences.

A table holds values at 128 points z that are spaced evenly in :math:`y = z/(1 + |z|)`, and so cover the whole line.
Between them it is interpolated; beyond them a loss grows like :math:`2 \ln |z|`, as the Cauchy loss does, so that no
single reward can rule out an arm for good.

All laws are put on a common footing, since residuals could not tell them apart otherwise: z = 0 is the law's centre
according to the Cauchy loss, and the unit is the median absolute deviation from there.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same
from ...protocols import FloatArray, compilable
from ...world.noises import Gaussian, Noise, StudentT

BINS = 128
MIDDLE = 0.5 * (BINS - 1)  # where z = 0 lies between the bins
END = BINS - 1 - 1e-6  # |z| at which the bins end, a little early so that rounding cannot lead beyond the last
ONE = np.uint64(1)  # compiled code takes half the time for indices that cannot be negative
SHIFTS = 48
SMALLEST_SHIFT, LARGEST_SHIFT = 0.02, 60.0
MOST_INFORMATION = 1.0  # of a law: one with an edge has more, and steps by its inverse would be too short
BLUR = 0.25  # units over which the density of such a law is averaged, so that its score has no spike
FARTHEST_RESIDUAL = 1e300  # residuals in units of the scale are clipped here, so that losses stay finite


class Losses(NamedTuple):
    """The tables, with a row per law."""

    rho: FloatArray  # (law, bin): the loss
    score: FloatArray  # (law, bin): its derivative
    information: FloatArray  # (law,): mean of the squared score, at most MOST_INFORMATION
    divergence: FloatArray  # (law, shift): mean of rho(Z - d) - rho(Z), at most d²/2, never decreasing in d
    slack: FloatArray  # (law,): h in the correction n/(n - h) of levels
    mode: FloatArray  # (law,): where the loss is least
    beside: FloatArray  # (bin, law): the losses again, with those of all laws side by side

    def check(self, fresh: Losses, n_arms: int) -> None:
        """Refuse tables of other laws."""
        require_same(self, fresh, *self._fields)


@compilable
def at(table: FloatArray, z: float, tail: float) -> float:
    """Return a table's value at z; beyond its ends, ``tail`` times the growth of ``ln(1 + |z|)`` is added.

    Examples
    --------
    >>> import heavybandits as hb
    >>> rho = tabulate((hb.Cauchy(),)).rho[0]
    >>> round(at(rho, 3.0, 2.0) - at(rho, 0.0, 2.0), 1)  # ln(1 + 3²)
    2.3
    """
    size = abs(z)
    if not size < END:  # NaN, from a scale without an inverse, counts as far
        return float(table[0 if z < 0.0 else BINS - 1] + tail * math.log((1.0 + min(FARTHEST_RESIDUAL, size)) / BINS))
    position = z / (1.0 + size) * (BINS / 2) + MIDDLE
    left = np.uint64(position)
    return float(table[left] + (position - left) * (table[left + ONE] - table[left]))


@compilable
def weigh(evidence: FloatArray, beside: FloatArray, z: float) -> None:
    """Subtract half of each law's loss at z from its evidence: half, since location and scale are not exact."""
    size = abs(z)
    if not size < END:
        row, beyond = 0 if z < 0.0 else BINS - 1, 2.0 * math.log((1.0 + min(FARTHEST_RESIDUAL, size)) / BINS)
        for law in range(len(evidence)):
            evidence[law] -= 0.5 * (beside[row, law] + beyond)
        return
    position = z / (1.0 + size) * (BINS / 2) + MIDDLE
    left = np.uint64(position)
    part = position - left
    for law in range(len(evidence)):
        evidence[law] -= 0.5 * (beside[left, law] + part * (beside[left + ONE, law] - beside[left, law]))


_RATIO = math.log(LARGEST_SHIFT / SMALLEST_SHIFT) / (SHIFTS - 1)
_SHIFT = np.array([SMALLEST_SHIFT * math.exp(k * _RATIO) for k in range(SHIFTS)])  # spaced evenly in their logarithm


@compilable
def shift_of(divergence: FloatArray, wanted: float) -> float:
    """Return the shift, in units of the scale, at which the divergence has the wanted value.

    Examples
    --------
    >>> import heavybandits as hb
    >>> divergence = tabulate((hb.Cauchy(),)).divergence[0]
    >>> round(shift_of(divergence, hb.Cauchy().kl_shift(1.5)), 1)
    1.5
    """
    if wanted <= divergence[0]:
        return SMALLEST_SHIFT * math.sqrt(wanted / divergence[0])
    if wanted >= divergence[SHIFTS - 1]:
        return LARGEST_SHIFT * math.exp(0.5 * (wanted - divergence[SHIFTS - 1]))
    low, high = 0, SHIFTS - 1
    while high - low > 1:
        middle = (low + high) // 2
        if divergence[middle] <= wanted:
            low = middle
        else:
            high = middle
    part = (wanted - divergence[low]) / (divergence[high] - divergence[low])
    return float(_SHIFT[low] + part * (_SHIFT[high] - _SHIFT[low]))


@dataclass(frozen=True)
class TwoPiece:
    """Student's t with ``left`` degrees of freedom below zero, and ``right``, with ``ratio`` times the scale, above.

    With infinitely many degrees of freedom, that half is Gaussian.

    Examples
    --------
    >>> law = TwoPiece(1.0, math.inf, 0.5)
    >>> law.quantile(np.array([0.25, 0.75])).round(3).tolist()
    [-1.633, 0.078]
    """

    left: float
    right: float
    ratio: float = 1.0

    def _halves(self) -> tuple[Any, Any]:
        left, right = (Gaussian() if math.isinf(df) else StudentT(df) for df in (self.left, self.right))
        return left, right

    def log_pdf(self, x: FloatArray) -> FloatArray:
        """Return the logarithm of the density."""
        left, right = self._halves()
        low, high = left.log_pdf(x) - left.log_pdf(0.0), right.log_pdf(x / self.ratio) - right.log_pdf(0.0)
        shape = np.where(x < 0.0, low, high)
        below, above = 0.5 / left.pdf(0.0), 0.5 * self.ratio / right.pdf(0.0)
        return np.asarray(shape - math.log(below + above))

    def quantile(self, u: FloatArray) -> FloatArray:
        """Invert the distribution function."""
        left, right = self._halves()
        below, above = 0.5 / left.pdf(0.0), 0.5 * self.ratio / right.pdf(0.0)
        share = below / (below + above)
        low = left.quantile(np.minimum(0.5 * u / share, 0.5))
        high = right.quantile(np.maximum(1.0 - 0.5 * (1.0 - u) / (1.0 - share), 0.5))
        return np.asarray(np.where(u < share, low, self.ratio * high))


Law = Noise | TwoPiece


@functools.cache
def footing(law: Law) -> tuple[float, float]:
    """Return the centre according to the Cauchy loss, and the median absolute deviation from there.

    Examples
    --------
    >>> import heavybandits as hb
    >>> centre, unit = footing(hb.Gaussian(scale=2.0))
    >>> round(abs(centre), 9), round(unit / 2, 3)
    (0.0, 0.674)
    """
    draws = law.quantile((np.arange(4000) + 0.5) / 4000)
    centre = float(np.median(draws))
    for _ in range(30):
        unit = float(np.median(np.abs(draws - centre)))
        weights = 1.0 / (1.0 + ((draws - centre) / unit) ** 2)
        centre = float(weights @ draws / weights.sum())
    return centre, unit


def tabulate(laws: tuple[Law, ...], doubt: float = 0.0) -> Losses:
    """Tabulate the losses -ln((1 - doubt) f + doubt g) of laws with densities f, where g is the Cauchy density.

    Examples
    --------
    >>> import heavybandits as hb
    >>> losses = tabulate((hb.Cauchy(scale=3.0), hb.Gaussian()))
    >>> losses.rho.shape, losses.information.round(1).tolist()
    ((2, 128), [0.5, 0.5])
    """
    rows = zip(*(_tables(law, doubt) for law in laws), strict=True)
    rho, score, information, divergence, slack = map(np.stack, rows)
    return Losses(
        rho=rho,
        score=score,
        information=information,
        divergence=divergence,
        slack=slack,
        mode=_points(BINS)[rho.argmin(axis=1)],
        beside=np.ascontiguousarray(rho.T),
    )


@functools.cache
def _tables(law: Law, doubt: float, blur: float = 0.0) -> tuple[FloatArray, ...]:
    centre, unit = footing(law)

    def loss(z: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs = law.log_pdf(centre + unit * (z[:, None] + blur * np.linspace(-1.0, 1.0, 9 if blur else 1)))
        density = np.maximum(unit * np.exp(logs).mean(axis=1), 1e-300)
        return np.asarray(-np.log((1.0 - doubt) * density + doubt / (math.pi * (1.0 + z * z))))

    z = _points(BINS)
    rho = loss(z)
    score = np.concatenate(([rho[1] - rho[0]], rho[2:] - rho[:-2], [rho[-1] - rho[-2]]))
    score /= np.concatenate(([z[1] - z[0]], z[2:] - z[:-2], [z[-1] - z[-2]]))
    fine = _points(16 * BINS)
    own = loss(fine)
    weight = np.exp(-own) * (1.0 + np.abs(fine)) ** 2
    weight /= weight.sum()
    information = weight @ np.interp(fine, z, score) ** 2
    if information > MOST_INFORMATION and not blur:
        return _tables(law, doubt, BLUR)
    means = np.array([weight @ (loss(fine - shift) - own) for shift in _SHIFT])
    divergence = np.maximum.accumulate(np.clip(means, 1e-12, 0.5 * MOST_INFORMATION * _SHIFT**2))
    return rho, score, np.asarray(min(information, MOST_INFORMATION)), divergence, np.asarray(_slack(law, centre, unit))


def _points(n: int) -> FloatArray:
    """Return the points at which tables hold values."""
    y = (np.arange(n) + 0.5) / (n / 2) - 1.0
    return np.asarray(y / (1.0 - np.abs(y)))


def _slack(law: Law, centre: float, unit: float) -> float:
    """Return 3/2 divided by the exponent, at least 2, of the density's lower tail; zero if it falls faster."""
    with np.errstate(divide="ignore", invalid="ignore"):
        near, far = law.log_pdf(centre - unit * np.array([1e3, 2e3]))
        exponent = (near - far) / math.log(2.0)
    return 1.5 / max(exponent, 2.0) if exponent < 20.0 else 0.0
