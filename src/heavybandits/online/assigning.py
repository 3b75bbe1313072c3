"""Decisions that the policy does not make alone: for a given arm, or among only some of the arms."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._validate import in_range
from ..algorithms.parts.choice.pending import find_pending
from ..algorithms.parts.state.tree import find_draws, find_open
from ..jit.randomness import set_key
from ..protocols import IntArray
from .arms import listed
from .decisions import Assigned
from .known_arms import Arm, KnownArms


class Assigning(KnownArms):
    """An agent for which others may decide, and which knows the probabilities of its own decisions."""

    def assign(self, arm: Arm | None = None, among: Iterable[Arm] | None = None, key: bytes | None = None) -> Assigned:
        """Make a decision for this arm, whatever the policy would pull, or for the policy's own choice if None.

        The policy is consulted either way, so repeating the calls of an agent, with the arms that it returned, leads to
        the same state.  With a ``key`` of 32 bytes, the draws of a randomised policy depend on that alone.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.assign("green")
        Assigned(arm='green', chosen='red', chance=0.0)
        >>> agent.pending
        {'red': 0, 'green': 1}
        """
        names, restrict = None if among is None else listed("among", among), None
        with self._lock:
            given = -1 if arm is None else self._slot(arm)
            try:
                if names is not None:
                    restrict = self._restrict(names, self._state)
                if key is not None and self._rng is not None:
                    set_key(self._rng, key)
                n_arms = len(self._labels)
                slot = self._decide(self._bare, self._state, self._pending, self._seen, self._rng, n_arms, given)
                chosen = self._label(slot)
                given = slot if given < 0 else given
                chance = self._chance(given, slot)
            finally:
                if restrict is not None:
                    restrict(None)
            self._awaited.add(given, self._pending.awaited)
            if chance is not None and self._draws is not None:
                self._awaited.correct(given, chance)
            return Assigned(arm=self._labels[given], chosen=chosen, chance=chance)

    def _chance(self, slot: int, chosen: int) -> float | None:
        """Return the probability with which the policy selected this arm just now; None if it is not known."""
        draws = self._draws
        if draws is None:
            return None if self._rng is not None else float(slot == chosen)
        return float(draws.drawn[slot])

    @property
    def draws(self) -> bool:
        """Whether the policy draws arms by probabilities, and weights rewards by them.

        Examples
        --------
        >>> import heavybandits as hb
        >>> [hb.Agent(hb.make(name), n_arms=2).draws for name in ("ucb", "tsallis-inf")]
        [False, True]
        """
        return self._draws is not None

    def correct_chance(self, arm: Arm, probability: float) -> None:
        """Correct the probability of the arm's latest decision, if the policy did not make it alone.

        Policies that draw arms by probabilities weight the reward by it.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.TsallisINF(), arms=["red", "green"], seed=0)
        >>> agent.assign("red").chance
        0.5
        >>> agent.correct_chance("red", 0.75)  # if half of all decisions are fixed to this arm
        """
        with self._lock:
            self._awaited.correct(self._slot(arm), in_range("Agent", "probability", probability, 0, 1))

    def probabilities(self) -> dict[Any, float]:
        """Return the probability of each arm in the next draw, for policies that draw arms by probabilities.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.TsallisINF(), arms=["red", "green"], seed=0)
        >>> agent.probabilities()
        {'red': 0.5, 'green': 0.5}
        >>> agent.update("red", 1.0)
        >>> agent.update("green", 0.0)
        >>> agent.probabilities()["red"] > 0.5
        True
        """
        with self._lock:
            _, state = self._look_ahead(None)  # a policy computes them when it draws
            draws = find_draws(state)
            if draws is None:
                raise TypeError(f"Agent: {type(self.policy).__name__} does not draw arms by probabilities")
            return dict(zip(self._labels, draws.drawn.tolist(), strict=True))

    def peek(self, among: Iterable[Arm] | None = None) -> Any:
        """Return the arm that :meth:`select` would return, without making a decision.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=3)
        >>> agent.peek(), agent.peek(), agent.select(), agent.peek()
        (0, 0, 0, 1)
        """
        names = None if among is None else listed("among", among)
        with self._lock:
            slot, _ = self._look_ahead(names)
            return self._label(slot)

    def _look_ahead(self, among: list[Any] | None) -> tuple[int, Any]:
        """Return the slot that the policy would select, and a copy of the state after that."""
        state, rng = copy.deepcopy((self._state, self._rng))
        if among is not None:
            self._restrict(among, state)
        slot = self._decide(self._bare, state, find_pending(state), self._seen, rng, len(self._labels), -1)
        return slot, state

    def _restrict(self, names: list[Any], state: Any) -> Callable[[IntArray | None], None]:
        """Let only these arms be chosen, and return the function that lifts this again."""
        slots = sorted({self._slot(arm) for arm in names})
        if not slots:
            raise ValueError("Agent: among must name at least one arm, got none")
        restrict = find_open(state)
        if restrict is None:
            raise TypeError(f"Agent: among must be None for {self.policy!r}, whose state has no field 'open'")
        restrict(np.array(slots))
        return restrict

    def _label(self, slot: int) -> Any:
        """Return the name of the arm that a policy has selected."""
        try:
            return self._labels[slot if slot >= 0 else len(self._labels)]
        except (IndexError, TypeError):
            owner, last = type(self.policy).__name__, len(self._labels) - 1
            raise TypeError(f"Agent: {owner}.select must return an arm from 0 to {last}, got {slot!r}") from None
