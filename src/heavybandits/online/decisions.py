"""A decision and a reward in compiled code, and what an agent remembers about decisions whose rewards have not come.

Counts are enough, because any reward of an arm settles any of its decisions.  Policies that draw arms at random weight
a reward by the probability of its decision; these probabilities wait in a queue per arm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..algorithms.parts.choice.pending import Pending, ask, find_pending, note
from ..jit.compiled import compiled, compiled_already
from ..protocols import FloatArray

KEPT = 10_000  # at most: probabilities kept per arm, because some rewards never come


def decide(policy: Any, state: Any, pending: Pending, t: int, rng: Any, n_arms: int, given: int) -> int:
    """Return the arm that the policy selects, and record a decision for it, or for the arm ``given`` instead."""
    arm: int = policy.select(state, t, rng)
    asked = arm if given < 0 else given
    if 0 <= asked < n_arms:
        ask(pending, asked)
    return arm


def learn(policy: Any, state: Any, pending: Pending, arm: int, reward: float, asked: bool) -> None:
    """Let the policy learn from a reward; if it was asked for, it settles a decision."""
    note(pending, arm, -1 if asked else 0, 0)  # in any case, since the new pull may decide a tie
    policy.update(state, arm, reward)


class Code(NamedTuple):
    """:func:`decide` and :func:`learn`, compiled for a policy without text parameters and its state."""

    decide: Callable[..., int]
    learn: Callable[..., None]


def compiled_for(policy: Any, state: Any, rng: Any) -> Code:
    """Return the compiled code for this policy, state and generator."""
    return Code(*(compiled(*call) for call in _calls(policy, state, rng)))


def compiled_already_for(policy: Any, state: Any, rng: Any) -> Code | None:
    """Return the compiled code if that takes no compiling, else None."""
    found = [compiled_already(*call) for call in _calls(policy, state, rng)]
    return None if None in found else Code(*found)  # type: ignore[arg-type]


def _calls(policy: Any, state: Any, rng: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    pending = find_pending(state)
    return (decide, policy, state, pending, 0, rng, 0, 0), (learn, policy, state, pending, 0, 0.0, True)


class Assigned(NamedTuple):
    """A decision, and the policy's part in it."""

    arm: Any  # the arm that the decision is for
    chosen: Any  # the arm that the policy would have pulled
    chance: float | None  # probability with which the policy would have pulled ``arm``, if known


class Awaited:
    """Pending decisions of each arm, and their probabilities if the policy draws arms at random.

    Parameters
    ----------
    pending
        Pending decisions per arm.
    chances
        Arms with the probabilities of their latest pending decisions, the oldest first.

    Examples
    --------
    >>> import numpy as np
    >>> awaited, state = Awaited([0, 0]), np.zeros(2)
    >>> for probability in (0.5, 0.25):
    ...     state[1] = probability  # the policy draws arm 1
    ...     awaited.add(1, state)
    >>> awaited.take(1, state)
    >>> float(state[1]), awaited.pending, awaited.chances
    (0.5, [0, 1], [(1, [0.25])])
    """

    def __init__(self, pending: list[int], chances: Iterable[tuple[int, Iterable[float]]] = ()) -> None:
        self.pending = pending
        self._queues = {slot: deque(queue, KEPT) for slot, queue in chances}

    @property
    def chances(self) -> list[tuple[int, list[float]]]:
        """Arms with the probabilities of their pending decisions, in the order of the arms, not of what happened."""
        return [(slot, list(queue)) for slot, queue in sorted(self._queues.items()) if queue]

    def add(self, slot: int, probabilities: FloatArray | None) -> None:
        """Record a decision, whose probability the policy has just written."""
        self.pending[slot] += 1
        if probabilities is not None:
            self._queues.setdefault(slot, deque(maxlen=KEPT)).append(float(probabilities[slot]))

    def correct(self, slot: int, probability: float) -> None:
        """Replace the probability of the arm's latest decision, if probabilities are kept."""
        if queue := self._queues.get(slot):
            queue[-1] = probability

    def take(self, slot: int, probabilities: FloatArray | None, chance: float | None = None) -> None:
        """Remove a decision, if there is one, and give its probability back to the policy.

        It is the one with this ``chance`` if that is known, else the oldest.
        """
        if self.pending[slot] > 0:
            self.pending[slot] -= 1
            queue = self._queues.get(slot)
            if queue and chance is None:
                chance = queue.popleft()
            elif queue and chance is not None and chance in queue:  # else it is so old that it was forgotten
                queue.remove(chance)
        if chance is not None and probabilities is not None:
            probabilities[slot] = chance

    def resized(self, kept: Sequence[int], n_arms: int) -> Awaited:
        """Return the pending decisions of the arms ``kept``, which come first, and none of the others."""
        pending = [self.pending[slot] for slot in kept] + [0] * (n_arms - len(kept))
        return Awaited(pending, [(new, self._queues[old]) for new, old in enumerate(kept) if old in self._queues])
