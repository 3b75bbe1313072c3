"""The row of a linear model whose level set has the highest upper end.

As the half width w(h), over the root of h, grows with h, one exact width bounds the widths at all smaller leverages,
and few rows need their own: see :mod:`.half_widths`.

Rows are scored in blocks, one SIMD lane each, unless they are sparse: of those, only the features that differ from the
origin cost time.  Rows that stay the same from decision to decision keep their leverages and predictions, which then
cost O(d) each per reward instead of O(d²) per decision.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...._validate import require_within
from ....protocols import FloatArray, IntArray, compilable
from .half_widths import Width, half_width
from .pending_line import count_pending, joint_mean
from .robust_line import SPARSE_SHARE, Line, Model, Step

LANES = 32  # rows that are scored together
RENEWAL = 128  # rewards after which kept leverages are recomputed, against rounding
NEW = 1e3  # a row with a larger leverage was unknown before


class Arms(NamedTuple):
    """Rows that stay the same, their leverages and predictions; and room to score others."""

    rows: FloatArray  # (room, d): as they were given
    columns: FloatArray  # (d, room): the same, transposed
    first: FloatArray  # (d,): first row of the latest decision
    leverage: FloatArray  # (room,)
    value: FloatArray  # (room,): prediction, up to a constant that all rows share
    bound: FloatArray  # (room,)
    lanes: FloatArray  # (d + 2, LANES): centred rows as columns, then sums for two features
    places: IntArray  # (d,): where a row differs from the origin
    kept: IntArray  # array of length one: number of rows kept; 0 if the latest rows were different
    age: IntArray  # array of length one: rewards since the rows were scored; RENEWAL if they must be scored again

    def check(self, fresh: Arms, n_arms: int) -> None:
        """Refuse more rows than there is room for."""
        require_within("kept", self.kept, 0, len(self.rows))
        require_within("age", self.age, 0, RENEWAL)
        require_within("leverage", self.leverage, 0.0, math.inf)

    def with_rows(self, n_rows: int) -> Arms:
        """Return arms with room for at least ``n_rows`` rows: these, or new ones that keep none."""
        return self if n_rows <= len(self.rows) else init_arms(len(self.first), n_rows)


def init_arms(n_features: int, room: int = LANES) -> Arms:
    """Return arms that keep no rows yet."""
    d = n_features
    return Arms(
        rows=np.zeros((room, d)),
        columns=np.zeros((d, room)),
        first=np.full(d, np.nan),
        leverage=np.zeros(room),
        value=np.zeros(room),
        bound=np.zeros(room),
        lanes=np.zeros((d + 2, LANES)),
        places=np.zeros(d, np.int64),
        kept=np.zeros(1, np.int64),
        age=np.full(1, RENEWAL),
    )


@compilable
def score(
    line: Line, inverse: FloatArray, lanes: FloatArray, rows: FloatArray, leverage: FloatArray, value: FloatArray
) -> None:
    """Write the leverages and values of at most ``LANES`` rows, two features at a time."""
    slope, centre, n_rows, d = line.slope, line.centre, len(rows), len(line.slope)
    for i in range(d):
        for a in range(n_rows):
            lanes[i, a] = rows[a, i] - centre[i]
    for a in range(n_rows):
        leverage[a] = 0.0
        value[a] = 0.0
    left, right = lanes[d], lanes[d + 1]
    for i in range(0, d, 2):  # half the products: the matrix is symmetric
        k = min(i + 1, d - 1)
        twice = 2.0 if i < k else 0.0  # 0: the last of an odd number of features has no second one beside it
        above, below = 0.5 * inverse[i, i], 0.5 * inverse[k, k]
        slant, other = slope[i], 0.5 * twice * slope[k]
        for a in range(n_rows):
            left[a] = above * lanes[i, a]
            right[a] = below * lanes[k, a]
            value[a] = value[a] + slant * lanes[i, a] + other * lanes[k, a]
        for j in range(0, i - 3, 4):
            p, q, r, s = inverse[i, j], inverse[i, j + 1], inverse[i, j + 2], inverse[i, j + 3]
            t, u, v, w = inverse[k, j], inverse[k, j + 1], inverse[k, j + 2], inverse[k, j + 3]
            for a in range(n_rows):
                left[a] += (p * lanes[j, a] + q * lanes[j + 1, a]) + (r * lanes[j + 2, a] + s * lanes[j + 3, a])
                right[a] += (t * lanes[j, a] + u * lanes[j + 1, a]) + (v * lanes[j + 2, a] + w * lanes[j + 3, a])
        if i % 4 == 2:
            p, q, t, u = inverse[i, i - 2], inverse[i, i - 1], inverse[k, i - 2], inverse[k, i - 1]
            for a in range(n_rows):
                left[a] = left[a] + p * lanes[i - 2, a] + q * lanes[i - 1, a]
                right[a] = right[a] + t * lanes[i - 2, a] + u * lanes[i - 1, a]
        p = inverse[k, i]
        for a in range(n_rows):
            last = right[a] + p * lanes[i, a]
            leverage[a] = leverage[a] + 2.0 * (left[a] * lanes[i, a]) + twice * (last * lanes[k, a])
    for a in range(n_rows):
        leverage[a] = max(leverage[a], 0.0)


@compilable
def score_sparse(model: Model, rows: FloatArray, places: IntArray, leverage: FloatArray, value: FloatArray) -> bool:
    """Write the leverages and values of sparse rows; return whether all rows are sparse."""
    line, inverse, origin, offset, d = model.line, model.inverse, model.origin, model.offset, len(model.origin)
    least, base = 0.0, 0.0  # leverage and value of the origin
    for i in range(d):
        away = line.centre[i] - origin[i]
        least += away * offset[i]
        base -= away * line.slope[i]
    for a in range(len(rows)):
        row, n = rows[a], 0
        for i in range(d):
            places[n] = i  # written over unless the row differs there: a branch could not be foreseen
            n += 1 if row[i] != origin[i] else 0
        if SPARSE_SHARE * n > d:
            return False
        size, worth = least, base
        for k in range(n):
            i = places[k]
            away, inner = row[i] - origin[i], -offset[i]
            for m in range(k):
                j = places[m]
                inner += inverse[i, j] * (row[j] - origin[j])
            size += away * (2.0 * inner + inverse[i, i] * away)
            worth += away * line.slope[i]
        leverage[a], value[a] = max(size, 0.0), worth
    return True


@compilable
def highest(width: Width, leverage: FloatArray, value: FloatArray, bound: FloatArray) -> tuple[int, float]:
    """Return the scored row with the highest index, and that index.

    If the widest set is infinite, this is the row with the highest leverage.
    """
    n_rows, widest = len(leverage), 0
    for a in range(1, n_rows):
        if leverage[a] > leverage[widest]:
            widest = a
    most = leverage[widest]
    half = half_width(width, most)
    if half == math.inf:
        return widest, math.inf
    share = half * half / most * (1.0 + 1e-12) if most > 0.0 else 0.0
    for a in range(n_rows):
        bound[a] = value[a] + math.sqrt(share * leverage[a])
    favourite = 0
    for a in range(1, n_rows):
        if bound[a] > bound[favourite]:
            favourite = a
    row, best = favourite, value[favourite] + half_width(width, leverage[favourite])
    for a in range(n_rows):
        if bound[a] >= best and a != favourite:
            index = value[a] + half_width(width, leverage[a])
            if index > best or (index == best and a < row):
                row, best = a, index
    return row, best


@compilable
def best_row(model: Model, arms: Arms, features: FloatArray, width: Width) -> int:
    """Return the row with the highest index; among infinite indices, the one with the highest leverage.

    Kept scores and the offset are those of the inverse without pending rows; while there are any, they are not used.
    """
    n_rows, is_exact, line = len(features), model.pending[0] == 0, model.line
    if not is_exact:
        count_pending(model)
        joint_mean(model, model.shift)
        line = Line(slope=line.slope, centre=model.shift, mass=line.mass, level=line.level)
    inverse = model.inverse if is_exact else model.asked
    kept = is_exact and recall(arms, features)
    scored = kept and arms.age[0] < RENEWAL
    best, top, reach = 0, -math.inf, -1.0
    for first in range(0, n_rows, LANES):
        end, at = min(first + LANES, n_rows), first if kept else 0
        leverage, value = arms.leverage[at : at + end - first], arms.value[at : at + end - first]
        if not scored:
            block = features[first:end]
            if not is_exact or not score_sparse(model, block, arms.places, leverage, value):
                score(line, inverse, arms.lanes, block, leverage, value)
        row, index = highest(width, leverage, value, arms.bound)
        if index > top or (index == math.inf and leverage[row] > reach):
            best, top, reach = first + row, index, leverage[row]
    if not scored:
        arms.age[0] = 0 if kept else RENEWAL  # if not kept, any kept scores were overwritten
    return best


@compilable
def recall(arms: Arms, features: FloatArray) -> bool:
    """Return whether these rows are kept; rows offered twice in succession are kept from then on.

    Comparing the first row is enough to tell most sets of rows apart.
    """
    n_rows, d, first = len(features), len(arms.first), arms.first
    differs = False
    for i in range(d):
        differs |= features[0, i] != first[i]
        first[i] = features[0, i]
    if differs or n_rows > len(arms.rows):
        arms.kept[0] = 0
        return False
    differs = n_rows != arms.kept[0]
    a = 0
    while a < n_rows and not differs:
        for i in range(d):
            differs |= features[a, i] != arms.rows[a, i]
        a += 1
    if differs:
        for a in range(n_rows):
            for i in range(d):
                arms.rows[a, i] = arms.columns[i, a] = features[a, i]
        arms.kept[0], arms.age[0] = n_rows, RENEWAL
    return True


@compilable
def update_kept(arms: Arms, model: Model, step: Step) -> None:
    """Update the leverages and values of kept rows after a step of the model."""
    n_rows, age = arms.kept[0], arms.age[0]
    if n_rows == 0 or age >= RENEWAL:
        return
    if step.mass * step.mass == 0.0 or step.leverage * step.weight > NEW:  # differences would lose precision
        arms.age[0] = RENEWAL
        return
    arms.age[0] = age + 1
    leverage, value, product, columns = arms.leverage, arms.value, arms.bound, arms.columns
    d, pull, mass = len(model.pull), model.pull, step.mass
    after = mass + step.weight
    # The centre has already moved.  With c the old one, (x - c)'u = x'u - c'u, and c = centre - (w/W') v.
    origin = -step.weight / after * step.leverage
    for i in range(d):
        origin += model.line.centre[i] * pull[i]
    for a in range(n_rows):
        product[a] = 1.0 / mass - origin
    for i in range(d):
        u = pull[i]
        for a in range(n_rows):
            product[a] += u * columns[i, a]
    rise = step.weight / (mass * after)
    fall = step.weight / (1.0 + step.weight * (1.0 / mass + step.leverage))
    for a in range(n_rows):
        q = product[a]
        leverage[a] = max(leverage[a] + rise - fall * (q * q), 0.0)
        value[a] += step.along * (q - 1.0 / mass)
