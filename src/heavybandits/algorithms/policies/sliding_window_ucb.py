r"""Sliding-window UCB: UCB on the latest rewards, for arms that change abruptly (Garivier, Moulines 2011).

*Assumes* rewards in a range of width B, and locations that stay put for a while.  *Must be told* B and the window,
which should be of order :math:`\sqrt{T \ln T/\Upsilon}` for :math:`\Upsilon` changes.  *When that fails*: a long window
remembers what no longer holds; a short one forgets what still does, so that regret is linear even if nothing changes.
With heavy tails a mean over a window is as fragile as :class:`.UCB`.

*Formula*: of the last :math:`\tau` rewards, all arms together, let :math:`n_a` be from arm a, with mean
:math:`\bar r_a`.  Arms without any come first; otherwise

.. math::  A_t = \arg\max_a\ \bar r_a + B\,\sqrt{\frac{\xi \ln \min\{t, \tau\}}{n_a}}.

The paper proves its bound for :math:`\xi > 1/2`, and uses 0.6 in its experiments.

*Cost*: O(1) amortised per reward and O(K) per choice; 49 bytes per arm, and :math:`16\tau` bytes in all.  Sums over the
window are never found by subtraction, so an infinite reward leaves no trace once it has left.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._validate import require_within
from ...numerics import SUMMABLE, clip
from ...protocols import BoolArray, FloatArray, IntArray, compilable, rarely_called
from ..entries import register_policy
from ..parameters import Count, NonNegative, Positive
from ..parts.choice.late import Late, init_late
from ._scan import due, scan


class Window(NamedTuple):
    """The last rewards of all arms, and their sums per arm.

    Rewards fill a ring.  When it is full, the reward in each slot is replaced by the sum of the *later* rewards of its
    arm, and ``older`` by the sum of all rewards of each arm.  A new reward then takes a slot and adds to ``newer``; for
    the arm that had the slot, ``older`` becomes the number that the slot held.
    """

    arms: IntArray  # of each slot; -1 if the slot is empty or its arm is gone
    numbers: FloatArray  # reward of each new slot; of each old slot, the sum of its arm's later old rewards
    next: IntArray  # the slot to fill next
    older: FloatArray  # per arm: sum of the rewards in old slots
    newer: FloatArray  # per arm: sum of the rewards in new slots
    size: IntArray  # per arm: rewards in the window

    def check(self, fresh: Window, n_arms: int) -> None:
        """Refuse arms that do not exist, and slots and sizes that exceed the window."""
        require_within("arms", self.arms, -1, n_arms - 1)
        require_within("next", self.next, 0, len(self.arms) - 1)
        require_within("size", self.size, 0, len(self.arms))

    def carry(self, fresh: Window, rows: IntArray) -> Window:
        """Move the rewards of the arms ``rows`` to the first arms of ``fresh``; slots of other arms become empty."""
        kept = len(rows)
        numbers = np.full(len(self.size) + 1, -1)
        numbers[rows] = np.arange(kept)
        fresh.arms[:] = numbers[self.arms]  # -1 stays -1: it picks the last number
        fresh.numbers[:], fresh.next[:] = self.numbers, self.next
        for old, new in ((self.older, fresh.older), (self.newer, fresh.newer)):
            new[:kept] = old[rows]
        fresh.size[:kept] = self.size[rows]
        return fresh


def init_window(n_arms: int, length: int) -> Window:
    """Return an empty window.

    Examples
    --------
    >>> window = init_window(n_arms=1, length=2)
    >>> for reward in (1.0, math.inf, 3.0, 4.0):
    ...     enter_window(window, 0, reward)
    >>> window_mean(window, 0)
    3.5
    """
    return Window(
        arms=np.full(length, -1),
        numbers=np.zeros(length),
        next=np.zeros(1, np.int64),
        older=np.zeros(n_arms),
        newer=np.zeros(n_arms),
        size=np.zeros(n_arms, np.int64),
    )


@compilable
def enter_window(window: Window, arm: int, reward: float) -> None:
    """Add a reward; if the window is full, the oldest one leaves."""
    slot = window.next[0]
    leaves = window.arms[slot]
    if leaves >= 0:
        window.older[leaves] = window.numbers[slot]
        window.size[leaves] -= 1
    x = clip(reward, SUMMABLE)
    window.arms[slot], window.numbers[slot] = arm, x
    window.newer[arm] += x
    window.size[arm] += 1
    window.next[0] = slot + 1
    if slot + 1 == len(window.arms):
        turn_window(window)


@rarely_called
def turn_window(window: Window) -> None:
    """Make all slots old."""
    window.older[:] = 0.0
    window.newer[:] = 0.0
    for slot in range(len(window.arms) - 1, -1, -1):
        arm = window.arms[slot]
        if arm >= 0:
            reward = window.numbers[slot]
            window.numbers[slot] = window.older[arm]
            window.older[arm] += reward
    window.next[0] = 0


@compilable
def window_mean(window: Window, arm: int) -> float:
    """Return the mean of the arm's rewards in the window; NaN if there are none."""
    n = window.size[arm]
    return float((window.older[arm] + window.newer[arm]) / n) if n > 0 else math.nan


class SlidingWindowUCBState(NamedTuple):
    """The window, and all pulls."""

    pulls: IntArray
    late: Late
    window: Window
    open: BoolArray


@register_policy(
    "sliding-window-ucb",
    needs="window, width of the range",
    memory="49 bytes, and 16 tau in all",
    cost="O(K)",
    regret="O(sqrt(T Y ln T)), for rewards in the range, Y changes and the right window",
    reference="Garivier, Moulines 2011",
    example={"window": 100},
    zoo={"window": 1000},
    look="brown dash-dot-dot",
)
class SlidingWindowUCB(NamedTuple):
    r"""Sliding-window UCB.

    Parameters
    ----------
    window
        :math:`\tau`, the number of latest rewards that count.
    width
        B, the difference between the largest and the smallest possible reward.
    xi
        :math:`\xi`, how much to explore.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(SlidingWindowUCB(window=4), n_arms=2)
    >>> agent.update_many([0, 0, 0, 1, 0, 1], [9.0, 9.0, 0.0, 0.5, 0.0, 0.5])  # the nines are forgotten
    >>> agent.select()
    1
    """

    window: Count
    width: Positive = 1.0
    xi: NonNegative = 0.6

    def init(self, n_arms: int, horizon: int | None) -> SlidingWindowUCBState:
        return SlidingWindowUCBState(
            pulls=np.zeros(n_arms, np.int64),
            late=init_late(n_arms),
            window=init_window(n_arms, self.window),
            open=np.ones(n_arms, np.bool_),
        )

    def select(self, state: SlidingWindowUCBState, t: int, rng: Any) -> int:
        """Return each arm once, then the one with the highest index."""
        arm = due(state, 1)
        return arm if arm >= 0 else scan(self, state, t)

    def update(self, state: SlidingWindowUCBState, arm: int, reward: float) -> None:
        """Add the reward to the window."""
        state.pulls[arm] += 1
        enter_window(state.window, arm, reward)

    def value(self, state: SlidingWindowUCBState, arm: int) -> float:
        """Return the mean of the arm's rewards in the window; NaN if there are none."""
        return float(window_mean(state.window, arm))

    def index_of(self, state: SlidingWindowUCBState, arm: int, t: int) -> float:
        """Return mean plus bonus; infinite for an arm without rewards in the window."""
        n = state.window.size[arm]
        if n == 0:
            return math.inf
        log = math.log(max(1, min(t, self.window)))
        return float(window_mean(state.window, arm) + self.width * math.sqrt(self.xi * log / n))
