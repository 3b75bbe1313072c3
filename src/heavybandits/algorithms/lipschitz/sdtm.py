r"""SDTM: Robust UCB with truncated means on equal boxes (Lu, Wang, Hu, Zhang 2019).

*Assumes* that expected rewards differ by no more than the distance between their points, and a moment about 0,
:math:`E|y|^{1+\varepsilon} \le \nu`.  *Must be told* :math:`\varepsilon`, :math:`\nu` and, to choose the boxes, the
horizon T.  *When that fails*: the same happens as with :mod:`.robust_ucb`; a peak narrower than a box is missed.

*Formula*: the cube is divided into :math:`k^d` boxes, each an arm of :mod:`.robust_ucb` played at its centre.  If k is
not given, it is :math:`\lceil 1/(2r) \rceil` with :math:`p = 1 + \varepsilon` and

.. math::  r = \Bigl(\frac{(4 \nu T)^{1/p}\,(16 \ln T)^{\varepsilon/p}\,d\,\varepsilon}{2 T p}\Bigr)^{p/(d\varepsilon +
           p)}.

*Cost*: that of Robust UCB with an arm for each box.

*Reference*: S. Lu, G. Wang, Y. Hu, L. Zhang (2019).
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same, required_horizon
from ...protocols import FloatArray
from ..entries import register_policy
from ..parameters import PolicyInside, Positive, Whole
from ..parts.choice.kinetic_tree import VALUE
from ..parts.choice.tournament import choose
from ..policies.robust_ucb import RobustUCB, RobustUCBState

MOST_EQUAL_BOXES = 2**16  # boxes


class SDTMState(NamedTuple):
    """Centres of the boxes, and the state of Robust UCB on them."""

    centre: FloatArray  # (box, dim)
    arms: RobustUCBState

    def check(self, fresh: SDTMState, n_arms: int) -> None:
        """Refuse a state with other boxes."""
        require_same(self, fresh, "centre")


@register_policy(
    "sdtm",
    needs="Lipschitz constant, moment order, moment bound, horizon",
    memory="that of rucb-truncated for each of k^d boxes",
    cost="O(log n), O(log k)",
    regret="O(T^((d eps + 1)/(d eps + eps + 1))) up to logarithms, d the dimension, if E|y|^(1 + eps) <= nu",
    reference="Lu, Wang, Hu, Zhang 2019",
    kind="lipschitz",
    example={"policy": {"kind": "rucb-truncated", "eps": 1.0, "u": 1.0}, "scale": 0.1},
    pinned={"policy": {"kind": "rucb-truncated", "eps": 0.5, "u": 1.0}, "scale": 0.1},
    zoo={"policy": {"kind": "rucb-truncated", "eps": 1.0, "u": 1.0}, "sides": 8, "scale": 0.01},
)
class SDTM(NamedTuple):
    r"""Robust UCB with truncated means on equal boxes.

    Parameters
    ----------
    policy
        Robust UCB with truncated means, such as ``hb.make("rucb-truncated", eps=1, u=1)``; its u is :math:`\nu`.
    scale
        Factor of its bonus: 1 in the theory.
    sides
        k, the number of parts that each side is divided into; 0 to derive it from the horizon.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = SDTM(hb.make("rucb-truncated", eps=1, u=1))
    >>> state = policy.init(dim=1, horizon=10_000)
    >>> round(policy.box_radius(1, 10_000), 6), state.centre.tolist()
    (0.154447, [[0.125], [0.375], [0.625], [0.875]])
    """

    policy: PolicyInside
    scale: Positive = 1.0
    sides: Whole = 0

    def check(self) -> None:
        """Refuse policies other than Robust UCB with truncated means."""
        if not isinstance(self.policy, RobustUCB) or not hasattr(self.policy.estimator, "u"):
            rule = 'must be Robust UCB with truncated means, such as hb.make("rucb-truncated", eps=1, u=1)'
            raise TypeError(f"SDTM: policy {rule}, got {self.policy!r}")

    def box_radius(self, dim: int, horizon: int) -> float:
        """Return r, the theory's half side of a box."""
        eps, nu, t = self.policy.estimator.eps, self.policy.estimator.u, float(max(horizon, 2))
        p = 1.0 + eps
        ratio = (4.0 * nu * t) ** (1.0 / p) * (16.0 * math.log(t)) ** (eps / p) * dim * eps / (2.0 * t * p)
        return float(ratio ** (p / (dim * eps + p)))

    def init(self, dim: int, horizon: int | None) -> SDTMState:
        sides = self.sides
        if sides == 0:
            sides = math.ceil(0.5 / self.box_radius(dim, required_horizon("SDTM", horizon, "number of boxes")))
        if sides**dim > MOST_EQUAL_BOXES:
            raise ValueError(f"SDTM: there must be at most {MOST_EQUAL_BOXES} boxes, got {sides} to the power of {dim}")
        centre = np.array([*itertools.product((np.arange(sides) + 0.5) / sides, repeat=dim)])
        return SDTMState(centre, self.policy.init(len(centre), horizon))

    def level(self, state: RobustUCBState, t: int) -> float:
        """Return the common factor of the bonuses."""
        return self.scale * self.policy.level(state, t)  # type: ignore[no-any-return]

    def select(self, state: SDTMState, t: int, rng: Any) -> int:
        """Return each box once, then the one with the highest index."""
        return choose(self, state.arms, t, 1, 1)

    def update(self, state: SDTMState, cell: int, reward: float) -> None:
        """Pass a reward on to Robust UCB."""
        self.policy.update(state.arms, cell, reward)

    def point(self, state: SDTMState, cell: int) -> FloatArray:
        """Return the centre of a box."""
        return state.centre[cell]  # type: ignore[no-any-return]

    def n_cells(self, state: SDTMState) -> int:
        """Return how many boxes there are."""
        return len(state.centre)

    def value(self, state: SDTMState, cell: int) -> float:
        """Return the truncated mean of a box."""
        return float(self.policy.value(state.arms, cell))

    def index_of(self, state: SDTMState, cell: int, t: int) -> float:
        """Return the index of a box, infinite before its first reward."""
        if state.arms.pulls[cell] == 0:
            return math.inf
        width = self.policy.estimator.width(state.arms.pulls[cell])
        return float(state.arms.tournament.base[cell, VALUE] + self.level(state.arms, t) * width)
