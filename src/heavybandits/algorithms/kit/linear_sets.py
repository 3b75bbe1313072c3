"""What the linear level-set policies remember: the line, the rows it was fitted to, and the noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_same, require_within
from ...protocols import FloatArray, IntArray, compilable
from .line_fit import Rows, init_rows
from .linear_level_set import Arms, Width, init_arms, width_for
from .robust_line import Model, dimension, init_model
from .two_piece_laws import LEAST_SQUARES, two_piece_table

LARGEST = 1e150  # rewards are clipped to this, so that their squares are finite


class LinearSets(NamedTuple):
    """What linear level-set policies remember; each field from ``law`` on is an array of length one."""

    model: Model
    rows: Rows
    arms: Arms
    laws: FloatArray  # a row per law; the last is least squares
    law: IntArray  # the current law
    scale: FloatArray  # of the noise
    floor: FloatArray  # least scale
    squares: FloatArray  # sum of squared residuals, where means are compared
    freedom: FloatArray  # degrees of freedom of that sum
    clock: IntArray  # number of rewards
    due: FloatArray  # clock at the next fit
    fitted: IntArray  # 1 once there has been a fit
    latest: FloatArray  # the latest reward
    ties: IntArray  # number of rewards equal to the one before
    told: FloatArray  # the scale if it is known, or else 0
    only_means: IntArray  # 1 if means are compared whatever the rewards

    def check(self, fresh: LinearSets, n_arms: int) -> None:
        """Refuse a law that does not exist, other laws, and numbers out of range."""
        require_within("law", self.law, 0, len(self.laws) - 1)
        for name in ("clock", "ties"):
            require_within(name, getattr(self, name), 0, LARGEST_COUNT)
        for name in ("fitted", "only_means"):
            require_within(name, getattr(self, name), 0, 1)
        for name in ("floor", "squares", "freedom"):
            require_within(name, getattr(self, name), 0.0, math.inf)
        require_same(self, fresh, "laws")
        require_same(self, fresh, "told")
        fitted, line = bool(self.fitted[0]), self.model.line
        least, most = math.ulp(0.0) if fitted else 0.0, LARGEST * LARGEST
        require_within("scale", self.scale, least, most if fitted else math.inf)
        require_within("mass", line.mass, least, most)
        require_within("level", line.level, -most, most)
        require_within("rows.y", self.rows.y, -LARGEST, LARGEST)


def init_linear_sets(
    n_features: int, horizon: int | None, laws: tuple[tuple[float, float, float], ...], scale: float, only_means: bool
) -> LinearSets:
    """Return a state before the first reward."""
    room = max(10 * n_features, min(30 * n_features, 600), 300)
    return LinearSets(
        model=init_model(n_features),
        rows=init_rows(n_features, room if horizon is None else min(room, horizon)),
        arms=init_arms(n_features),
        laws=two_piece_table((*laws, LEAST_SQUARES)),
        law=np.array([len(laws) if only_means else 0]),
        scale=np.array([math.inf]),
        floor=np.zeros(1),
        squares=np.zeros(1),
        freedom=np.zeros(1),
        clock=np.zeros(1, np.int64),
        due=np.zeros(1),
        fitted=np.zeros(1, np.int64),
        latest=np.array([math.nan]),
        ties=np.zeros(1, np.int64),
        told=np.array([scale]),
        only_means=np.array([int(only_means)]),
    )


@compilable
def width_of(state: LinearSets, c: float) -> Width:
    """Return what half widths currently depend on."""
    law = state.laws[state.law[0]]
    return width_for(law, state.scale[0], state.clock[0] + 1.0, dimension(state.model), c)
