r"""Medians of repeated plays around any linear policy (Zhong, Huang, Yang, Wang 2021).

*Assumes* noise that is symmetric about zero; no moment need exist.  *Must be told* how many rewards to take the median
of, and whatever the policy inside must be told, about the medians.  *When that fails*: medians of 2m + 1 rewards have a
variance if :math:`\alpha (m + 1) > 2`, where :math:`P\{|\xi| > y\}` falls like :math:`y^{-\alpha}` (m = 2 for Cauchy
noise); under skewed noise medians are off by a constant, which only an intercept can absorb.

*Formula*: the row that the policy selects is played 2m + 1 times, and the policy gets the median of the rewards as one
reward; its clock and its horizon count medians.  If features change in the meantime, the row nearest to the mean of
those already played is played, and that mean is passed on as the features: see :mod:`._repeats`.

*Cost*: the policy's in one round out of 2m + 1, O(K d) in the others; 8 (2m + 1 + d) bytes on top of the policy's.

*Reference*: H. Zhong, J. Huang, L. F. Yang, L. Wang, Breaking the moments condition barrier: no-regret algorithm for
bandits with super heavy-tailed payoffs, NeurIPS 2021.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...numerics import small_median
from ...protocols import FloatArray, IntArray
from ..entries import register_policy
from ..parameters import Count, PolicyInside
from ._repeats import Group, collect, init_group, repeated_row


class MedianOfState(NamedTuple):
    """Rewards waiting for their median, and the state of the policy inside."""

    group: Group
    medians: IntArray  # how many medians the policy has seen
    inner: Any


@register_policy(
    "median-of",
    needs="symmetry, and what the policy inside needs",
    memory="8 (2m + 1 + d) bytes, and the policy's",
    cost="O(K d), and the policy's divided by 2m + 1",
    regret="the policy's for noise with the law of the medians, times 2m + 1, if the features stay the same",
    reference="Zhong, Huang, Yang, Wang 2021",
    kind="linear",
    example={"policy": {"kind": "lin-ucb"}},
    pinned={"policy": {"kind": "lin-ucb"}, "m": 1},
    zoo={"policy": {"kind": "oful", "beta_scale": 0.3}, "m": 2},
)
class MedianOf(NamedTuple):
    """Medians around a linear policy.

    Parameters
    ----------
    policy
        The linear policy that gets the medians.
    m
        Each median is taken over 2m + 1 rewards.

    Examples
    --------
    >>> import numpy as np, heavybandits as hb
    >>> policy = MedianOf(hb.make("lin-ucb"), m=1)
    >>> state = policy.init(n_features=1, horizon=None)
    >>> for reward in (1.0, 1e9, 2.0):
    ...     policy.update(state, np.array([1.0]), reward)
    >>> policy.value(state, np.array([1.0]))  # half the median, because of the ridge
    1.0
    """

    policy: PolicyInside
    m: Count = 2

    def init(self, n_features: int, horizon: int | None) -> MedianOfState:
        size = 2 * self.m + 1
        return MedianOfState(
            group=init_group(n_features, size),
            medians=np.zeros(1, np.int64),
            inner=self.policy.init(n_features, None if horizon is None else max(1, horizon // size)),
        )

    def select(self, state: MedianOfState, features: FloatArray, t: int, rng: Any) -> int:
        """Return the row that the policy selects, and repeat it until there is a median."""
        row = repeated_row(state.group, features)
        if row >= 0:
            return row
        return self.policy.select(state.inner, features, state.medians[0], rng)  # type: ignore[no-any-return]

    def update(self, state: MedianOfState, x: FloatArray, reward: float) -> None:
        """Add a reward, and pass the median on to the policy once there is one."""
        if collect(state.group, x, reward):
            median = small_median(state.group.rewards, 2 * self.m + 1)
            self.policy.update(state.inner, state.group.mean, median)
            state.medians[0] += 1

    def value(self, state: MedianOfState, x: FloatArray) -> float:
        """Return the estimate of the policy inside."""
        return float(self.policy.value(state.inner, x))

    def index_of(self, state: MedianOfState, x: FloatArray, t: int) -> float:
        """Return the index of the policy inside."""
        return float(self.policy.index_of(state.inner, x, state.medians[0]))
