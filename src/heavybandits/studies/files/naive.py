"""Any policy without its knowledge of pending decisions, to measure what that knowledge is worth."""

from __future__ import annotations

from typing import Any, NamedTuple

from heavybandits.algorithms.parameters import PolicyInside, validated


class NaiveState(NamedTuple):
    """The state of the policy inside, which learns from rewards alone."""

    inner: Any

    @property
    def hides_pending(self) -> bool:
        """Whether to hide pending decisions from the policy inside; always true."""
        return True


@validated
class Naive(NamedTuple):
    """A policy that decides as if no decision were pending.

    Parameters
    ----------
    policy
        The policy to play.
    """

    policy: PolicyInside

    def init(self, n_arms: int, horizon: int | None) -> NaiveState:
        """Return a fresh state."""
        return NaiveState(self.policy.init(n_arms, horizon))

    def select(self, state: NaiveState, t: int, rng: Any) -> int:
        """Return the arm that the policy inside selects."""
        return self.policy.select(state.inner, t, rng)  # type: ignore[no-any-return]

    def update(self, state: NaiveState, arm: int, reward: float) -> None:
        """Pass the reward on."""
        self.policy.update(state.inner, arm, reward)
