r"""Probes of arms that a policy no longer plays, since one of them may have risen.

The arm played most is the *leader*.  Any other arm is *probed* when it has had no reward for a long time.  Suppose
that, since the last restart, it has had n rewards and all arms together t, of which i came after its own last one.  It
is probed when

.. math::  i\,\sqrt{\max\{n, 3\}} \ge t/0.74, \qquad t \ge 40 K.

So waits grow with t, and a good policy, which plays an arm of gap :math:`\Delta` about :math:`1/\Delta^2` times, pays
about the same to probe each arm.  If the reward is above the median of the leader's, the arm is looked at again.  Each
such reward adds a look, and any other takes one away, until none is left or the arm leads.

A probe whose reward is late is not repeated before the wait has passed again.  *Reference*: this library.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._validate import LARGEST_COUNT, require_within
from ...protocols import BoolArray, IntArray, compilable
from ..parts.state.drift import Detectors

QUIET = 40  # rewards per arm after a restart, before the first probe
PROBED_REWARDS = 3  # an arm with fewer rewards waits no longer than one with this many
PACE = 0.74  # larger values probe sooner, and cost more where nothing changes


class Probes(NamedTuple):
    """The part of a state that says which arm to probe."""

    last: IntArray  # per arm: number of rewards of all arms when it was last probed, or had its last reward
    looks: IntArray  # per arm: looks left, including one whose reward is pending; 0 if it is not being probed
    leader: IntArray  # array of length one
    suspect: IntArray  # array of length one: the arm to look at again now, or -1
    open: BoolArray

    def check(self, fresh: Probes, n_arms: int) -> None:
        """Refuse arms that do not exist, and impossible counts."""
        require_within("leader", self.leader, 0, n_arms - 1)
        require_within("suspect", self.suspect, -1, n_arms - 1)
        require_within("last", self.last, 0, LARGEST_COUNT)
        require_within("looks", self.looks, 0, LARGEST_COUNT)

    def carry(self, fresh: Probes, rows: IntArray) -> Probes:
        """Keep when arms were last seen; forget what was being probed and which arm led."""
        fresh.last[: len(rows)] = self.last[rows]
        return fresh


def init_probes(n_arms: int) -> Probes:
    """Return probes before the first reward."""
    return Probes(
        last=np.zeros(n_arms, np.int64),
        looks=np.zeros(n_arms, np.int64),
        leader=np.zeros(1, np.int64),
        suspect=np.full(1, -1),
        open=np.ones(n_arms, np.bool_),
    )


@compilable
def forget_probes(probes: Probes | None) -> None:
    """Start over, after a restart."""
    if probes is None:
        return
    probes.last[:] = 0
    probes.looks[:] = 0
    probes.suspect[0] = -1


@compilable
def arm_to_probe(probes: Probes | None, detectors: Detectors, since: int) -> int:
    """Return the arm to look at now, after ``since`` rewards, and record the probe; -1 if there is none.

    Each call considers one arm, in turn, so that a choice costs the same however many arms there are.

    Examples
    --------
    >>> from heavybandits.algorithms.parts.state.drift import has_changed, init_detectors
    >>> probes, detectors = init_probes(n_arms=2), init_detectors(n_arms=2)
    >>> for since in range(1, 200):
    ...     arm = 1 if since < 9 else 0
    ...     changed = has_changed(detectors, arm, 1.0)
    ...     judge_probe(probes, detectors, arm, 1.0, since)
    ...     if arm_to_probe(probes, detectors, since) == 1:
    ...         print("look at arm 1 after", since, "rewards")
    look at arm 1 after 81 rewards
    look at arm 1 after 157 rewards
    """
    if probes is None:
        return -1
    arm = probes.suspect[0]
    if arm < 0:
        arm = since % len(probes.last)
        waited = (since - probes.last[arm]) * PACE * math.sqrt(max(detectors.seen[arm], PROBED_REWARDS))
        if since < QUIET * len(probes.last) or waited < since or arm == probes.leader[0]:
            return -1
    if not probes.open[arm]:
        return -1
    probes.suspect[0] = -1
    probes.last[arm] = since
    probes.looks[arm] = max(1, probes.looks[arm])
    return int(arm)


@compilable
def judge_probe(probes: Probes | None, detectors: Detectors, arm: int, reward: float, since: int) -> None:
    """Add a reward of the arm, the last of ``since``; if the arm is being probed, decide whether to look again."""
    if probes is None:
        return
    probes.last[arm] = since
    if detectors.seen[arm] > detectors.seen[probes.leader[0]]:
        probes.leader[0] = arm
    leader = probes.leader[0]
    if probes.looks[arm] > 0:
        median = detectors.sample[leader, detectors.size[leader] // 2]
        probes.looks[arm] += 1 if reward > median else -1
        if probes.looks[arm] > 1 and arm != leader:
            probes.suspect[0] = arm
        else:
            probes.looks[arm] = 0
