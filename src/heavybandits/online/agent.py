"""Online use: an agent that chooses arms and learns, gains and loses arms, and survives a restart."""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import repr as brief
from typing import Any

from .._validate import count, in_range
from ..algorithms.parts.choice.pending import give_up
from ..algorithms.policies.restarting import Restarting
from ..protocols import Policy
from .arms import Arms, listed
from .assigning import Assigning
from .given import policy_of, reward_of
from .known_arms import Arm
from .saved_arms import Saved


class Agent(Assigning):
    """An agent that chooses arms and learns from rewards, one decision at a time.

    Rewards may come late, in any order, in bulk, or for arms that were never selected (logged data).  Several decisions
    may be pending at once, and the next one takes them into account.  A call that is refused, such as an update with
    NaN, changes nothing; infinite rewards are accepted.  Threads may share an agent: its calls run one after another.

    Parameters
    ----------
    policy
        The policy, such as ``hb.make("sgd-ucb")``.
    n_arms
        Number of arms, which are then named 0, 1, 2, ...
    arms
        Names of the arms, instead of ``n_arms``.
    horizon
        Planned number of pulls, for policies that must know it.
    seed
        Seed of a randomised policy; by default a fresh one.
    drift
        Whether arms may change; if so, the policy is played as ``hb.Restarting(policy)``.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
    >>> agent.select()
    'red'
    >>> agent.update("red", 1.0)
    >>> agent.update("green", 3.0)
    >>> agent.select()
    'green'
    >>> print(agent)
    ucb, 2 rewards
    arm    pulls  pending  estimate  index
    red        1        0         1  2.177
    green      1        1         3  3.833
    """

    def __init__(
        self,
        policy: Policy[Any],
        n_arms: int | None = None,
        *,
        arms: Iterable[Arm] | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        drift: bool = False,
    ) -> None:
        policy = Restarting(policy_of("Agent", "arms", policy)) if drift else policy_of("Agent", "arms", policy)
        if (n_arms is None) == (arms is None):
            given = f"n_arms={n_arms!r} and arms={brief(arms)}"
            raise TypeError(f"Agent: exactly one of n_arms and arms must be given, got {given}")
        try:
            names = Arms(range(count("Agent", "n_arms", n_arms)) if arms is None else listed("arms", arms))
        except (MemoryError, OverflowError):
            given = f"n_arms={n_arms}" if arms is None else f"arms={brief(arms)}"
            raise ValueError(f"Agent: arms must fit into memory, got {given}") from None
        none = [0] * len(names.labels)
        start = self._start(policy, len(names.labels), horizon, seed)
        self.__setstate__(Saved(
            policy=policy, horizon=start.horizon, labels=names.labels, unused=names.unused, pulls=none, seen=0,
            rng=start.rng, state=start.state, pending=[*none], chances=[],
        ))  # fmt: skip

    def select(self, among: Iterable[Arm] | None = None) -> Any:
        """Return the arm to pull next; if only some are available now, name them in ``among``.

        The decision is pending until a reward of the arm comes, or until it is given up by :meth:`cancel`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=3)
        >>> agent.select(), agent.select(among=[0, 2])
        (0, 2)
        """
        if among is not None:
            return self.assign(among=among).arm
        self._acquire()
        try:
            n_arms = len(self._labels)
            slot = self._decide(self._bare, self._state, self._pending, self._seen, self._rng, n_arms, -1)
            label = self._label(slot)
            self._awaited.add(slot, self._pending.awaited)
            return label
        finally:
            self._release()

    def cancel(self, arm: Arm, *, chance: float | None = None) -> None:
        """Give up a pending decision for the arm, whose reward will never come.

        Decisions that stay pending make the agent select the arm less often, so cancel those that take too long.
        ``chance`` is as in :meth:`update`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.cancel(agent.select())
        >>> agent.cancel(0)
        Traceback (most recent call last):
            ...
        ValueError: Agent: arm must have a pending decision to be cancelled, got 0 without one
        """
        if chance is not None:
            in_range("Agent", "chance", chance, 0, 1)
        with self._lock:
            slot = self._slot(arm)
            if self._awaited.pending[slot] == 0:
                raise ValueError(f"Agent: arm must have a pending decision to be cancelled, got {arm!r} without one")
            self._awaited.take(slot, None, chance)
            give_up(self._pending, slot)

    def update(self, arm: Arm, reward: float, *, asked: bool = True, chance: float | None = None) -> None:
        """Learn from a reward.

        It settles a pending decision for the arm, if there is one.  Pass ``asked=False`` if no selection led to it.
        Policies that draw arms at random weight the reward by the probability of its decision.  If you know that, pass
        it as ``chance``; otherwise the reward is taken to belong to the oldest pending decision.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update(1, 0.5)
        >>> agent.update(1, float("nan"))
        Traceback (most recent call last):
            ...
        ValueError: Agent: reward must not be NaN (leave out missing rewards), got nan
        """
        if type(reward) is not float or reward != reward:  # a float that is a number needs no call
            reward = reward_of(reward)
        if chance is not None:
            in_range("Agent", "chance", chance, 0, 1)
        self._acquire()
        try:
            self._learn(self._slot(arm), reward, bool(asked), chance)
        finally:
            self._release()

    def update_many(self, arms: Iterable[Arm], rewards: Iterable[float], *, asked: bool = True) -> None:
        """Learn from many rewards, in this order: from all of them or, if one is refused, from none.

        ``asked`` is as in :meth:`update`, and the same for all of them.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update_many([0, 1, 1], [0.5, 2.0, 3.0])
        >>> agent.select()
        1
        """
        names = listed("arms", arms)
        values = [reward_of(reward) for reward in listed("rewards", rewards)]
        with self._lock:
            slots = [self._slot(arm) for arm in names]
            if len(slots) != len(values):
                given = f"{len(slots)} and {len(values)}"
                raise ValueError(f"Agent: arms and rewards must have the same length, got {given}")
            for slot, value in zip(slots, values, strict=True):
                self._learn(slot, value, bool(asked))

    def _learn(self, slot: int, reward: float, asked: bool, chance: float | None = None) -> None:
        if self._pools or self._better_code is not None:
            self._make_ready()
        if asked:
            self._awaited.take(slot, self._pending.awaited, chance)
        elif self._pending.awaited is not None:
            self._pending.awaited[slot] = 0.0  # nobody drew the arm for this reward
        self._learn_from(self._bare, self._state, self._pending, slot, reward, asked)
        self._pulls[slot] += 1
        self._seen += 1
