r"""Playing the arm with the highest perturbed estimate: what APE² and MR-APE share.

In each round, a random number, times a width that shrinks with the arm's pulls, is added to every arm's p-robust
estimate.  The numbers are functions of an exponential number E, for which :math:`e^{-E}` is uniform: E itself, -ln E
(Gumbel), :math:`\lambda e^{E/\alpha}` (Pareto), :math:`\lambda E^{-1/\alpha}` (Fréchet) and :math:`2 e^{-E} - 1`
(uniform on [-1, 1]).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_same
from ...protocols import BoolArray, FloatArray, IntArray, compilable
from ..parts.choice.late import Late, bonus_factor, init_late
from ..parts.choice.propensity import draw_arm
from ._p_robust import PRobustState, init_p_robust
from ._scan import waiting

PERTURBATIONS = ("exponential", "gumbel", "pareto", "frechet", "uniform")


class Law(NamedTuple):
    """The law of the perturbations; each field is an array of length one."""

    number: IntArray  # position in PERTURBATIONS
    shape: FloatArray
    scale: FloatArray


class PerturbedState(NamedTuple):
    """Estimates, and the widths of their perturbations."""

    pulls: IntArray
    late: Late
    mean: PRobustState
    width: FloatArray
    open: BoolArray
    law: Law
    horizon: FloatArray  # array of length one
    propensity: FloatArray | None = None  # per arm: its probability in the last draw, if an agent asks for it

    def check(self, fresh: PerturbedState, n_arms: int) -> None:
        """Refuse a state with another law or another horizon."""
        for name in Law._fields:
            require_same(self.law, fresh.law, name)
        require_same(self, fresh, "horizon")


def init_perturbed(
    n_arms: int, horizon: int | None, law: str, shape: float = 1.0, scale: float = 1.0
) -> PerturbedState:
    """Return a state without rewards.

    Examples
    --------
    >>> init_perturbed(n_arms=2, horizon=None, law="gumbel").law
    Law(number=array([1]), shape=array([1.]), scale=array([1.]))
    """
    return PerturbedState(
        pulls=np.zeros(n_arms, np.int64),
        late=init_late(n_arms),
        mean=init_p_robust(n_arms, horizon),
        width=np.full(n_arms, math.inf),
        open=np.ones(n_arms, np.bool_),
        law=Law(number=np.array([PERTURBATIONS.index(law)]), shape=np.array([shape]), scale=np.array([scale])),
        horizon=np.array([math.inf if horizon is None else float(horizon)]),
    )


@compilable
def perturbation(number: int, shape: float, scale: float, exponential: float) -> float:
    """Turn a draw from the exponential law into one from the law of this number in ``PERTURBATIONS``.

    Examples
    --------
    >>> perturbation(4, 1.0, 1.0, exponential=math.log(2.0))  # the median
    0.0
    """
    e = max(exponential, 1e-300)  # its logarithm must exist
    if number == 0:
        return e
    if number == 1:
        return -math.log(e)
    if number == 4:
        return 2.0 * math.exp(-e) - 1.0
    return float(scale * (math.exp(e / shape) if number == 2 else e ** (-1.0 / shape)))


@compilable
def choose_perturbed(policy: Any, state: PerturbedState, rng: Any) -> int:
    """Return each arm once, then the one with the highest perturbed estimate."""
    arm = waiting(state, 1)
    return arm if arm >= 0 else draw_arm(policy, state, state.propensity, 1, rng)


@compilable
def perturbed(state: PerturbedState, arm: int, rng: Any) -> float:
    """Return the arm's perturbed estimate; NaN while its first reward is pending."""
    draw = perturbation(state.law.number[0], state.law.shape[0], state.law.scale[0], rng.standard_exponential())
    width = state.width[arm] * bonus_factor(state.late, arm, state.pulls[arm])
    return float(state.mean.value[arm] + width * draw)
