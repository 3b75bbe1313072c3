r"""Clipped-SGD-UCB: a confidence bound around clipped SGD (Dorn, Katrutsa, Latypov, Pudovikov 2024).

*Assumes* noise that is symmetric about zero, or the same for all arms; no moment need exist.  *Must be told* the
horizon T and a clipping level R of the size of the gaps.  *When that fails*: a step is at most R/ln(4(T+1)T²), so with
R too small, an arm that starts badly takes long to recover; with R too large, the estimates stay noisy.

*Formula*, practical schedule: pull each arm p times and start :math:`x_a` at the median; then

.. math::  A_t = \arg\max_a\ x_a + c\,\sqrt{\ln t/n_a}, \qquad
           x \leftarrow x - \gamma\,\mathrm{clip}(\mathrm{SMoM}_{m,n}(x - r; \theta), R), \quad
           \gamma = 1/\ln(4(T+1)T^2),

where the arm is played :math:`b = (2m+1)n` times in a row for one step, and t and :math:`n_a` count pulls.  The
theoretical schedule is FO-UCB with :class:`.ClippedSGD`: the index is :math:`x_a + \sqrt{2 g(k_a, 1/T^2)}`.

*Cost*: O(b) per batch and O(log K) per choice; 8 max(b, p) + 121 bytes per arm.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ..._validate import required_horizon
from ...numerics import saturate
from ...protocols import IntArray
from ...theory import confidence, first_clip, practical_step, printed_rate, printed_step
from ..entries import register_policy, register_preset
from ..estimators.clipped_sgd import Iterates, descend, init_iterates, init_schedule
from ..parameters import Count, NonNegative, OddOrZero, Positive, Whole
from ..parts.choice.tournament import Tournament, choose, init_tournament, set_line


class ClippedSGDUCBState(NamedTuple):
    """Pulls, iterates and indices."""

    pulls: IntArray
    sgd: Iterates
    tournament: Tournament


@register_policy(
    "clipped-sgd-ucb",
    needs="horizon, scale, symmetry",
    memory="8 max(b, p) + 121 bytes",
    cost="O(1), O(log K)",
    regret="none for the practical schedule; for the theoretical one, FO-UCB's, with a rate that its source proves "
    "only at the horizon",
    reference="Dorn, Katrutsa, Latypov, Pudovikov 2024",
    example={"m": 1, "n": 2, "init_pulls": 0},
    zoo={"m": 2, "n": 1, "clip": {"instance": "largest-mean"}},
    look="blue dashed",
)
class ClippedSGDUCB(NamedTuple):
    r"""Clipped-SGD-UCB.

    Parameters
    ----------
    m, n
        :math:`2m + 1` blocks of n pulls make one step; (0, 1) is SGD-UCB, (1, 1) SGD-UCB-Median, (1, 2) SGD-UCB-SMoM.
    coeff
        c, the weight of the exploration bonus in the practical schedule.
    clip
        R, the clipping level; in the theoretical schedule, a bound on the first iterate's distance to the location.
    init_pulls
        p, odd.  With 0, the iterates start at R (practical, optimistic) or at 0 (theory), and every arm first gets one
        step.
    theta
        Smoothing of the median of means.
    schedule
        ``"practical"``, as in the published experiments, or ``"theory"``, which plays round robin for any realistic
        horizon and takes the gradients' standard deviation to be 1.  For another one, and for the exponential radius,
        use :class:`.FOUCB` with :class:`.ClippedSGD`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.ClippedSGDUCB(m=0, n=1, clip=2.0), n_arms=2, horizon=100)
    >>> [agent.select() for _ in range(6)]
    [0, 0, 0, 1, 1, 1]
    """

    m: Whole
    n: Count
    coeff: NonNegative = 0.1
    clip: Positive = 10.0
    init_pulls: OddOrZero = 3
    theta: NonNegative = 0.001
    schedule: Literal["practical", "theory"] = "practical"

    def init(self, n_arms: int, horizon: int | None) -> ClippedSGDUCBState:
        horizon = required_horizon("ClippedSGDUCB", horizon, "step")
        if self.schedule == "practical":
            start, step, level, decay, rate = self.clip, practical_step(horizon), self.clip, 0.0, 0.0
        else:
            delta = confidence(horizon)
            step = printed_step(horizon, self.clip, delta)
            start, level, decay = 0.0, first_clip(step, self.clip, horizon, delta), 0.5 * step
            rate = printed_rate(0, delta, horizon, self.clip, 1.0)
        batch_size = (2 * self.m + 1) * self.n
        schedule = init_schedule(step, level, decay, rate=saturate(rate))  # g at k = 0, or 0 in the practical schedule
        return ClippedSGDUCBState(
            pulls=np.zeros(n_arms, np.int64),
            sgd=init_iterates(n_arms, batch_size, self.init_pulls, start, self.theta, schedule),
            tournament=init_tournament(n_arms),
        )

    def level(self, state: ClippedSGDUCBState, t: int) -> float:
        """Return the common factor of the bonuses."""
        if state.sgd.schedule[0].rate > 0.0:
            return 1.0
        return math.sqrt(math.log(t)) if t > 1 else 0.0

    def select(self, state: ClippedSGDUCBState, t: int, rng: Any) -> int:
        """Return each arm for its initial pulls, then the one with the highest index, a batch at a time."""
        batch_size = (2 * self.m + 1) * self.n
        initial = self.init_pulls if self.init_pulls > 0 else batch_size
        return choose(self, state, t, initial, batch_size)

    def update(self, state: ClippedSGDUCBState, arm: int, reward: float) -> None:
        """Add a reward to the arm's batch, and take a step once it is full."""
        pulls = state.pulls[arm] + 1
        state.pulls[arm] = pulls
        if not descend(state.sgd, arm, reward, self.m, self.n, self.theta, self.init_pulls):
            return
        rate = state.sgd.schedule[0].rate
        width = math.sqrt(2.0 * rate / (state.sgd.steps[arm] + 1)) if rate > 0.0 else self.coeff / math.sqrt(pulls)
        set_line(state.tournament, arm, pulls, state.sgd.x[arm], width)


LARGEST_MEAN = {"clip": {"instance": "largest-mean"}}

sgd_ucb = register_preset(
    "sgd-ucb", ClippedSGDUCB, lambda policy: policy[:2] == (0, 1), zoo=LARGEST_MEAN, look="blue solid"
)(functools.partial(ClippedSGDUCB, 0, 1))

sgd_ucb_median = register_preset(
    "sgd-ucb-median", ClippedSGDUCB, lambda policy: policy[:2] == (1, 1),
    example={"schedule": "theory"}, zoo=LARGEST_MEAN, look="sky dashed",
)(functools.partial(ClippedSGDUCB, 1, 1))  # fmt: skip

sgd_ucb_smom = register_preset(
    "sgd-ucb-smom", ClippedSGDUCB, lambda policy: policy[:2] == (1, 2),
    example={"theta": 0.5}, zoo=LARGEST_MEAN, look="green dash-dot",
)(functools.partial(ClippedSGDUCB, 1, 2))  # fmt: skip
