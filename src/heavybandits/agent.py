"""Online use: a policy that chooses, learns, changes its arms and survives a restart."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import agent_file
from ._validate import count, unknown, whole
from .compile import compiled, uses_rng, without_text
from .protocols import FloatArray, IntArray, Policy
from .state import carried, find_open, has_store, with_room

Arm = Hashable


update: Callable[[Any, Any, int, float], None]  # in `_update_all`, the policy's own


def _update_all(policy: Any, state: Any, arms: IntArray, rewards: FloatArray) -> None:
    for i in range(len(arms)):
        update(policy, state, arms[i], rewards[i])


class Agent:
    """Chooses arms and learns from rewards, one decision at a time.

    Rewards may come late, in any order, in bulk, or for arms that were never selected (logged data).  Several selections
    may be under way at once.  NaN is refused, and then nothing has changed; infinite rewards are welcome.

    Parameters
    ----------
    policy
        For instance ``hb.make("sgd-ucb")``.
    n_arms
        Number of arms, which are then called 0, 1, 2, ...
    arms
        Names of the arms, instead of ``n_arms``.
    horizon
        Planned number of pulls, for policies that must know it.
    seed
        Seed of a randomised policy; by default a fresh one.

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
    UCB(c=1.0), 2 rewards
    arm     pulls  estimate  index
    red         1         1  2.177
    green       1         3  4.177
    """

    def __init__(
        self,
        policy: Policy[Any],
        n_arms: int | None = None,
        *,
        arms: Iterable[Arm] | None = None,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        for method in ("init", "select", "update"):
            if not callable(getattr(policy, method, None)) or isinstance(policy, type):
                raise TypeError(f"Agent: policy must be a policy such as hb.make('sgd-ucb'), got {policy!r}")
        if (n_arms is None) == (arms is None):
            raise TypeError("Agent: give either n_arms or arms")
        labels = list(arms) if arms is not None else list(range(count("Agent", "n_arms", n_arms)))
        if not labels or len(set(labels)) < len(labels):
            raise ValueError(f"Agent: arms must be different names, at least one, got {labels!r}")
        self.policy = policy
        self.horizon = None if horizon is None else count("Agent", "horizon", horizon)
        self._random = uses_rng(policy)
        self._rng = np.random.default_rng(None if seed is None else whole("Agent", "seed", seed)) if self._random else None
        self._bare = without_text(policy)
        self._seen = 0
        self._adopt(labels, [0] * len(labels), policy.init(len(labels), self.horizon))

    def _adopt(self, labels: list[Arm], pulls: list[int], state: Any) -> None:
        """Take these arms and this state."""
        self._labels, self._pulls, self._state = labels, pulls, state
        self._slots = {label: slot for slot, label in enumerate(labels)}
        self._numbered = all(type(label) is int and label == slot for slot, label in enumerate(labels))
        self._stores = has_store(state)
        self._select = compiled(type(self.policy).select, self._bare, state, 0, self._rng)
        self._update = compiled(type(self.policy).update, self._bare, state, 0, 0.0)

    @property
    def arms(self) -> list[Arm]:
        """Names of the arms, in order."""
        return list(self._labels)

    @property
    def pulls(self) -> dict[Arm, int]:
        """Rewards seen per arm."""
        return dict(zip(self._labels, self._pulls, strict=True))

    def select(self, among: Iterable[Arm] | None = None) -> Any:
        """Arm to pull next, if only some are available now then ``among`` these."""
        if among is None:
            slot = self._select(self._bare, self._state, self._seen, self._rng)
        else:
            slots = np.array(sorted({self._slot(arm) for arm in among}), np.int64)
            if not len(slots):
                raise ValueError("Agent: among must name at least one arm, got none")
            restrict = find_open(self._state)
            if restrict is None:
                raise TypeError(f"Agent: {type(self.policy).__name__} cannot choose among some arms: its state has no 'open'")
            restrict(slots)
            try:
                slot = self._select(self._bare, self._state, self._seen, self._rng)
            finally:
                restrict(None)
        return slot if self._numbered else self._labels[slot]

    def update(self, arm: Arm, reward: float) -> None:
        """Learn from a reward."""
        slot = arm if self._numbered and type(arm) is int and 0 <= arm < len(self._pulls) else self._slot(arm)
        value = _reward(reward)
        if self._stores:
            self._state = with_room(self._state)
        self._update(self._bare, self._state, slot, value)
        self._pulls[slot] += 1
        self._seen += 1

    def update_many(self, arms: Sequence[Arm], rewards: Sequence[float]) -> None:
        """Learn from many rewards, in this order: from all of them or, if one is bad, from none."""
        slots = np.array([self._slot(arm) for arm in arms], np.int64)
        values = np.array([_reward(reward) for reward in rewards])
        if len(slots) != len(values):
            raise ValueError(f"Agent: update_many needs as many arms as rewards, got {len(slots)} and {len(values)}")
        if self._stores:
            for slot, value in zip(slots.tolist(), values.tolist(), strict=True):
                self._state = with_room(self._state)
                self._update(self._bare, self._state, slot, value)
        else:
            compiled(_update_all, self._bare, self._state, slots, values)(self._bare, self._state, slots, values)
        for slot in slots.tolist():
            self._pulls[slot] += 1
        self._seen += len(slots)

    def add_arm(self, name: Arm | None = None) -> Arm:
        """Add an arm that nothing is known of, and return its name: by default the next number."""
        if name is None:
            name = max((label + 1 for label in self._labels if type(label) is int), default=0)
        if name in self._slots:
            raise ValueError(f"Agent: there is an arm {name!r} already")
        kept = np.arange(len(self._labels))
        self._resize([*self._labels, name], [*self._pulls, 0], kept)
        return name

    def remove_arm(self, arm: Arm) -> None:
        """Forget an arm; the others keep their names and what is known of them."""
        slot = self._slot(arm)
        if len(self._labels) == 1:
            raise ValueError(f"Agent: {arm!r} is the only arm left, and cannot be removed")
        kept = np.delete(np.arange(len(self._labels)), slot)
        self._resize([self._labels[i] for i in kept], [self._pulls[i] for i in kept], kept)

    def _resize(self, labels: list[Arm], pulls: list[int], kept: IntArray) -> None:
        fresh = [self.policy.init(n, self.horizon) for n in (len(self._labels), len(labels))]
        self._adopt(labels, pulls, carried(self._state, fresh[0], fresh[1], kept))

    def _slot(self, arm: Arm) -> int:
        if isinstance(arm, np.integer):
            arm = int(arm)
        try:
            if arm in self._slots and not isinstance(arm, bool):
                return self._slots[arm]
        except TypeError:  # not hashable, so no arm's name
            pass
        if self._numbered:
            raise ValueError(f"Agent: arm must be a whole number from 0 to {len(self._labels) - 1}, got {arm!r}")
        raise ValueError(f"Agent: {unknown('arm', arm, map(str, self._labels))}")

    def save(self, path: str | Path) -> None:
        """Write the agent to a file; a crash while writing leaves the old file as it was."""
        agent_file.write(Path(path), self.policy, self._labels, self.horizon, self._pulls, self._rng, self._state)

    @classmethod
    def load(cls, path: str | Path, policy: Policy[Any] | None = None) -> Agent:
        """Read an agent that decides exactly as the saved one would have.

        A policy of your own is not found by its name in the file (reading a file never runs code): pass it as ``policy``.
        """
        saved = agent_file.read(Path(path), policy)
        agent = cls(saved.policy, arms=saved.labels, horizon=saved.horizon)
        agent._rng = saved.rng
        agent._seen = sum(saved.pulls)
        agent._adopt(saved.labels, saved.pulls, saved.state)
        return agent

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, {len(self._labels)} arms, {self._seen} rewards)"

    def __str__(self) -> str:
        """Table of arms, the most pulled ones if there are many."""
        shown = sorted(range(len(self._labels)), key=lambda slot: -self._pulls[slot])[:20]
        rows = [["arm", "pulls", "estimate", "index"]]
        for slot in sorted(shown):
            value, index = getattr(self.policy, "value", None), getattr(self.policy, "index_of", None)
            numbers = (
                value(self._state, slot) if value else math.nan,
                index(self._state, slot, self._seen) if index else math.nan,
            )
            rows.append([str(self._labels[slot]), str(self._pulls[slot]), *("-" if n != n else f"{n:.4g}" for n in numbers)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))) for row in rows]
        if len(self._labels) > len(shown):
            lines.append(f"... and {len(self._labels) - len(shown)} more")
        return "\n".join([f"{self.policy!r}, {self._seen} rewards", *lines])


def _reward(reward: Any) -> float:
    if type(reward) is not float:
        if isinstance(reward, str | bytes):
            raise TypeError(f"Agent: reward must be a number, got {reward!r}")
        try:
            reward = float(reward)
        except (TypeError, ValueError):
            raise TypeError(f"Agent: reward must be a number, got {reward!r}") from None
        except OverflowError:  # a whole number beyond the floats
            reward = math.copysign(math.inf, reward)
    if reward != reward:
        raise ValueError("Agent: reward must not be NaN; leave out rewards that are missing")
    return reward  # type: ignore[no-any-return]
