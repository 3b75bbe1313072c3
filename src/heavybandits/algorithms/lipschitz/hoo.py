r"""HOO: hierarchical optimistic optimisation, truncated (Bubeck, Munos, Stoltz, Szepesvari 2011).

*Assumes* sub-Gaussian noise of a known scale, and that in a box of depth h that holds a maximiser the function differs
from its supremum by at most a constant times :math:`\nu_1 \rho^h`.  *Must be told* :math:`\nu_1`, :math:`\rho`, the
scale and the horizon T.  *When that fails*: under heavy tails, means do not settle; if :math:`\nu_1` or :math:`\rho` is
too small, it may miss the maximum; if they are too large, it explores longer.

*Formula*: boxes form a binary tree; each is halved along the coordinates in turn.  A box of depth h with n rewards,
including those of the boxes within it, has

.. math::  U = \bar r + c\,\sqrt{2 \ln T/n} + \nu_1 \rho^h, \qquad B = \min(U, \max(B_{\text{left}}, B_{\text{right}})),

both infinite without rewards.  Starting at the root, the half with the higher B is entered until a box without rewards
or of the greatest depth :math:`\lceil (\tfrac12 \ln T + \ln \nu_1)/\ln(1/\rho) \rceil` is reached.  It is played at its
centre.  The truncated form has :math:`\ln T` where the original has :math:`\ln t`, which would change every box in
every round.

*Cost*: O(h) for a reward and for a choice, where h is the depth; 90 bytes per box.

*Reference*: S. Bubeck, R. Munos, G. Stoltz, C. Szepesvari (2011).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..._validate import in_range, require_same, require_within, required_horizon
from ...numerics import running_mean
from ...protocols import FloatArray, IntArray
from ..entries import register_policy
from ..parameters import NonNegative, Positive

MOST_HALVED_BOXES = 2**17  # boxes; once there are this many, none is halved
DEEPEST_BOX = 1000


def _ratio(owner: str, name: str, value: object) -> float:
    return in_range(owner, name, value, 0, 1, "()")


class HOOState(NamedTuple):
    """Boxes in the order in which they were created; the root is number 0."""

    centre: FloatArray  # (box, dim)
    depth: IntArray
    parent: IntArray  # the root is its own parent
    half: IntArray  # number of the lower half, which the upper half follows; 0 if there are none
    pulls: IntArray
    mean: FloatArray
    bound: FloatArray  # B
    size: IntArray  # array of length one: number of boxes
    log_term: FloatArray  # ln T

    def check(self, fresh: HOOState, n_arms: int) -> None:
        """Refuse boxes that do not exist, and links that do not form a tree."""
        room, size = len(self.pulls), int(self.size[0])
        require_within("size", self.size, 1, room)
        require_within("depth", self.depth, 0, DEEPEST_BOX)
        require_within("half", self.half, 0, max(size - 2, 0))
        require_within("parent", self.parent, 0, size - 1)
        require_within("pulls", self.pulls, 0, 2**53)
        require_same(self, fresh, "log_term")
        numbers = np.arange(size)
        if (self.parent[1:size] >= numbers[1:]).any() or ((self.half[:size] > 0) & (self.half[:size] <= numbers)).any():
            raise ValueError("halves must be numbered after the box that they divide")
        if not ((self.centre >= 0.0) & (self.centre <= 1.0)).all():
            raise ValueError("centre must be from 0 to 1")


@register_policy(
    "hoo",
    needs="scale, nu1, rho, horizon",
    memory="90 bytes per box",
    cost="O(h), h the depth",
    regret="O(T^((d + 1)/(d + 2)) (ln T)^(1/(d + 2))), d the near-optimality dimension, for rewards in [0, 1]",
    reference="Bubeck, Munos, Stoltz, Szepesvari 2011",
    kind="lipschitz",
    pinned={"c": 0.3},
    zoo={"c": 0.1},
)
class HOO(NamedTuple):
    r"""Hierarchical optimistic optimisation, truncated.

    Parameters
    ----------
    nu1
        :math:`\nu_1`, the assumed variation of the function over the cube.
    rho
        :math:`\rho`, the factor by which that variation falls when a box is halved: for a Lipschitz function 1/2 in one
        dimension, :math:`2^{-1/d}` in d.
    c
        Factor of the bonus: 1 for rewards in [0, 1], 2s for sub-Gaussian noise of scale s.

    Examples
    --------
    >>> policy = HOO()
    >>> state = policy.init(dim=1, horizon=100)
    >>> for t, reward in enumerate((0.0, 0.0, 1.0)):
    ...     policy.update(state, policy.select(state, t, None), reward)
    >>> [policy.point(state, cell).tolist() for cell in range(3)]
    [[0.5], [0.25], [0.75]]
    >>> policy.point(state, policy.select(state, 3, None)).tolist()  # a half of the better half
    [0.625]
    """

    nu1: Positive = 1.0
    rho: Annotated[float, _ratio] = 0.5
    c: NonNegative = 1.0

    def init(self, dim: int, horizon: int | None) -> HOOState:
        horizon = required_horizon("HOO", horizon, "depth")
        depth = self.deepest(math.log(horizon))
        room = min(2 * horizon + 1, 2 ** min(depth + 1, 20), MOST_HALVED_BOXES)
        return HOOState(
            centre=np.full((room, dim), 0.5),
            depth=np.zeros(room, np.int64),
            parent=np.zeros(room, np.int64),
            half=np.zeros(room, np.int64),
            pulls=np.zeros(room, np.int64),
            mean=np.zeros(room),
            bound=np.full(room, math.inf),
            size=np.ones(1, np.int64),
            log_term=np.array([math.log(horizon)]),
        )

    def deepest(self, log_term: float) -> int:
        """Return the greatest depth, at least 1."""
        depth = math.ceil((0.5 * log_term + math.log(self.nu1)) / -math.log(self.rho))
        return int(min(max(depth, 1), DEEPEST_BOX))

    def select(self, state: HOOState, t: int, rng: Any) -> int:
        """Return the box reached by entering the half with the higher bound until there are no halves."""
        box, half = 0, state.half[0]
        while half > 0:
            box = half + 1 if state.bound[half + 1] > state.bound[half] else half
            half = state.half[box]
        return box

    def update(self, state: HOOState, cell: int, reward: float) -> None:
        """Halve a box at its first reward, and update it and all boxes that contain it."""
        size, deep = state.size[0], state.depth[cell]
        if state.half[cell] == 0 and deep < self.deepest(state.log_term[0]) and size + 2 <= len(state.pulls):
            axis = deep % state.centre.shape[1]
            quarter = 0.5 ** (deep // state.centre.shape[1] + 2)
            for new in range(size, size + 2):
                state.depth[new], state.parent[new] = deep + 1, cell
                for i in range(state.centre.shape[1]):
                    state.centre[new, i] = state.centre[cell, i]
            state.centre[size, axis] -= quarter
            state.centre[size + 1, axis] += quarter
            state.half[cell], state.size[0] = size, size + 2
        box = cell
        while True:
            n = state.pulls[box] + 1
            state.pulls[box] = n
            state.mean[box] = running_mean(state.mean[box], n, reward)
            upper = self.upper(state, box)
            half = state.half[box]
            if half > 0:
                upper = min(upper, max(state.bound[half], state.bound[half + 1]))
            state.bound[box] = upper
            if box == 0:
                break
            box = state.parent[box]

    def upper(self, state: HOOState, cell: int) -> float:
        """Return U of a box with rewards."""
        bonus = self.c * math.sqrt(2.0 * state.log_term[0] / state.pulls[cell])
        return float(state.mean[cell] + bonus + self.nu1 * self.rho ** float(state.depth[cell]))

    def point(self, state: HOOState, cell: int) -> FloatArray:
        """Return the centre of a box."""
        return state.centre[cell]  # type: ignore[no-any-return]

    def n_cells(self, state: HOOState) -> int:
        """Return how many boxes there are."""
        return int(state.size[0])

    def value(self, state: HOOState, cell: int) -> float:
        """Return the mean of the rewards in a box, or NaN if there are none."""
        return float(state.mean[cell]) if state.pulls[cell] > 0 else math.nan

    def index_of(self, state: HOOState, cell: int, t: int) -> float:
        """Return B of a box."""
        return float(state.bound[cell])
