r"""ForceMoM: forced exploration, and the median of means of the rewards that it earns.

*Assumes* that a moment of some order p > 1 exists.  *Needs* no prior knowledge, not even p; :math:`\rho` trades the
worst case against the usual one.  *When that fails*: without a mean, the estimate is a median of short means, which
symmetric noise leaves where it should be.

*Formula*: after t pulls, at least

.. math::  D_t = \max(K m_0, \lceil K^{1-\rho} t^\rho \rceil), \qquad m_0 = \lceil 16 \ln(2K + e) \rceil

of them explore, each the arm explored least so far.  All others go to the arm with the largest median of means, taken
over the n rewards of its exploration pulls in q blocks of equal length, where q is the largest odd number up to
:math:`\min(n, 2 \lceil \ln 2K + \ln\ln(e^e + n) \rceil + 1)`.  The rewards of these other pulls are not learned from,
so that estimates are means of independent rewards.  A reward that comes unasked counts as exploration, unless such a
pull of the arm is pending.

The regret is :math:`O(u^{1/p} T^{1 - \rho(p-1)/p})` for every law with :math:`E|X|^p \le u`, and :math:`O(T^\rho)` on
any fixed instance; for :math:`\rho \le 2/3`, no policy that does not know p and u improves on one of these without
losing on the other.

*Cost*: O(q log n) per exploration reward and O(K) per choice; at most 64 bytes per exploration pull.

*Reference*: the preprint on ForceMoM of July 2026, whose authors we have not recorded.  Independently of it,
G. Genalti, A. M. Metelli, Parameter-free heavy-tailed bandits, arXiv:2607.29460, 2026, show the same trade-off with
another schedule of exploration; the question is their open problem at COLT 2025.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..._validate import in_range
from ...protocols import BoolArray, FloatArray, IntArray, compilable
from ..entries import register_policy
from ..estimators.median_of_means import keep, median_of_blocks
from ..parts.state.pool import Pool, init_pool

MOST_FORCED_BLOCKS = 256  # no number of arms and rewards needs more


@compilable
def first_pulls(n_arms: int) -> int:
    """Return how many exploration pulls each arm gets before estimates count.

    Examples
    --------
    >>> [first_pulls(n_arms) for n_arms in (2, 10, 100)]
    [31, 50, 85]
    """
    return math.ceil(16.0 * math.log(2.0 * n_arms + math.e))


@compilable
def block_count(n_arms: int, n: int) -> int:
    """Return the number of blocks, which is odd, into which n rewards are cut.

    Examples
    --------
    >>> [block_count(n_arms, first_pulls(n_arms)) for n_arms in (2, 10, 100)]
    [7, 11, 15]
    """
    most = 2 * math.ceil(math.log(2.0 * n_arms) + math.log(math.log(math.exp(math.e) + n))) + 1
    return min(most, n - (n + 1) % 2)


@compilable
def exploration(n_arms: int, t: int, rho: float) -> int:
    """Return how many of the first t pulls explore.

    Examples
    --------
    >>> [exploration(n_arms, 10_000, 0.5) for n_arms in (2, 10, 100)]
    [142, 500, 8500]
    """
    forced = math.ceil(math.pow(n_arms, 1.0 - rho) * math.pow(t, rho))
    return max(n_arms * first_pulls(n_arms), forced)


class ForceMOMState(NamedTuple):
    """Sums of the rewards of exploration pulls, and their medians of means."""

    pulls: IntArray  # rewards learned from
    asked: IntArray  # exploration pulls, whether or not their rewards have come
    greedy: IntArray  # other pulls whose rewards have not come
    taken: IntArray  # all other pulls
    sums: Pool
    estimate: FloatArray  # NaN before the first
    means: FloatArray  # scratch: the blocks' means
    open: BoolArray


@compilable
def is_better(state: ForceMOMState, arm: int, best: int) -> bool:
    """Return whether an arm has a larger estimate than ``best``, or an equal one after fewer pulls."""
    estimate, taken, asked = state.estimate, state.taken, state.asked
    if estimate[arm] == estimate[best]:
        return bool(asked[arm] + taken[arm] < asked[best] + taken[best])
    return bool(estimate[arm] > estimate[best])


@register_policy(
    "force-mom",
    needs="nothing",
    memory="64 T^rho K^-rho bytes",
    cost="O(K)",
    regret="O(u^(1/p) T^(1 - rho (p-1)/p)) for every p and u with E|X|^p <= u; O(T^rho) on a fixed instance",
    reference="preprint, July 2026; see also Genalti, Metelli 2026",
    look="vermilion dash-dot-dot",
)
class ForceMOM(NamedTuple):
    r"""ForceMoM.

    Parameters
    ----------
    rho
        :math:`\rho`, the exponent of the number of exploration pulls.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(ForceMOM(rho=0.5), n_arms=2)
    >>> for _ in range(62):
    ...     arm = agent.select()
    ...     agent.update(arm, float(arm))
    >>> agent.select()
    1
    """

    rho: Annotated[float, functools.partial(in_range, low=0, high=1, ends="()")] = 0.5

    def init(self, n_arms: int, horizon: int | None) -> ForceMOMState:
        return ForceMOMState(
            pulls=np.zeros(n_arms, np.int64),
            asked=np.zeros(n_arms, np.int64),
            greedy=np.zeros(n_arms, np.int64),
            taken=np.zeros(n_arms, np.int64),
            sums=init_pool(n_arms, horizon, 2),
            estimate=np.full(n_arms, math.nan),
            means=np.zeros(MOST_FORCED_BLOCKS),
            open=np.ones(n_arms, np.bool_),
        )

    def select(self, state: ForceMOMState, t: int, rng: Any) -> int:
        """Return the arm explored least if exploration is due, else the one with the largest estimate."""
        explored, least, best = 0, -1, -1
        for arm in range(len(state.pulls)):
            explored += state.asked[arm]
            if not state.open[arm]:
                continue
            if least < 0 or state.asked[arm] < state.asked[least]:
                least = arm
            if state.pulls[arm] > 0 and (best < 0 or is_better(state, arm, best)):
                best = arm
        if best < 0 or explored < exploration(len(state.pulls), t + 1, self.rho):
            state.asked[least] += 1
            return least
        state.greedy[best] += 1
        state.taken[best] += 1
        return best

    def update(self, state: ForceMOMState, arm: int, reward: float) -> None:
        """Learn from the reward unless the arm was pulled because of its estimate."""
        if state.greedy[arm] > 0:
            state.greedy[arm] -= 1
            return
        n = state.pulls[arm] + 1
        state.pulls[arm] = n
        state.asked[arm] = max(state.asked[arm], n)
        keep(state.sums, arm, reward)
        state.estimate[arm] = median_of_blocks(state.sums, arm, block_count(len(state.pulls), n), state.means)

    def value(self, state: ForceMOMState, arm: int) -> float:
        """Return the median of means."""
        return float(state.estimate[arm])
