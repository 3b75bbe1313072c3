r"""Detection of changes in an arm: a test of each new reward by its rank among earlier ones, for rewards of any law.

As long as an arm does not change, the rank of a reward among those before it is uniform, and independent of earlier
ranks, whatever the law of the rewards, if it is continuous.  With a *sample* of m earlier rewards, b of them below the
new one and e equal to it, let :math:`u = (2b + e + 1)/(m + 1) - 1`, a number between -1 and 1 with mean 0.  A bettor
who stakes a share :math:`\lambda` of the wealth on it, and starts again whenever the wealth is below the initial 1, has

.. math::  E_\lambda \leftarrow \max\{1, E_\lambda\}\,(1 + \lambda u), \qquad \lambda \in \{-0.8, -0.3, 0.3, 0.8\}.

An alarm is raised when the average of the four exceeds a threshold A: an e-detector, whose mean time to a false alarm
is at least A if the ranks are exact.  They are exact for the first :data:`CAPACITY` rewards.  Then every other reward
of the sorted sample is dropped, and only every second new reward is kept, later every fourth, and so on.

Where rewards tie, u depends on earlier ranks: while all rewards were 0, it cannot be negative.  Rare rewards among many
zeros therefore cause up to twice as many false alarms as a continuous law; see ``docs/drift.md``.

*Reference*: J. Shin, A. Ramdas, A. Rinaldo, E-detectors, 2022; the sample is this library's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...._validate import LARGEST_COUNT, require_within
from ....protocols import FloatArray, IntArray, compilable, rarely_called

CAPACITY = 1024  # rewards in the sample of an arm
REWARDS_BEFORE_BETS = 5  # rewards before the first bet
THRESHOLD = 2e4  # A; measured: fewer than one false alarm in 1e5 rewards of a continuous law
DRIFT_BETS = np.array([-0.8, -0.3, 0.3, 0.8])
FALLS = 2  # the first so many bet on rewards that fall


class Detectors(NamedTuple):
    """The part of a state that :func:`has_changed` works on."""

    sample: FloatArray  # (arm, CAPACITY): sorted
    size: IntArray  # per arm: rewards in the sample
    seen: IntArray  # per arm: rewards seen
    stride: IntArray  # per arm: one in this many rewards enters the sample
    wealth: FloatArray  # (arm, bets)

    def check(self, fresh: Detectors, n_arms: int) -> None:
        """Refuse samples larger than there is room for, and strides below 1."""
        require_within("size", self.size, 0, CAPACITY)
        require_within("seen", self.seen, 0, LARGEST_COUNT)
        require_within("stride", self.stride, 1, LARGEST_COUNT)


def init_detectors(n_arms: int) -> Detectors:
    """Return detectors that have seen nothing."""
    return Detectors(
        sample=np.zeros((n_arms, CAPACITY)),
        size=np.zeros(n_arms, np.int64),
        seen=np.zeros(n_arms, np.int64),
        stride=np.ones(n_arms, np.int64),
        wealth=np.ones((n_arms, len(DRIFT_BETS))),
    )


@compilable
def begin_anew(detectors: Detectors) -> None:
    """Forget everything."""
    for arm in range(len(detectors.size)):
        detectors.size[arm], detectors.seen[arm], detectors.stride[arm] = 0, 0, 1
        for i in range(len(DRIFT_BETS)):
            detectors.wealth[arm, i] = 1.0


@compilable
def has_changed(detectors: Detectors, arm: int, reward: float, bets: int = len(DRIFT_BETS)) -> bool:
    """Add a reward, and return whether there is now enough evidence of a change, by the first ``bets`` bets.

    Examples
    --------
    >>> detectors = init_detectors(n_arms=1)
    >>> before, after = [i * 7 % 50 for i in range(50)], range(200, 230)
    >>> [has_changed(detectors, 0, reward) for reward in [*before, *after]].index(True)
    67
    """
    sample, size = detectors.sample[arm], detectors.size[arm]
    below, upto = position(sample, size, reward, False), position(sample, size, reward, True)
    total = 0.0
    if size >= REWARDS_BEFORE_BETS:
        u = (below + upto + 1.0) / (size + 1.0) - 1.0
        for i in range(bets):
            detectors.wealth[arm, i] = max(1.0, detectors.wealth[arm, i]) * (1.0 + DRIFT_BETS[i] * u)
            total += detectors.wealth[arm, i]
    detectors.seen[arm] += 1
    if detectors.seen[arm] % detectors.stride[arm] == 0:
        insert(detectors, arm, reward)
    return total > THRESHOLD * bets


@compilable
def position(sample: FloatArray, size: int, x: float, after_ties: bool) -> int:
    """Return how many of the first ``size`` numbers of a sorted sample are below x; with ``after_ties``, not above."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if sample[middle] < x or (after_ties and sample[middle] == x):
            low = middle + 1
        else:
            high = middle
    return low


@rarely_called
def insert(detectors: Detectors, arm: int, x: float) -> None:
    """Insert x into the sorted sample, which is first halved if it is full."""
    sample = detectors.sample[arm]
    if detectors.size[arm] == CAPACITY:
        for i in range(CAPACITY // 2):
            sample[i] = sample[2 * i + 1]
        detectors.size[arm] = CAPACITY // 2
        detectors.stride[arm] *= 2
    size = detectors.size[arm]
    low = position(sample, size, x, True)
    for i in range(size, low, -1):
        sample[i] = sample[i - 1]
    sample[low] = x
    detectors.size[arm] = size + 1
