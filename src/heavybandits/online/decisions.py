"""A decision and a reward in compiled code, and what an agent remembers of decisions whose rewards have not come.

Counts are enough, for any of an arm's rewards settles any of its decisions.  Policies that draw arms by chance weigh a
reward by the probability of its decision; these probabilities wait in a queue per arm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..algorithms.kit.pending import Pending, ask, settle
from ..engine.compile.compiled import compiled
from ..protocols import FloatArray

KEPT = 10_000  # probabilities kept per arm: rewards may get lost for ever


def select(policy: Any, state: Any, t: int, rng: Any) -> int:
    """Stand for the policy's own, in compiled copies of :func:`decide`."""
    return policy.select(state, t, rng)  # type: ignore[no-any-return]


def update(policy: Any, state: Any, arm: int, reward: float) -> None:
    """Stand for the policy's own, in compiled copies of :func:`learn`."""
    policy.update(state, arm, reward)


def decide(policy: Any, state: Any, pending: Pending, t: int, rng: Any, n_arms: int, given: int) -> int:
    """Return the arm that the policy selects, and note the decision: for this arm, or for another that is ``given``."""
    arm = select(policy, state, t, rng)
    asked = arm if given < 0 else given
    if 0 <= asked < n_arms:
        ask(pending, asked)
    return arm


def learn(policy: Any, state: Any, pending: Pending, arm: int, reward: float, asked: bool) -> None:
    """Let the policy learn from a reward; if it was asked for, it settles a decision."""
    if asked:
        settle(pending, arm)
    update(policy, state, arm, reward)


def compiled_for(
    policy: Any, state: Any, pending: Pending, rng: Any
) -> tuple[Callable[..., int], Callable[..., None]]:  # fmt: skip
    """Return :func:`decide` and :func:`learn`, compiled for a policy without text parameters and its state."""
    return (
        compiled(decide, policy, state, pending, 0, rng, 0, 0),
        compiled(learn, policy, state, pending, 0, 0.0, True),
    )


class Assigned(NamedTuple):
    """A decision, and what the policy had to do with it."""

    arm: Any  # for which it was made
    chosen: Any  # which the policy would have pulled
    chance: float | None  # probability with which the policy would have pulled ``arm``, if it knows


class Awaited:
    """Pending decisions of each arm, and their probabilities if the policy draws arms by chance.

    Parameters
    ----------
    pending
        Pending decisions per arm.
    chances
        Arms with probabilities of the latest of them, the oldest first.

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
        """Arms with the probabilities of their pending decisions."""
        return [(slot, list(queue)) for slot, queue in self._queues.items() if queue]

    def add(self, slot: int, probabilities: FloatArray | None) -> None:
        """Note a decision; the policy has just written its probability."""
        self.pending[slot] += 1
        if probabilities is not None:
            self._queues.setdefault(slot, deque(maxlen=KEPT)).append(float(probabilities[slot]))

    def correct(self, slot: int, probability: float) -> None:
        """Replace the probability of the arm's latest decision, if probabilities are kept."""
        if queue := self._queues.get(slot):
            queue[-1] = probability

    def take(self, slot: int, probabilities: FloatArray | None, chance: float | None = None) -> None:
        """Let a decision go, if there is one, and give its probability back to the policy.

        It is the one of this ``chance`` if that is known, else the oldest.
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
        """Return what is known of the arms ``kept``, which come first, and nothing of the others."""
        pending = [self.pending[slot] for slot in kept] + [0] * (n_arms - len(kept))
        return Awaited(pending, [(new, self._queues[old]) for new, old in enumerate(kept) if old in self._queues])
