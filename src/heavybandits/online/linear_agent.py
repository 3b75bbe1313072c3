"""Online use with features: a linear policy that chooses among rows, one decision at a time."""

from __future__ import annotations

import copy
import math
import threading
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._format import html_table, plural
from .._validate import count, whole
from ..algorithms.kit.state import SMOOTHING, find_asking, fresh_state, pools, reseed, with_room, with_rows
from ..algorithms.registry import name_of
from ..engine.compile.compiled import compiled, without_text
from ..engine.compile.randomness import uses_rng
from ..protocols import FloatArray, LinearPolicy, compilable
from .arm_table import aligned
from .given import policy_of, reward_of
from .kept import Kept
from .rows import Rows, culprit, culprit_of, row_of, rows_of
from .saved_linear import SavedLinear, built

if TYPE_CHECKING:
    import pandas as pd

KEPT = 10_000  # pending decisions: rewards may get lost for ever
SHOWN = 20  # features of the table that is printed
NOT_FINITE = -1  # instead of a row


class LinearAgent(Kept):
    """Chooses rows of features and learns from rewards that are linear in them, one decision at a time.

    Rewards may come late, in any order, in bulk, or for rows that were never selected (logged data).  Several decisions
    may be pending at once: a policy that knows widths narrows them by what is pending, as GP-BUCB does.  A call that is
    refused, such as one with NaN among the features, changes nothing; infinite rewards are welcome.  Threads may share
    an agent.

    Parameters
    ----------
    policy
        For instance ``hb.make("lin-ucb")``.
    n_features
        Numbers in a row.  For models of their own per arm see :func:`.blocks`.
    horizon
        Planned number of rounds, for policies that must know it.
    seed
        Seed of a randomised policy; by default a fresh one.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
    >>> offers = {"red": [1.0, 0.0], "green": [0.0, 1.0]}
    >>> agent.select(offers)
    'red'
    >>> agent.update(offers["red"], 0.5)
    >>> agent.select(offers)
    'green'
    """

    _kind, _built = "linear", staticmethod(built)

    def __init__(
        self, policy: LinearPolicy[Any], n_features: int, *, horizon: int | None = None, seed: int | None = None
    ) -> None:
        policy = policy_of("LinearAgent", "linear", policy)
        n_features = count("LinearAgent", "n_features", n_features)
        horizon = None if horizon is None else count("LinearAgent", "horizon", horizon)
        seed = None if seed is None else whole("LinearAgent", "seed", seed)
        rng = np.random.default_rng(seed) if uses_rng(policy) else None
        state = with_rows(fresh_state(policy, n_features, horizon), 1)
        reseed(state, np.random.SeedSequence(seed, spawn_key=SMOOTHING))
        self.__setstate__(SavedLinear(policy, horizon, n_features, 1, 0, rng, state, []))

    def _saved(self) -> SavedLinear:
        rows = [list(row) for row, times in self._waiting.items() for _ in range(times)]
        return SavedLinear(
            self.policy, self.horizon, self.n_features, self._n_rows, self._seen, self._rng, self._state, rows
        )

    def __setstate__(self, agent: SavedLinear) -> None:
        self._lock = threading.Lock()
        self.policy, self.horizon, self.n_features = agent.policy, agent.horizon, agent.n_features
        self._n_rows, self._seen, self._rng = agent.n_rows, agent.seen, agent.rng
        self._waiting: dict[tuple[float, ...], int] = dict(Counter(map(tuple, agent.pending)))  # oldest first
        self._pending = len(agent.pending)
        self._bare = without_text(agent.policy)
        self._adopt(agent.state)
        asking, row = self._asking, np.zeros(self.n_features)
        self._decide = compiled(decide, self._bare, agent.state, asking, row[None], 0, self._rng)
        self._learn = compiled(learn, self._bare, agent.state, asking, row, 0.0, True)

    def _adopt(self, state: Any) -> None:
        self._state, self._asking, self._pools = state, find_asking(state), list(pools(state))

    def select(self, features: Any) -> Any:
        """Return which row to play next: its number, or its name if ``features`` have names.

        The decision is pending until the reward of an equal row comes, or until it is given up by :meth:`cancel`.

        Parameters
        ----------
        features
            An array with a row per choice; or a mapping of names to vectors; or a data frame whose index names the
            rows.  Rows may differ in number and content from call to call.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
        >>> agent.select([[1.0, 0.0], [0.0, 3.0]])
        1
        """
        rows = rows_of(features, self.n_features)
        with self._lock:
            self._make_room(len(rows.features))
            row = self._decide(self._bare, self._state, self._asking, rows.features, self._seen, self._rng)
            name = self._name(row, rows)
            self._await(rows.features[row])
            return name

    def peek(self, features: Any) -> Any:
        """Return the row that :meth:`select` would return, without making a decision.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=1)
        >>> agent.peek([[1.0], [2.0]]), agent.pending
        (1, 0)
        """
        rows = rows_of(features, self.n_features)
        with self._lock:
            self._make_room(len(rows.features))
            state, rng = copy.deepcopy((self._state, self._rng))
            row = self._decide(self._bare, state, find_asking(state), rows.features, self._seen, rng)
            return self._name(row, rows)

    def _make_room(self, n_rows: int) -> None:
        """Give the state room for what it keeps per row."""
        if n_rows > self._n_rows:
            self._adopt(with_rows(self._state, n_rows))
            self._n_rows = n_rows

    def _name(self, row: int, rows: Rows) -> Any:
        if row == NOT_FINITE:
            raise culprit(rows)
        try:
            return rows.names[row if row >= 0 else len(rows.names)]
        except (IndexError, TypeError):
            owner, last = type(self.policy).__name__, len(rows.names) - 1
            raise TypeError(f"LinearAgent: {owner}.select must return a row from 0 to {last}, got {row!r}") from None

    def _await(self, x: FloatArray) -> None:
        """Note a decision, and give up the oldest of too many."""
        row = tuple(x.tolist())
        self._waiting[row] = self._waiting.get(row, 0) + 1
        self._pending += 1
        if self._pending > KEPT:
            self._give_up(next(iter(self._waiting)))

    def _give_up(self, row: tuple[float, ...]) -> None:
        self._forget(row)
        if self._asking is not None:
            self._asking.settle(np.array(row))

    def _forget(self, row: tuple[float, ...]) -> None:
        """Let a decision for a row go."""
        self._pending -= 1
        times = self._waiting[row]
        if times == 1:
            del self._waiting[row]
        else:
            self._waiting[row] = times - 1

    def update(self, x: Any, reward: float, *, asked: bool = True) -> None:
        """Learn from the reward of a row.

        It settles a pending decision for an equal row, if there is one.  Say ``asked=False`` if no selection led to it.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
        >>> agent.update([1.0, 0.5], 2.0)
        >>> agent.update([1.0, float("nan")], 2.0)
        Traceback (most recent call last):
            ...
        ValueError: LinearAgent: x must be finite, got nan in feature 1
        """
        row, value = row_of(x, self.n_features), reward_of(reward, "LinearAgent")
        with self._lock:
            self._take_in(row, value, asked)

    def update_many(self, rows: Any, rewards: Iterable[float], *, asked: bool = True) -> None:
        """Learn from the rewards of several rows, all or none of them.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
        >>> agent.update_many([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.7])
        >>> agent.seen
        2
        """
        values = [reward_of(reward, "LinearAgent") for reward in rewards]
        table = [row_of(x, self.n_features) for x in rows]
        for row in table:
            if not np.isfinite(row).all():
                raise culprit_of(row)
        if len(table) != len(values):
            raise ValueError(f"LinearAgent: there must be a reward per row, got {len(values)} for {len(table)} rows")
        with self._lock:
            for row, value in zip(table, values, strict=True):
                self._take_in(row, value, asked)

    def _take_in(self, x: FloatArray, reward: float, asked: bool) -> None:
        if self._pools:
            self._adopt(with_room(self._state))
        row = tuple(x.tolist())
        settles = asked and row in self._waiting
        if not self._learn(self._bare, self._state, self._asking, x, reward, settles):
            raise culprit_of(x)
        self._seen += 1
        if settles:
            self._forget(row)

    def cancel(self, x: Any) -> None:
        """Give up a pending decision for a row, whose reward will never come.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=1)
        >>> agent.select([[1.0]])
        0
        >>> agent.cancel([1.0])
        >>> agent.cancel([1.0])
        Traceback (most recent call last):
            ...
        ValueError: LinearAgent: x must have a pending decision to be cancelled, got [1.0] without one
        """
        row = tuple(row_of(x, self.n_features).tolist())
        with self._lock:
            if row not in self._waiting:
                raise ValueError(
                    f"LinearAgent: x must have a pending decision to be cancelled, got {list(row)} without one"
                )
            self._give_up(row)

    @property
    def pending(self) -> int:
        """Decisions whose rewards have not come; of more than 10,000 the oldest are given up."""
        return self._pending

    @property
    def seen(self) -> int:
        """Rewards seen."""
        return self._seen

    def estimates(self, features: Any) -> pd.DataFrame:
        """Return what is known of each row: a data frame.

        ``estimate`` is of its expected reward.  ``high`` is the index that the policy compares rows by, and ``low``
        lies as far below the estimate.  They are missing (NaN) if the policy has none.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb", beta=1.0), n_features=2)
        >>> agent.update([1.0, 0.0], 1.0)
        >>> agent.estimates({"red": [1.0, 0.0], "green": [0.0, 1.0]}).round(3)
             arm  estimate    low   high
        0    red       0.5 -0.207  1.207
        1  green       0.0 -1.000  1.000
        """
        import pandas as pd

        rows = rows_of(features, self.n_features)
        if not np.isfinite(rows.features).all():
            raise culprit(rows)
        with self._lock:
            shown = np.array([self._shown(x) for x in rows.features])
        value, index = shown.T
        columns = {"estimate": value, "low": 2.0 * value - index, "high": index}
        return pd.DataFrame({"arm": list(rows.names), **columns})

    def _shown(self, x: FloatArray) -> tuple[float, float]:
        """Return the row's estimate and index, NaN if the policy has none, for whoever holds the lock."""
        policy: Any = self.policy
        with np.errstate(all="ignore"):  # as silent as compiled code
            value = policy.value(self._state, x) if hasattr(policy, "value") else math.nan
            index = policy.index_of(self._state, x, self._seen) if hasattr(policy, "index_of") else math.nan
        return float(value), float(index)

    def __repr__(self) -> str:
        return f"LinearAgent({self.policy!r}, {self.n_features} features, {self._seen} rewards)"

    def __str__(self) -> str:
        """Return a table of what each feature adds to a reward."""
        title, rows = self._table()
        return "\n".join([f"{name_of(self.policy)}, {title}", *aligned(rows)])

    def _repr_html_(self) -> str:
        """Show what each feature adds to a reward in a notebook."""
        title, (head, *rows) = self._table()
        return html_table(f"{self.policy!r}, {title}", head, rows)

    def _table(self) -> tuple[str, list[list[str]]]:
        """Return what there is to say, and the effects of the first features: how much a unit of each adds."""
        with self._lock:
            nothing, _ = self._shown(np.zeros(self.n_features))
            effects = [self._shown(row)[0] - nothing for row in np.eye(self.n_features)[:SHOWN]]
            more = f"; the first {SHOWN} of {self.n_features} features" if self.n_features > SHOWN else ""
            waiting = f", {self._pending} pending" if self._pending else ""
            title = f"{plural(self._seen, 'reward')}{waiting}{more}"
        cells = [[str(i), "-" if math.isnan(effect) else f"{effect:.4g}"] for i, effect in enumerate(effects)]
        return title, [["feature", "effect"], *cells]


def decide(policy: Any, state: Any, asking: Any, features: FloatArray, t: int, rng: Any) -> int:
    """Return the row that the policy selects, and note the decision; no row if a feature is not finite."""
    for i in range(features.shape[0]):
        for j in range(features.shape[1]):
            if not math.isfinite(features[i, j]):
                return NOT_FINITE
    row = select(policy, state, features, t, rng)
    if 0 <= row < features.shape[0]:
        ask(asking, features[row])
    return row


def learn(policy: Any, state: Any, asking: Any, x: FloatArray, reward: float, settles: bool) -> bool:
    """Let the policy learn from the reward of a row, which may settle a decision, and return whether it is finite."""
    for i in range(len(x)):
        if not math.isfinite(x[i]):
            return False
    update(policy, state, x, reward)
    if settles:
        settle(asking, x)
    return True


@compilable
def ask(asking: Any, x: FloatArray) -> None:
    """Tell the state of a pending row, if it heeds them."""
    if asking is None:
        return
    asking.ask(x)


@compilable
def settle(asking: Any, x: FloatArray) -> None:
    """Tell the state that a row is pending no more, if it heeds them."""
    if asking is None:
        return
    asking.settle(x)


def select(policy: Any, state: Any, features: FloatArray, t: int, rng: Any) -> int:
    """Stand for the policy's own, in compiled copies of :func:`decide`."""
    return policy.select(state, features, t, rng)  # type: ignore[no-any-return]


def update(policy: Any, state: Any, x: FloatArray, reward: float) -> None:
    """Stand for the policy's own, in compiled copies of :func:`learn`."""
    policy.update(state, x, reward)
