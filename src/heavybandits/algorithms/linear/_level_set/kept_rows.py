"""The first rows and their rewards, which lines are fitted to; of a sparse row, only what is not zero is kept.

A row of which at most a quarter is not zero is kept as these numbers, followed by their places.  So a pass over all
rows takes time in proportion to the numbers that are not zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._validate import require_within
from ....protocols import FloatArray, IntArray, compilable, rarely_called
from .robust_line import SPARSE_SHARE, Line, init_line

REMOTE = 1e-4  # a variance below this share of the mean square: the feature lies far from 0, as a year or a time does
VARIANCE_ROUNDING = 1e-24  # a variance below this share may be rounding


class Rows(NamedTuple):
    """The first rows and their rewards, and scratch for fits to them."""

    x: FloatArray  # (row, d): a row, or what of it is not zero and, from the quarter on, where that stands
    filled: IntArray  # (row,): how many numbers of a sparse row are kept; d if the row is not sparse
    y: FloatArray  # (row,)
    size: IntArray  # array of length one: number of rows
    origin: FloatArray  # (d,): mean of features that are never zero, and zero for all others; what rows are taken from
    middle: FloatArray  # (d,): mean row
    residuals: FloatArray  # (row,)
    weights: FloatArray  # (row,)
    gram: FloatArray  # (d, d): scratch: the centred, weighted Gram matrix with its ridge, then its Cholesky factor
    block: FloatArray  # (4, d): scratch: rows that enter the Gram matrix together
    total: FloatArray  # (d,): scratch, and so are the following
    right: FloatArray  # (d,)
    course: FloatArray  # (d,)
    image: FloatArray  # (d,)
    bent: FloatArray  # (d,)
    rival: Line  # a second start

    def check(self, fresh: Rows, n_arms: int) -> None:
        """Refuse more rows than there is room for, and places that do not exist."""
        d = self.x.shape[1]
        require_within("size", self.size, 0, len(self.y))
        require_within("filled", self.filled, 0, d)
        quarter = d // SPARSE_SHARE
        is_place = (self.filled <= quarter)[:, None] & (np.arange(quarter) < self.filled[:, None])
        places = self.x[:, quarter : 2 * quarter][is_place]
        if not ((places >= 0) & (places < d) & (places == np.floor(places))).all():
            raise ValueError(f"places of features must be whole numbers from 0 to {d - 1}")


def init_rows(n_features: int, room: int) -> Rows:
    """Return no rows, with room for ``room`` of them."""
    d = n_features
    vectors = {name: np.zeros(d) for name in ("origin", "middle", "total", "right", "course", "image", "bent")}
    return Rows(
        x=np.zeros((room, d)),
        filled=np.zeros(room, np.int64),
        size=np.zeros(1, np.int64),
        gram=np.zeros((d, d)),
        block=np.zeros((4, d)),
        rival=init_line(d),
        **vectors,
        **{name: np.zeros(room) for name in ("y", "residuals", "weights")},
    )


@compilable
def keep(rows: Rows, x: FloatArray, reward: float) -> bool:
    """Keep a row if there is room, and return whether there was."""
    n, d = rows.size[0], len(x)
    if n == len(rows.y):
        return False
    quarter, filled = d // SPARSE_SHARE, 0
    for i in range(d):
        if x[i] != 0.0:
            filled += 1
            if filled <= quarter:
                rows.x[n, filled - 1], rows.x[n, quarter + filled - 1] = x[i], float(i)
    if filled > quarter:
        filled = d
        for i in range(d):
            rows.x[n, i] = x[i]
    rows.filled[n], rows.y[n] = filled, reward
    rows.size[0] = n + 1
    return True


@compilable
def project(rows: Rows, k: int, direction: FloatArray) -> float:
    """Return the product of a direction and what row k differs from the origin by."""
    x, origin, d, filled = rows.x[k], rows.origin, len(direction), rows.filled[k]
    if filled < d:
        total, quarter = 0.0, d // SPARSE_SHARE
        for m in range(filled):
            i = int(x[quarter + m])
            total += (x[m] - origin[i]) * direction[i]
        return total
    p, q, r, s = 0.0, 0.0, 0.0, 0.0  # four sums, so that none has to wait for the last product
    whole = d // 4 * 4
    for i in range(0, whole, 4):
        p += (x[i] - origin[i]) * direction[i]
        q += (x[i + 1] - origin[i + 1]) * direction[i + 1]
        r += (x[i + 2] - origin[i + 2]) * direction[i + 2]
        s += (x[i + 3] - origin[i + 3]) * direction[i + 3]
    for i in range(whole, d):
        p += (x[i] - origin[i]) * direction[i]
    return float((p + q) + (r + s))


def project_all(rows: Rows, direction: FloatArray) -> FloatArray:
    """Return what :func:`project` returns of each row, if none is sparse."""
    n, d = rows.size[0], len(direction)
    products = (rows.x[:n] - rows.origin) * direction
    sums, whole = np.zeros((4, n)), d // 4 * 4
    for i in range(0, whole, 4):
        sums += products[:, i : i + 4].T
    for i in range(whole, d):
        sums[0] += products[:, i]
    p, q, r, s = sums
    return np.asarray((p + q) + (r + s))


@compilable
def add_share(rows: Rows, k: int, share: float, total: FloatArray) -> None:
    """Add a share of what row k differs from the origin by."""
    x, origin, d, filled = rows.x[k], rows.origin, len(total), rows.filled[k]
    if filled < d:
        quarter = d // SPARSE_SHARE
        for m in range(filled):
            i = int(x[quarter + m])
            total[i] += share * (x[m] - origin[i])
    else:
        for i in range(d):
            total[i] += share * (x[i] - origin[i])


def add_shares(rows: Rows, shares: FloatArray, total: FloatArray) -> None:
    """Do what :func:`add_share` does with each row, if none is sparse."""
    parts = shares[:, None] * (rows.x[: len(shares)] - rows.origin)
    total[:] = np.cumsum(np.vstack([total, parts]), axis=0)[-1]


def is_full(rows: Rows) -> bool:
    """Return whether no row is sparse."""
    return bool(rows.filled[: rows.size[0]].min() == rows.x.shape[1])


@rarely_called
def write_squares(rows: Rows, square: FloatArray) -> float:
    """Write the mean row, the origin, and the mean square of each feature where it is not zero.

    Return how many features of a row are not zero.  If mean squares counted zeros, a rare level of a category would be
    expected to matter more than a frequent one.  Of a feature that lies far from 0, the variance is written: the model
    has an intercept, so that distance says nothing about how large a coefficient is to be expected.
    """
    n, d, quarter = rows.size[0], len(square), len(square) // SPARSE_SHARE
    middle, origin, variance, count = rows.middle, rows.origin, rows.right, rows.total
    for i in range(d):
        middle[i] = origin[i] = square[i] = count[i] = variance[i] = 0.0
    for turn in range(2):
        for k in range(n):
            filled = rows.filled[k]
            for m in range(filled):
                i = int(rows.x[k, quarter + m]) if filled < d else m
                value = rows.x[k, m]
                if turn == 0:
                    middle[i] += value / n
                    square[i] += value * value / n
                    count[i] += 1.0 if value != 0.0 else 0.0
                else:
                    variance[i] += (value - middle[i]) * (value - middle[i]) / n
    filled = 0.0
    for i in range(d):
        filled += count[i] / n
        if 0.0 < count[i] < n:
            square[i] *= n / count[i]
        if count[i] == n:
            origin[i] = middle[i]
            if VARIANCE_ROUNDING * square[i] < variance[i] < REMOTE * square[i]:
                square[i] = variance[i]
    return float(max(filled, 1.0))
