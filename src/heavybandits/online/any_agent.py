"""What agents of all kinds share: a policy at work, its state, and how it is shown."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._format import html_table, text_table
from .._validate import count, whole
from ..algorithms.parts.choice.estimates import index_of, value_of
from ..algorithms.parts.state.tree import SMOOTHING, fresh_state, pools, reseed, streams, with_room
from ..algorithms.registry import names_of
from ..jit.compiled import without_text
from ..protocols import FloatArray, is_randomised
from .kept import Kept
from .locks import new_lock


class Start(NamedTuple):
    """What an agent begins with."""

    horizon: int | None
    rng: np.random.Generator | None  # if the policy draws random numbers
    state: Any


class Frozen(NamedTuple):
    """A policy with a copy of its state: any thread may ask what it knows, however long that takes."""

    policy: Any
    state: Any
    seen: int

    @np.errstate(all="ignore")  # as silent as compiled code
    def values(self, arms: Iterable[Any]) -> list[float]:
        """Return the estimates of arms by number, of rows or of cells; NaN where there is none."""
        return [value_of(self.policy, self.state, arm) for arm in arms]

    @np.errstate(all="ignore")
    def indices(self, arms: Iterable[Any]) -> list[float]:
        """Return their indices, which may take far longer than the estimates; NaN where there is none."""
        return [index_of(self.policy, self.state, arm, self.seen) for arm in arms]


def bounds(shown: Sequence[tuple[float, float]]) -> dict[str, FloatArray]:
    """Return columns of estimates, their indices, and bounds that lie equally far below the estimates.

    Examples
    --------
    >>> {name: column.tolist() for name, column in bounds([(2.0, 3.0), (0.5, 4.5)]).items()}
    {'estimate': [2.0, 0.5], 'low': [1.0, -3.5], 'high': [3.0, 4.5]}
    """
    value, index = np.array(shown, dtype=float).reshape(-1, 2).T
    with np.errstate(over="ignore", invalid="ignore"):
        return {"estimate": value, "low": 2.0 * value - index, "high": index}


class AnyAgent(Kept):
    """A policy, its state, its random numbers, and the number of rewards it has learned from."""

    _seen: int

    @classmethod
    def _start(cls, policy: Any, size: int, horizon: int | None, seed: int | None) -> Start:
        """Return what a new agent begins with; ``size`` is the first argument of the policy's ``init``."""
        horizon = None if horizon is None else count(cls.__name__, "horizon", horizon)
        seed = None if seed is None else whole(cls.__name__, "seed", seed)
        state = fresh_state(policy, size, horizon)
        reseed(streams(state), np.random.SeedSequence(seed, spawn_key=SMOOTHING))
        return Start(horizon=horizon, rng=np.random.default_rng(seed) if is_randomised(policy) else None, state=state)

    def __setstate__(self, agent: Any) -> None:
        self._lock = new_lock()
        self.policy, self.horizon, self._seen, self._rng = agent.policy, agent.horizon, agent.seen, agent.rng
        self._bare = without_text(agent.policy)
        self._adopt(agent.state)

    def _adopt(self, state: Any) -> None:
        """Use this state from now on."""
        self._state, self._pools = state, list(pools(state))

    def _make_room(self) -> None:
        """Give the state room for another reward, if it has none left."""
        if any(pool.grown() is not pool for pool in self._pools):
            self._adopt(with_room(self._state))

    @property
    def seen(self) -> int:
        """Number of rewards seen."""
        return self._seen

    def frozen(self) -> Frozen:
        """Return what the agent knows now, for another thread to look at while the agent goes on.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.UCB(), n_arms=2)
        >>> agent.update(1, 5.0)
        >>> before = agent.frozen()
        >>> agent.update(1, 7.0)
        >>> before.values([0, 1]), agent.frozen().values([0, 1])
        ([nan, 5.0], [nan, 6.0])
        """
        with self._lock:
            return Frozen(self.policy, copy.deepcopy(self._state), self._seen)

    def _shown(self, arm: Any, state: Any = None) -> tuple[float, float]:
        """Return the estimate and the index of an arm, a row or a cell, NaN if there is none; needs the lock.

        Pass a copy of the state if the policy may change it when it is asked.
        """
        state = self._state if state is None else state
        with np.errstate(all="ignore"):  # as silent as compiled code
            return value_of(self.policy, state, arm), index_of(self.policy, state, arm, self._seen)

    @abstractmethod
    def _table(self) -> tuple[str, list[list[str]]]:
        """Return a title, and a table with its head."""

    def __str__(self) -> str:
        """Return what is known, as a table."""
        title, (head, *rows) = self._table()
        return f"{names_of(self.policy)}, {title}\n{text_table(head, rows)}"

    def _repr_html_(self) -> str:
        """Show what is known in a notebook."""
        title, (head, *rows) = self._table()
        return html_table(f"{names_of(self.policy)}, {title}", head, rows)
