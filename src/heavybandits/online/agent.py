"""Online use: a policy that chooses, learns, changes its arms and survives a restart."""

from __future__ import annotations

import copy
import heapq
import threading
from collections.abc import Callable, Hashable, Iterable
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any

import numpy as np

from .._format import plural
from .._validate import count, in_range, whole
from ..algorithms.kit.pending import find_pending, give_up
from ..algorithms.kit.shown import index_of, value_of
from ..algorithms.kit.state import SMOOTHING, carried, find_draws, find_open, fresh_state, pools, reseed, with_room
from ..algorithms.kit.tournament import SCAN
from ..algorithms.policies.restarting import Restarting
from ..algorithms.registry import name_of
from ..engine.compile.compiled import compiled, without_text
from ..engine.compile.randomness import set_key, uses_rng
from ..protocols import IntArray, Policy
from . import arm_table
from .ahead import compile_ahead
from .arm_table import ROWS, Row
from .arms import Arms, listed
from .decisions import Assigned, Awaited, decide, learn
from .given import policy_of, reward_of
from .kept import Kept
from .saved_arms import Saved, built

if TYPE_CHECKING:
    import pandas as pd

Arm = Hashable
NEAR = 48  # arms from which on the code for more than SCAN of them is compiled ahead


class Agent(Kept):
    """Chooses arms and learns from rewards, one decision at a time.

    Rewards may come late, in any order, in bulk, or for arms that were never selected (logged data).  Several decisions
    may be pending at once, and the next one takes them into account.  A call that is refused, such as an update with
    NaN, changes nothing; infinite rewards are welcome.  Threads may share an agent: each call sees the agent between
    two other calls.

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
    drift
        Whether arms may change: the policy is then played as ``hb.Restarting(policy)``.

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
            raise ValueError(f"Agent: there must be no more arms than fit into memory, got {given}") from None
        horizon = None if horizon is None else count("Agent", "horizon", horizon)
        seed = None if seed is None else whole("Agent", "seed", seed)
        rng = np.random.default_rng(seed) if uses_rng(policy) else None
        n_arms = len(names.labels)
        state, none = fresh_state(policy, n_arms, horizon), [0] * n_arms
        reseed(state, np.random.SeedSequence(seed, spawn_key=SMOOTHING))
        self.__setstate__(Saved(
            policy=policy, horizon=horizon, labels=names.labels, unused=names.unused, pulls=none, seen=0, rng=rng,
            state=state, pending=[*none], chances=[],
        ))  # fmt: skip

    def _saved(self) -> Saved:
        """Return all that the agent is, for whoever holds the lock."""
        return Saved(
            policy=self.policy, horizon=self.horizon, labels=self._labels, unused=self._arms.unused, pulls=self._pulls,
            seen=self._seen, rng=self._rng, state=self._state, pending=self._awaited.pending,
            chances=self._awaited.chances,
        )  # fmt: skip

    _kind, _built = "arms", staticmethod(built)

    def __setstate__(self, agent: Saved) -> None:
        self._lock = threading.Lock()
        self._acquire, self._release = self._lock.acquire, self._lock.release  # half the time of a with statement
        self.policy, self.horizon, self._seen, self._rng = agent.policy, agent.horizon, agent.seen, agent.rng
        self._bare = without_text(agent.policy)
        awaited = Awaited(agent.pending, agent.chances)
        self._adopt(Arms(agent.labels, agent.unused), agent.pulls, awaited, agent.state)

    def _adopt(self, arms: Arms, pulls: list[int], awaited: Awaited, state: Any) -> None:
        """Take these arms and this state."""
        pending = find_pending(state)
        self._decide = compiled(decide, self._bare, state, pending, 0, self._rng, 0, 0)
        self._learn_from = compiled(learn, self._bare, state, pending, 0, 0.0, True)
        self._arms, self._pulls, self._awaited, self._state, self._pending = arms, pulls, awaited, state, pending
        self._labels, self._slot = arms.labels, arms.slot
        self._pools, self._draws = list(pools(state)), find_draws(state)
        if NEAR <= len(arms.labels) <= SCAN:
            compile_ahead(self.policy, self._bare, self.horizon, self._rng)

    @property
    def arms(self) -> list[Any]:
        """Names of the arms, in order.

        Examples
        --------
        >>> import heavybandits as hb
        >>> hb.Agent(hb.UCB(), n_arms=3).arms
        [0, 1, 2]
        """
        return list(self._labels)

    @property
    def pulls(self) -> dict[Any, int]:
        """Rewards seen per arm.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.update("green", 1.0)
        >>> agent.pulls
        {'red': 0, 'green': 1}
        """
        with self._lock:
            return dict(zip(self._labels, self._pulls, strict=True))

    def select(self, among: Iterable[Arm] | None = None) -> Any:
        """Return the arm to pull next; if only some are available now, ``among`` these.

        The decision is pending until a reward of the arm comes, or until it is given up by :meth:`cancel`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=3)
        >>> agent.select(), agent.select(among=[0, 2])
        (0, 2)
        """
        names, restrict = None if among is None else listed("among", among), None
        self._acquire()
        try:
            if names is not None:
                restrict = self._restrict(names, self._state)
            n_arms = len(self._labels)
            slot = self._decide(self._bare, self._state, self._pending, self._seen, self._rng, n_arms, -1)
            label = self._label(slot)
            self._awaited.add(slot, self._pending.awaited)
            return label
        finally:
            if restrict is not None:
                restrict(None)
            self._release()

    def assign(self, arm: Arm | None = None, among: Iterable[Arm] | None = None, key: bytes | None = None) -> Assigned:
        """Make a decision for this arm, whatever the policy would pull; without an arm, for the one that it would.

        The policy is consulted either way, so repeating the calls of an agent, with the arms that it returned, leads to
        the same state.  What a randomised policy draws depends on ``key`` alone, 32 bytes, if there is one.

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
            return Assigned(self._labels[given], chosen, chance)

    def _chance(self, slot: int, chosen: int) -> float | None:
        """Return the probability with which the policy selected this arm just now, None if it does not know."""
        draws = self._draws
        if draws is None:
            return None if self._rng is not None else float(slot == chosen)
        total = float(draws.chance[draws.open].sum())
        return float(draws.chance[slot]) * bool(draws.open[slot]) / total if total > 0.0 else float(slot == chosen)

    def correct_chance(self, arm: Arm, probability: float) -> None:
        """Say with which probability the arm's latest decision was made, if others than the policy had a part in it.

        Policies that draw arms by probabilities weigh the reward by it.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.TsallisINF(), arms=["red", "green"], seed=0)
        >>> agent.assign("red").chance
        0.5
        >>> agent.correct_chance("red", 0.75)  # one decision in two is fixed to be for this arm
        """
        with self._lock:
            self._awaited.correct(self._slot(arm), in_range("Agent", "probability", probability, 0, 1))

    def _label(self, slot: int) -> Any:
        """Return the name of the arm that a policy has selected."""
        try:
            return self._labels[slot if slot >= 0 else len(self._labels)]
        except (IndexError, TypeError):
            owner, last = type(self.policy).__name__, len(self._labels) - 1
            raise TypeError(f"Agent: {owner}.select must return an arm from 0 to {last}, got {slot!r}") from None

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
            state, rng = copy.deepcopy((self._state, self._rng))
            if names is not None:
                self._restrict(names, state)
            slot = self._decide(self._bare, state, find_pending(state), self._seen, rng, len(self._labels), -1)
            return self._label(slot)

    def cancel(self, arm: Arm) -> None:
        """Give up a pending decision of the arm, whose reward will never come.

        Decisions that stay pending make the agent ask the arm less, so give up those that took too long.

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
        with self._lock:
            slot = self._slot(arm)
            if self._awaited.pending[slot] == 0:
                raise ValueError(f"Agent: arm must have a pending decision to be cancelled, got {arm!r} without one")
            self._awaited.take(slot, None)
            give_up(self._pending, slot)

    @property
    def pending(self) -> dict[Any, int]:
        """Decisions per arm whose rewards have not come.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.select()
        'red'
        >>> agent.pending
        {'red': 1, 'green': 0}
        """
        with self._lock:
            return dict(zip(self._labels, self._awaited.pending, strict=True))

    def _restrict(self, names: list[Any], state: Any) -> Callable[[IntArray | None], None]:
        """Let only these arms be chosen, and return what lifts that again."""
        slots = sorted({self._slot(arm) for arm in names})
        if not slots:
            raise ValueError("Agent: among must name at least one arm, got none")
        restrict = find_open(state)
        if restrict is None:
            raise TypeError(f"Agent: among must be None for {self.policy!r}, whose state has no field 'open'")
        restrict(np.array(slots))
        return restrict

    def update(self, arm: Arm, reward: float, *, asked: bool = True) -> None:
        """Learn from a reward.

        It settles a pending decision of the arm, if there is one.  Say ``asked=False`` if no selection led to it.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update(1, 0.5)
        >>> agent.update(1, float("nan"))
        Traceback (most recent call last):
            ...
        ValueError: Agent: reward must not be NaN (leave out what is missing), got nan
        """
        if type(reward) is not float or reward != reward:  # what is a number needs no call
            reward = reward_of(reward)
        self._acquire()
        try:
            self._learn(self._slot(arm), reward, bool(asked))
        finally:
            self._release()

    def update_many(self, arms: Iterable[Arm], rewards: Iterable[float], *, asked: bool = True) -> None:
        """Learn from many rewards, in this order: from all of them or, if one is refused, from none.

        ``asked`` is as in :meth:`update`, for all of them.

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
                raise ValueError(f"Agent: arms and rewards must be of one length, got {len(slots)} and {len(values)}")
            for slot, value in zip(slots, values, strict=True):
                self._learn(slot, value, bool(asked))

    def _learn(self, slot: int, reward: float, asked: bool) -> None:
        if self._pools and any(pool.grown() is not pool for pool in self._pools):  # rarely, and then done again
            self._state = with_room(self._state)
            self._pools, self._pending = list(pools(self._state)), find_pending(self._state)
            self._draws = find_draws(self._state)
        if asked:
            self._awaited.take(slot, self._pending.awaited)
        elif self._pending.awaited is not None:
            self._pending.awaited[slot] = 0.0  # nobody drew the arm for this reward
        self._learn_from(self._bare, self._state, self._pending, slot, reward, asked)
        self._pulls[slot] += 1
        self._seen += 1

    def add_arm(self, name: Arm | None = None) -> Any:
        """Add an arm that nothing is known of, and return its name: by default the first number never used.

        The 65th arm needs other code, which an agent of 48 arms or more compiles ahead, in the background.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update_many([0, 1], [1.0, 3.0])
        >>> agent.add_arm()
        2
        >>> agent.select()
        2
        """
        with self._lock:
            arms = Arms([*self._labels, self._arms.unused if name is None else name], self._arms.unused)
            self._resize(arms, np.arange(len(self._labels)))
            return arms.labels[-1]

    def remove_arm(self, arm: Arm) -> None:
        """Forget an arm; the others keep their names and what is known of them.  Its late rewards are refused.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=3)
        >>> agent.remove_arm(1)
        >>> agent.arms
        [0, 2]
        """
        with self._lock:
            slot = self._slot(arm)
            if len(self._labels) == 1:
                raise ValueError(f"Agent: arm must not be the only one left, got {arm!r}")
            kept = np.delete(np.arange(len(self._labels)), slot)
            self._resize(Arms([self._labels[i] for i in kept], self._arms.unused), kept)

    def _resize(self, arms: Arms, kept: IntArray) -> None:
        """Take these arms, of which the first are those in the slots ``kept``."""
        n_arms = len(arms.labels)
        pulls = [self._pulls[slot] for slot in kept] + [0] * (n_arms - len(kept))
        same, fresh = (fresh_state(self.policy, len(labels), self.horizon) for labels in (self._labels, arms.labels))
        self._adopt(arms, pulls, self._awaited.resized(kept.tolist(), n_arms), carried(self._state, same, fresh, kept))

    @property
    def estimates(self) -> pd.DataFrame:
        """What is known of each arm, a row per arm.

        ``pulls`` is the number of rewards seen, and ``share`` its share of all arms' pulls.  ``pending`` is the number
        of decisions whose rewards have not come.  ``estimate`` and ``index`` are missing (NaN) if the policy has none.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.update_many(["red", "red", "red", "green"], [1.0, 2.0, 3.0, 3.0])
        >>> agent.estimates[["arm", "pulls", "estimate", "share"]]
             arm  pulls  estimate  share
        0    red      3       2.0   0.75
        1  green      1       3.0   0.25
        """
        return arm_table.as_frame(self.rows())

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
            state, rng, labels = copy.deepcopy(self._state), copy.deepcopy(self._rng), list(self._labels)
            draws = find_draws(state)
            if draws is None:
                raise TypeError(f"Agent: {type(self.policy).__name__} does not draw arms by probabilities")
            # A policy works them out when it draws.
            self._decide(self._bare, state, find_pending(state), self._seen, rng, len(labels), -1)
        return dict(zip(labels, draws.chance.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, {len(self._labels)} arms, {self._seen} rewards)"

    def _repr_html_(self) -> str:
        """Show the arms in a notebook."""
        title, rows, n_arms = self._most_pulled()
        return arm_table.as_html(f"{self.policy!r}, {title}", rows, n_arms)

    def __str__(self) -> str:
        """Return a table of the arms, or of those pulled most if there are many."""
        title, rows, n_arms = self._most_pulled()
        return arm_table.as_text(f"{name_of(self.policy)}, {title}", rows, n_arms)

    def _most_pulled(self) -> tuple[str, list[Row], int]:
        """Return what there is to say of all arms, those that were pulled most, and the number of arms."""
        with self._lock:
            n_arms = len(self._labels)
            rows = [self._row(slot) for slot in sorted(heapq.nlargest(ROWS, range(n_arms), self._pulls.__getitem__))]
            goal = f", arms compared by {self.policy.goal(self._state)}" if hasattr(self.policy, "goal") else ""
            return f"{plural(self._seen, 'reward')}{goal}", rows, n_arms

    def rows(self) -> list[Row]:
        """Return what is known of each arm: :attr:`estimates` without a data frame.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), arms=["red", "green"])
        >>> agent.update_many(["red", "green"], [1.0, 3.0])
        >>> {row.arm: row.estimate for row in agent.rows()}
        {'red': 1.0, 'green': 3.0}
        """
        with self._lock:
            return [self._row(slot) for slot in range(len(self._labels))]

    def _row(self, slot: int) -> Row:
        """Return what is known of an arm, for whoever holds the lock."""
        with np.errstate(all="ignore"):  # as silent as compiled code
            value = value_of(self.policy, self._state, slot)
            index = index_of(self.policy, self._state, slot, self._seen)
        return Row(self._labels[slot], self._pulls[slot], self._awaited.pending[slot], value, index)
