r"""Fits of a robust line to the kept rows: reweighted least squares by conjugate gradients, and the matrix of a line.

A step of reweighted least squares minimises a quadratic function that lies above the loss and touches it at the
current line.  So whatever lowers that function lowers the loss, and it need not be minimised: a few conjugate gradients
do, with the model's own inverse as preconditioner, each of which takes a pass over the rows instead of the O(n d²) of
a Gram matrix.  Only the last step of a fit is exact, because it needs the Gram matrix for the inverse.
"""

from __future__ import annotations

import math

import numpy as np

from ....numerics import clip
from ....protocols import FloatArray, compilable, compiled_as, copy_into, rarely_called
from .._cholesky import factorise, solve_lower, solve_upper
from .._design import apply, dot
from .._rows import LARGEST_REWARD
from .kept_rows import Rows, add_share, add_shares, is_full, project, project_all
from .robust_line import Line, Model
from .two_piece_laws import FARTHEST_SCALES, WEIGHT, loss_at, weight_at, weights_at

CENTRING_ROUNDING = (
    1e-14  # share of the squares that centring leaves at least: less is rounding, as after one huge feature
)
NEAR = 0.05  # scales within which least absolute deviations are smoothed
SETTLED = 1e-3  # steps end where the next would move the line by less than this many scales, in the norm of the rows
MOST_TURNS = 8  # conjugate gradients in one step
CLOSE_TO_STEP = 1e-3  # they end when so much is left of the squared distance


@compilable
def write_residuals(rows: Rows, line: Line) -> None:
    """Write the residual of each reward."""
    base = line.level[0]
    for i in range(len(line.slope)):
        base += (rows.origin[i] - line.centre[i]) * line.slope[i]
    subtract_line(rows, base, line.slope)


@compilable
def subtract_line_row_by_row(rows: Rows, base: float, slope: FloatArray) -> None:
    """Do the same as :func:`subtract_line`."""
    for k in range(rows.size[0]):
        rows.residuals[k] = rows.y[k] - (base + project(rows, k, slope))


@compiled_as(subtract_line_row_by_row)
def subtract_line(rows: Rows, base: float, slope: FloatArray) -> None:
    """Write what each reward exceeds a line by that has the value ``base`` at the origin."""
    n = rows.size[0]
    if is_full(rows):
        rows.residuals[:n] = rows.y[:n] - (base + project_all(rows, slope))
    else:
        subtract_line_row_by_row(rows, base, slope)


@rarely_called
def loss_of(rows: Rows, line: Line, law: FloatArray, scale: float) -> float:
    """Return the summed loss of a line."""
    write_residuals(rows, line)
    total = 0.0
    for k in range(rows.size[0]):
        total += loss_at(law, rows.residuals[k] / scale)
    return total


@compilable
def weigh_row_by_row(rows: Rows, law: FloatArray, scale: float, absolute: bool) -> tuple[float, float]:
    """Do the same as :func:`weigh_rows`."""
    residuals, weights, n, mass, mean = rows.residuals, rows.weights, rows.size[0], 0.0, 0.0
    for k in range(n):
        z = residuals[k] / scale
        if absolute:
            weights[k] = 1.0 / min(max(abs(z), NEAR), FARTHEST_SCALES * FARTHEST_SCALES)
        else:
            weights[k] = weight_at(law, z) / law[WEIGHT]
        mass += weights[k]
        mean += weights[k] * residuals[k]
    mean /= mass
    for k in range(n):
        residuals[k] -= mean
        add_share(rows, k, weights[k], rows.total)
        add_share(rows, k, weights[k] * residuals[k], rows.right)
    return mass, mean


@compiled_as(weigh_row_by_row)
def weigh_rows(rows: Rows, law: FloatArray, scale: float, absolute: bool) -> tuple[float, float]:
    """Write the weights, centre the residuals, and add up the rows and their products with the residuals.

    Return the sum of the weights, and the mean of the residuals before.
    """
    if not is_full(rows):
        return weigh_row_by_row(rows, law, scale, absolute)
    residuals, weights = rows.residuals[: rows.size[0]], rows.weights[: rows.size[0]]
    z = residuals / scale
    if absolute:
        weights[:] = 1.0 / np.clip(abs(z), NEAR, FARTHEST_SCALES * FARTHEST_SCALES)
    else:
        weights[:] = weights_at(law, z) / law[WEIGHT]
    mass, mean = (0.0 + np.cumsum([weights, weights * residuals], axis=1)[:, -1]).tolist()
    mean /= mass
    residuals -= mean
    add_shares(rows, weights, rows.total)
    add_shares(rows, weights * residuals, rows.right)
    return mass, mean


@compilable
def weigh(rows: Rows, model: Model, line: Line, law: FloatArray, scale: float, absolute: bool) -> float:
    """Weigh the residuals, shift the line to their weighted mean and centre it; write the gradient to ``right``.

    Return the squared shift, times the sum of the weights.
    """
    total, right = rows.total, rows.right
    total[:] = 0.0
    right[:] = 0.0
    mass, mean = weigh_rows(rows, law, scale, absolute)
    level = line.level[0] + mean
    for i in range(len(right)):
        right[i] -= model.ridge[i] * line.slope[i]
        centre = rows.origin[i] + total[i] / mass
        level += (centre - line.centre[i]) * line.slope[i]
        line.centre[i] = centre
    line.mass[0], line.level[0] = mass, clip(level, LARGEST_REWARD)
    return mass * mean * mean


@compilable
def write_image(rows: Rows, model: Model, mass: float) -> float:
    """Write the product of the Gram matrix and ``course`` to ``image``; return the product of both."""
    course, image, total = rows.course, rows.image, rows.total
    share = dot(total, course) / mass
    for i in range(len(course)):
        image[i] = model.ridge[i] * course[i] - share * total[i]
    add_products(rows)
    return float(dot(course, image))


@compilable
def add_products_row_by_row(rows: Rows) -> None:
    """Do the same as :func:`add_products`."""
    for k in range(rows.size[0]):
        add_share(rows, k, rows.weights[k] * project(rows, k, rows.course), rows.image)


@compiled_as(add_products_row_by_row)
def add_products(rows: Rows) -> None:
    """Add the product of the weighted rows' Gram matrix, taken from the origin, and ``course`` to ``image``."""
    if is_full(rows):
        add_shares(rows, rows.weights[: rows.size[0]] * project_all(rows, rows.course), rows.image)
    else:
        add_products_row_by_row(rows)


@rarely_called
def reweigh(rows: Rows, model: Model, line: Line, law: FloatArray, scale: float, steps: int, absolute: bool) -> None:
    """Improve a line by at most ``steps`` steps of reweighted least squares, or least absolute deviations."""
    right, course, image, bent, d = rows.right, rows.course, rows.image, rows.bent, len(line.slope)
    for step in range(steps):
        write_residuals(rows, line)
        moved = weigh(rows, model, line, law, scale, absolute)
        apply(model.inverse, right, bent)
        size = first = dot(right, bent)
        if step > 0 and moved + size < SETTLED * SETTLED * scale * scale:
            break
        copy_into(course, bent)
        for _ in range(MOST_TURNS):
            curvature = write_image(rows, model, line.mass[0])
            if not (0.0 < size < math.inf and 0.0 < curvature < math.inf):
                break  # rounding has taken over
            length = size / curvature
            for i in range(d):
                line.slope[i] += length * course[i]
                right[i] -= length * image[i]
            apply(model.inverse, right, bent)
            before, size = size, dot(right, bent)
            if not size > CLOSE_TO_STEP * first:
                break
            for i in range(d):
                course[i] = bent[i] + size / before * course[i]
    course[:] = 0.0  # where rounding has taken over, scratch may be NaN, which files of agents must not hold
    image[:] = 0.0
    bent[:] = 0.0


@rarely_called
def write_gram(rows: Rows, model: Model, mass: float) -> None:
    """Write the weighted Gram matrix of the rows, centred at their mean, plus the ridge, after :func:`weigh`."""
    gram, block, total, d, fill = rows.gram, rows.block, rows.total, len(rows.total), 0
    gram[:] = 0.0
    for k in range(rows.size[0]):
        filled, weight = rows.filled[k], rows.weights[k]
        if filled < d:
            add_sparse_row(rows, k, weight)
        else:
            for i in range(d):
                block[fill, i] = math.sqrt(weight) * (rows.x[k, i] - rows.origin[i])
            fill += 1
            if fill == len(block):
                add_block(gram, block)
                fill = 0
    for k in range(fill, len(block)):
        for i in range(d):
            block[k, i] = 0.0
    add_block(gram, block)
    for i in range(d):
        noise = CENTRING_ROUNDING * gram[i, i]
        for j in range(i + 1):
            gram[i, j] -= total[i] * total[j] / mass
            gram[j, i] = gram[i, j]
        gram[i, i] = max(gram[i, i], noise) + model.ridge[i]


@compilable
def add_sparse_row(rows: Rows, k: int, weight: float) -> None:
    """Add a sparse row to the lower triangle of the Gram matrix."""
    gram, x, origin, quarter = rows.gram, rows.x[k], rows.origin, len(rows.total) // 4
    for m in range(rows.filled[k]):
        i = int(x[quarter + m])
        share = weight * (x[m] - origin[i])
        for other in range(m + 1):
            j = int(x[quarter + other])
            gram[i, j] += share * (x[other] - origin[j])


@compilable
def add_block(gram: FloatArray, block: FloatArray) -> None:
    """Add four rows to the lower triangle of a Gram matrix."""
    for i in range(len(gram)):
        p, q, r, s = block[0, i], block[1, i], block[2, i], block[3, i]
        for j in range(i + 1):
            gram[i, j] += (p * block[0, j] + q * block[1, j]) + (r * block[2, j] + s * block[3, j])


@rarely_called
def complete(rows: Rows, model: Model, line: Line, law: FloatArray, scale: float, gram: FloatArray) -> None:
    """Take an exact step; copy the Gram matrix with its ridge to ``gram``, and leave its factor in ``rows.gram``."""
    right, total, near = rows.right, rows.total, clip(line.level[0], LARGEST_REWARD)
    write_residuals(rows, line)
    weigh(rows, model, line, law, scale, False)
    mass, reward = line.mass[0], 0.0
    write_gram(rows, model, mass)
    copy_into(gram, rows.gram)
    right[:] = 0.0
    for k in range(rows.size[0]):  # from the rewards, not the residuals: a line that rounding has ruined is forgotten
        share = rows.weights[k] * (rows.y[k] - near)
        reward += share
        add_share(rows, k, share, right)
    for i in range(len(right)):
        right[i] -= total[i] * reward / mass
    factorise(rows.gram)
    solve_lower(rows.gram, right)
    solve_upper(rows.gram, right)
    copy_into(line.slope, right)
    line.level[0] = near + reward / mass
