"""A decision and a reward in code to be compiled, and what agents remember about decisions whose rewards have not come.

For arms counts are enough, because any reward of an arm settles any of its decisions.  Policies that draw arms at
random weight a reward by the propensity of its decision, its probability; these wait in a queue per arm.

The code gets a state with its parts that concern pending decisions, as a :class:`~heavybandits.jit.located.Located`.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.parts.choice.pending import ask, find_pending, note
from ..algorithms.parts.choice.pending_rows import ask as ask_row
from ..algorithms.parts.choice.pending_rows import settle as settle_row
from ..protocols import FloatArray

FeatureRow = tuple[float, ...]
MOST_PROPENSITIES = 10_000  # kept per arm, because some rewards never come
MOST_PENDING_ROWS = 10_000
LARGEST_FEATURE = 1e100  # squares of larger ones, and products of those, might be infinite
REFUSED = -1  # returned instead of a row


def decide(policy: Any, located: Any, t: int, rng: Any, n_arms: int, given: int) -> int:
    """Return the arm that the policy selects, and record a decision for it, or for the arm ``given`` instead."""
    state, pending = located
    arm: int = policy.select(state, t, rng)
    decided = arm if given < 0 else given
    if 0 <= decided < n_arms:
        ask(pending, decided)
    return arm


def learn(policy: Any, located: Any, arm: int, reward: float, selected: bool) -> None:
    """Let the policy learn from a reward; if a selection led to it, it settles a decision."""
    state, pending = located
    note(pending, arm, -1 if selected else 0, 0)  # in any case, since the new pull may decide a tie
    policy.update(state, arm, reward)


def calls_on_arms(policy: Any, state: Any, rng: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return these two functions, with arguments of the types that they are called with."""
    parts = state, find_pending(state)
    return (decide, policy, parts, 0, rng, 0, 0), (learn, policy, parts, 0, 0.0, True)


def decide_row(policy: Any, located: Any, features: FloatArray, t: int, rng: Any, given: int) -> int:
    """Return the row that the policy selects, and record a decision for it, or for the row ``given`` instead.

    If a feature is not a number or too large, return ``REFUSED`` and record nothing.
    """
    for i in range(features.shape[0]):
        for j in range(features.shape[1]):
            if not abs(features[i, j]) <= LARGEST_FEATURE:
                return REFUSED
    state, pending = located
    row: int = policy.select(state, features, t, rng)
    decided = row if given < 0 else given
    if 0 <= decided < features.shape[0]:
        ask_row(pending, features[decided])
    return row


def learn_row(policy: Any, located: Any, x: FloatArray, reward: float, settles: bool) -> bool:
    """Let the policy learn from the reward of a row, unless a feature is refused, and return whether it did."""
    for i in range(len(x)):
        if not abs(x[i]) <= LARGEST_FEATURE:
            return False
    state, pending = located
    policy.update(state, x, reward)
    if settles:
        settle_row(pending, x)
    return True


class Assigned(NamedTuple):
    """A decision, and the policy's part in it."""

    arm: Any  # the arm that the decision is for
    chosen: Any  # the arm that the policy would have pulled
    propensity: float | None  # probability with which the policy would have pulled ``arm``, if known

    @property
    def chance(self) -> float | None:
        """The old name of ``propensity``."""
        message = "Assigned: 'chance' is called 'propensity' now; the next version removes the old name"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.propensity


class PendingArms:
    """Pending decisions of each arm, and their propensities if the policy draws arms at random.

    Parameters
    ----------
    counts
        Pending decisions per arm.
    propensities
        Arms with the propensities of their latest pending decisions, the oldest first.

    Examples
    --------
    >>> import numpy as np
    >>> pending, state = PendingArms([0, 0]), np.zeros(2)
    >>> for probability in (0.5, 0.25):
    ...     state[1] = probability  # the policy draws arm 1
    ...     pending.add(1, state)
    >>> pending.take(1, state)
    >>> float(state[1]), pending.counts, pending.propensities
    (0.5, [0, 1], [(1, [0.25])])
    """

    def __init__(self, counts: list[int], propensities: Iterable[tuple[int, Iterable[float]]] = ()) -> None:
        self.counts = counts
        self._queues = {slot: deque(queue, MOST_PROPENSITIES) for slot, queue in propensities}

    @property
    def propensities(self) -> list[tuple[int, list[float]]]:
        """Arms with the propensities of their pending decisions, in the order of the arms, not of what happened."""
        return [(slot, list(queue)) for slot, queue in sorted(self._queues.items()) if queue]

    def add(self, slot: int, probabilities: FloatArray | None) -> None:
        """Record a decision, whose probability the policy has just written."""
        self.counts[slot] += 1
        if probabilities is not None:
            self._queues.setdefault(slot, deque(maxlen=MOST_PROPENSITIES)).append(float(probabilities[slot]))

    def correct(self, slot: int, propensity: float) -> None:
        """Replace the propensity of the arm's latest decision, if propensities are kept."""
        if queue := self._queues.get(slot):
            queue[-1] = propensity

    def take(self, slot: int, probabilities: FloatArray | None, propensity: float | None = None) -> None:
        """Remove a decision, if there is one, and give its probability back to the policy.

        It is the one with this propensity if that is known, else the oldest.
        """
        if self.counts[slot] > 0:
            self.counts[slot] -= 1
            queue = self._queues.get(slot)
            if queue and propensity is None:
                propensity = queue.popleft()
            elif queue and propensity is not None and propensity in queue:  # else it is so old that it was forgotten
                queue.remove(propensity)
        if propensity is not None and probabilities is not None:
            probabilities[slot] = propensity

    def resized(self, kept: Sequence[int], n_arms: int) -> PendingArms:
        """Return the pending decisions of the arms ``kept``, which come first, and none of the others."""
        counts = [self.counts[slot] for slot in kept] + [0] * (n_arms - len(kept))
        return PendingArms(counts, [(new, self._queues[old]) for new, old in enumerate(kept) if old in self._queues])


def padded(row: FeatureRow | FloatArray, n_features: int) -> FloatArray:
    """Return a row with this number of features; those that it had no numbers for are 0.

    Examples
    --------
    >>> padded((1.0, 2.0), 3)
    array([1., 2., 0.])
    """
    if len(row) == n_features:
        return row if isinstance(row, np.ndarray) else np.array(row)
    return np.append(row, np.zeros(n_features - len(row)))


class PendingRows:
    """Rows of pending decisions, the oldest first; decisions are told apart by a key, which may be the row itself.

    Examples
    --------
    >>> pending = PendingRows([[1.0, 2.0]])
    >>> pending.add((3.0, 4.0), (3.0, 4.0))
    >>> pending.take((1.0, 2.0))
    (1.0, 2.0)
    >>> pending.rows, pending.total
    ([[3.0, 4.0]], 1)
    """

    def __init__(self, rows: Iterable[Iterable[float]] = ()) -> None:
        self._by_key: dict[Hashable, list[FeatureRow | FloatArray]] = {}
        self.total = 0
        for row in map(tuple, rows):
            self.add(row, row)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._by_key

    @property
    def rows(self) -> list[list[float]]:
        """All rows, each as often as it is pending."""
        return [list(row) for _, row in self.entries]

    @property
    def entries(self) -> list[tuple[Any, FeatureRow | FloatArray]]:
        """Keys and rows of all decisions."""
        return [(key, row) for key, rows in self._by_key.items() for row in rows]

    def add(self, key: Hashable, row: FeatureRow | FloatArray) -> Hashable | None:
        """Record a decision, and return the key of the oldest one if there are now too many."""
        self._by_key.setdefault(key, []).append(row)
        self.total += 1
        return next(iter(self._by_key)) if self.total > MOST_PENDING_ROWS else None

    def first(self, key: Hashable) -> FeatureRow | FloatArray | None:
        """Return the row of the oldest decision with this key, or None if there is none."""
        rows = self._by_key.get(key)
        return rows[0] if rows else None

    def take(self, key: Hashable) -> FeatureRow | FloatArray:
        """Remove the oldest decision with this key, and return its row."""
        self.total -= 1
        rows = self._by_key[key]
        if len(rows) == 1:
            del self._by_key[key]
        return rows.pop(0)
