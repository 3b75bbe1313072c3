"""A policy that knows nothing of pending decisions: it is here to measure what knowing of them is worth."""

from __future__ import annotations

from typing import Any, NamedTuple

from heavybandits.algorithms.parameters import PolicyInside, validated


class NaiveState(NamedTuple):
    """The state of the policy inside, which is told of rewards and of nothing else."""

    inner: Any

    @property
    def hides_pending(self) -> bool:
        """Keep decisions from being noted."""
        return True


@validated
class Naive(NamedTuple):
    """A policy that decides as if no reward were out.

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
