"""The arms of an agent: their names, what is known about them, and how they come and go."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._format import plural
from ..algorithms.parts.choice.kinetic_tree import SCAN
from ..algorithms.parts.choice.pending import find_pending
from ..algorithms.parts.choice.tournament import with_trees, without_caches
from ..algorithms.parts.state.tree import carried, find_draws, fresh_state
from ..protocols import IntArray
from . import arm_table
from .ahead import at_hand, compile_ahead
from .any_agent import AnyAgent
from .arm_table import SHOWN, Row
from .arms import Arms
from .decisions import Awaited
from .saved_arms import Saved, built

if TYPE_CHECKING:
    import pandas as pd

Arm = Hashable
NEAR = 48  # from this many arms on, the code for more than SCAN arms is compiled ahead


class KnownArms(AnyAgent):
    """An agent whose arms have names."""

    _kind, _built = "arms", staticmethod(built)

    def _saved(self) -> Saved:
        state = without_caches(self._state)  # which depend on the code in use
        return Saved(
            policy=self.policy, horizon=self.horizon, labels=self._labels, unused=self._arms.unused, pulls=self._pulls,
            seen=self._seen, rng=self._rng, state=state, pending=self._awaited.pending,
            chances=self._awaited.chances,
        )  # fmt: skip

    def __setstate__(self, agent: Saved) -> None:
        super().__setstate__(agent)
        self._acquire, self._release = self._lock.acquire, self._lock.release  # takes half the time of a with statement
        self._name_arms(Arms(agent.labels, agent.unused), agent.pulls, Awaited(agent.pending, agent.chances))

    def _adopt(self, state: Any) -> None:
        found = at_hand(self._bare, state, self._rng)
        super()._adopt(found.state)
        self._decide, self._learn_from = self._guarded(found.code.decide), self._guarded(found.code.learn)
        self._better_code = found.better
        self._pending, self._draws = find_pending(self._state), find_draws(self._state)

    def _make_ready(self) -> None:
        """Give the state room for another reward, and use better code if there is some by now."""
        self._make_room()
        if self._better_code is not None and self._better_code.is_set():
            self._adopt(self._state)

    def _name_arms(self, arms: Arms, pulls: list[int], awaited: Awaited) -> None:
        """Use these arms, to which the state belongs."""
        self._arms, self._pulls, self._awaited = arms, pulls, awaited
        self._labels, self._slot = arms.labels, arms.slot
        if NEAR <= len(arms.labels) <= SCAN:
            compile_ahead(self._bare, with_trees(self._state, beyond=0), self._rng)

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
        """Number of rewards seen per arm.

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

    @property
    def pending(self) -> dict[Any, int]:
        """Number of decisions per arm whose rewards have not come.

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

    def add_arm(self, name: Arm | None = None) -> Any:
        """Add an arm without any rewards, and return its name, by default the first number never used.

        From the 65th arm on, other code is faster, which an agent with 48 arms or more compiles in the background.
        Until then, the agent decides as well with the code it has.

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
        """Forget an arm; the others keep their names and what is known about them.  Its late rewards are refused.

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
        """Use these arms, the first of which are now in the slots ``kept``."""
        n_arms = len(arms.labels)
        same, fresh = (fresh_state(self.policy, len(labels), self.horizon) for labels in (self._labels, arms.labels))
        pulls = [self._pulls[slot] for slot in kept] + [0] * (n_arms - len(kept))
        awaited = self._awaited.resized(kept.tolist(), n_arms)
        with np.errstate(all="ignore"):  # as silent as compiled code
            state = carried(self._state, same, fresh, kept)
        self._adopt(state)
        self._name_arms(arms, pulls, awaited)

    @property
    def estimates(self) -> pd.DataFrame:
        """What is known about the arms, one row per arm.

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

    def rows(self) -> list[Row]:
        """Return what is known about each arm: :attr:`estimates` without a data frame.

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
        """Return what is known about an arm; needs the lock."""
        value, index = self._shown(slot)
        return Row(
            arm=self._labels[slot], pulls=self._pulls[slot], pending=self._awaited.pending[slot], estimate=value,
            index=index,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, {len(self._labels)} arms, {self._seen} rewards)"

    def _table(self) -> tuple[str, list[list[str]]]:
        """Return a title for all arms, and a table of those that were pulled most."""
        with self._lock:
            n_arms = len(self._labels)
            rows = [self._row(slot) for slot in sorted(heapq.nlargest(SHOWN, range(n_arms), self._pulls.__getitem__))]
            goal = f", arms compared by {self.policy.goal(self._state)}" if hasattr(self.policy, "goal") else ""
            more = f"; the {SHOWN} most pulled of {n_arms} arms" if n_arms > SHOWN else ""
            return f"{plural(self._seen, 'reward')}{goal}{more}", arm_table.as_text(rows)
