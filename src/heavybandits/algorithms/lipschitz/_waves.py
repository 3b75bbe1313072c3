r"""Cosine waves on the unit cube: features in which a smooth function is linear.

Wave j, a vector of whole numbers, is the product over the axes of 1 if :math:`j_k = 0`, else of
:math:`\sqrt2 \cos(\pi j_k (x_k + 1/4)/(3/2))`.  These are orthogonal on the cube that is half as wide again, so a
function need not be flat at the sides of the unit cube.  A Gaussian process with the squared exponential kernel of
length scale :math:`\ell` is nearly :math:`\sum_j \theta_j w_j(x)` with independent :math:`\theta_j` of variance
proportional to

.. math::  \exp(-\tfrac12 \ell^2 \omega_j^2), \qquad \omega_j = \frac{\pi |j|}{3/2}

(Solin, Särkkä 2020).  The waves are the same for all length scales; only these variances differ.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from ...protocols import FloatArray, compilable

WIDTH, MARGIN = 1.5, 0.25  # side of the larger cube, and how far it reaches beyond the unit cube
ROOT_TWO = math.sqrt(2.0)


def lowest_waves(dim: int, number: int) -> FloatArray:
    """Return the waves of lowest frequency, a row of whole numbers each; ties are in lexicographic order.

    Examples
    --------
    >>> lowest_waves(dim=2, number=4).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    heap = [(0, (0,) * dim)]
    waves: list[tuple[int, ...]] = []
    while len(waves) < number:
        square, wave = heapq.heappop(heap)
        waves.append(wave)
        first = next((axis for axis in range(dim) if wave[axis]), dim - 1)  # so that each wave is reached once
        for axis in range(first + 1):
            higher = (*wave[:axis], wave[axis] + 1, *wave[axis + 1 :])
            heapq.heappush(heap, (square + 2 * wave[axis] + 1, higher))
    return np.array(waves, float)


@compilable
def wave_at(wave: FloatArray, x: FloatArray) -> float:
    """Return the height of a wave at a point.

    Examples
    --------
    >>> round(wave_at(np.array([0.0, 1.0]), np.array([0.7, 0.5])), 12)  # a node
    0.0
    """
    height = 1.0
    for axis in range(len(x)):
        if wave[axis] > 0.0:
            height *= ROOT_TWO * math.cos(math.pi * wave[axis] * (x[axis] + MARGIN) / WIDTH)
    return height


def wave_heights(waves: FloatArray, points: FloatArray) -> FloatArray:
    """Return the height of each wave at each point: what :func:`wave_at` returns, with fewer cosines.

    Examples
    --------
    >>> waves, points = lowest_waves(dim=2, number=4), np.array([[0.7, 0.5], [0.1, 0.2]])
    >>> bool((wave_heights(waves, points) == [[wave_at(wave, x) for x in points] for wave in waves]).all())
    True
    """
    heights = np.ones((len(waves), len(points)))
    for axis, places in enumerate(points.T.tolist()):
        factors = [
            [ROOT_TWO * math.cos(math.pi * turns * (x + MARGIN) / WIDTH) if turns > 0 else 1.0 for x in places]
            for turns in range(int(waves[:, axis].max()) + 1)
        ]
        heights *= np.array(factors)[waves[:, axis].astype(int)]
    return heights


@compilable
def wave_variance(wave: FloatArray, length_scale: float) -> float:
    """Return the variance of a wave's coefficient, relative to that of the constant.

    Examples
    --------
    >>> wave_variance(np.array([0.0, 0.0]), 0.5)
    1.0
    """
    square = 0.0
    for axis in range(len(wave)):
        square += wave[axis] * wave[axis]
    frequency = math.pi * length_scale / WIDTH
    return math.exp(-0.5 * frequency * frequency * square)
