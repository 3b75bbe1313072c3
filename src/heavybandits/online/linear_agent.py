"""Online use with features: an agent that chooses among rows, one decision at a time."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from .._format import plural
from .._validate import count
from ..algorithms.parts.choice.propensity import with_propensities, without_propensities
from ..algorithms.parts.state.tree import find_asking, fresh_state, with_rows
from ..jit.background_compile import Call
from ..protocols import FloatArray, LinearPolicy
from .arguments import (
    ALLOWED_FEATURES,
    FeatureRows,
    are_usable,
    culprit,
    culprit_of,
    plan_of,
    policy_of,
    renamed,
    reward_of,
    row_of,
    rows_of,
)  # fmt: skip
from .base import BaseAgent
from .estimates import MOST_PRINTED_ROWS, cell
from .file import Contents, counted
from .floor import Floor
from .pending import REFUSED, Assigned, FeatureRow, PendingRows, decide_row, learn_row, padded

if TYPE_CHECKING:
    import pandas as pd

    from .attributes.agent import AttributeAgent


class LinearAgent(BaseAgent):
    """An agent that chooses rows of features and learns from rewards that are linear in them, one decision at a time.

    Rewards may come late, in any order, in bulk, or for rows that were never selected (logged data).  Several decisions
    may be pending at once: a policy with confidence widths narrows them by what is pending, as GP-BUCB does.  A call
    that is refused, such as one with NaN or 1e300 among the features, changes nothing; infinite rewards are accepted.
    Threads may share an agent.

    Parameters
    ----------
    policy
        The policy, such as ``hb.make("lin-ucb")``.
    n_features
        Numbers in a row.  To give each arm its own model, see :func:`.blocks`.  Leave it out if you have named
        attributes instead of rows; then the agent is an
        :class:`~heavybandits.online.attributes.agent.AttributeAgent`.
    arms
        Arms that suit some visitors more than others: a list of names, or a mapping of names to attributes.  Leave
        them out if each decision has arms of its own.
    schema
        What is known about attributes beforehand; others are then refused.
    horizon
        Planned number of rounds, for policies that must know it.
    seed
        Seed of a randomised policy; by default a fresh one.
    drift
        Whether the effects of features may change; if so, the policy is played as ``linear-restarting``.
    floor
        Share of decisions that are uniform over the rows, whatever the policy prefers; see :class:`Agent`.

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

    With named attributes:

    >>> agent = hb.LinearAgent(hb.make("lin-ucb"), arms=["red", "green"])
    >>> arm = agent.select({"country": "CA", "age": 31})
    >>> agent.update(arm, 0.5, context={"country": "CA", "age": 31})
    """

    _kind = "linear"

    @overload
    def __new__(
        cls,
        policy: LinearPolicy[Any],
        n_features: int,
        *,
        horizon: int | None = None,
        seed: int | None = None,
        drift: bool = False,
        floor: float = 0.0,
    ) -> Self: ...

    @overload
    def __new__(
        cls,
        policy: LinearPolicy[Any],
        *,
        arms: Any = None,
        schema: Mapping[str, Any] | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        drift: bool = False,
        floor: float = 0.0,
    ) -> AttributeAgent: ...

    def __new__(
        cls, policy: Any = None, n_features: Any = None, *, arms: Any = None, schema: Any = None, horizon: Any = None,
        seed: Any = None, drift: bool = False, floor: float = 0.0,
    ) -> LinearAgent:  # fmt: skip
        if n_features is None:
            from .attributes.agent import AttributeAgent

            return super().__new__(AttributeAgent)
        if arms is not None or schema is not None:
            raise TypeError("LinearAgent: either n_features or arms and their schema must be given, got both")
        agent = super().__new__(cls)
        agent._begin(policy, count("LinearAgent", "n_features", n_features), horizon, seed, drift, floor)
        return agent

    def _begin(
        self, policy: Any, n_features: int, horizon: int | None, seed: int | None, drift: bool, floor: float
    ) -> None:
        policy = policy_of("LinearAgent", "linear", policy)
        if drift:
            from ..algorithms.linear.linear_restarting import LinearRestarting

            policy = LinearRestarting(policy)
        self.n_features, self._n_rows, self._awaited = n_features, 1, PendingRows()
        horizon, seed = plan_of("LinearAgent", horizon, seed)
        self._floor = Floor.made("LinearAgent", floor, seed)
        self._start(policy, horizon, seed, with_rows(fresh_state(policy, n_features, horizon), self._n_rows))

    def _parts(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "horizon": self.horizon, "n_features": self.n_features, "n_rows": self._n_rows,
            "seen": self._seen, "rng": self._rng, "state": without_propensities(self._state),
            "pending": self._awaited.rows, **self._floor.saved(),
        }  # fmt: skip

    @staticmethod
    def _checked(contents: Contents) -> dict[str, Any]:
        header = contents.header
        contents.require("n_features", "n_rows", "pending", optional=("floor",))
        Floor.loaded(header)
        n_features, n_rows = (count("agent", name, header[name]) for name in ("n_features", "n_rows"))
        counted(header["seen"])
        pending = [list(map(float, row)) for row in header["pending"]]
        if not all(len(row) == n_features and are_usable(np.array(row)) for row in pending):
            raise ValueError(f"pending rows must have {n_features} numbers {ALLOWED_FEATURES} each")
        template = with_rows(fresh_state(contents.policy, n_features, contents.horizon), n_rows)
        return contents.parts(state=contents.state(template, n_rows), pending=pending)

    @classmethod
    def _class_for(cls, header: dict[str, Any]) -> Any:
        if "encoder" not in header:
            return cls
        from .attributes.agent import AttributeAgent

        return AttributeAgent

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how copies are made: they begin with the state of this agent, not with a fresh one."""
        return object.__new__, (type(self),), self.__getstate__()

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self.n_features, self._n_rows = parts["n_features"], parts["n_rows"]
        self._awaited, self._floor = PendingRows(parts["pending"]), Floor.loaded(parts)
        self._go_on(parts["policy"], parts["horizon"], parts["seen"], parts["rng"], parts["state"])

    _pending_in = staticmethod(find_asking)

    def _forms(self, state: Any) -> Iterable[Any]:
        return (with_propensities(state, self._n_rows),)

    def _calls(self, state: Any) -> tuple[Call, Call]:
        parts, row = (state, find_asking(state)), np.zeros(self.n_features)
        return (
            (decide_row, self._bare, parts, row[None], 0, self._rng, 0),
            (learn_row, self._bare, parts, row, 0.0, True),
        )

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
        return self._assign(features, None, None, asks=False).arm

    def assign(self, features: Any, row: Any = None, key: bytes | None = None) -> Assigned:
        """Make a decision for this row, whatever the policy would play, or for the policy's own choice if None.

        The policy is consulted either way, so repeating the calls of an agent, with the rows that it returned, leads to
        the same state.  With a ``key`` of 32 bytes, all draws depend on that alone.  The ``propensity`` is the
        probability with which the row was to be played; see :meth:`Agent.assign`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=1)
        >>> agent.assign({"red": [1.0], "green": [2.0]}, "red")
        Assigned(arm='red', chosen='green', propensity=0.0)
        """
        return self._assign(features, row, key, asks=True)

    def _assign(self, features: Any, row: Any, key: bytes | None, asks: bool) -> Assigned:
        """Make a decision; unless ``asks``, its propensity may be wrong."""
        rows = rows_of(features, self.n_features)
        if row is not None and row not in rows.names:
            raise ValueError(f"LinearAgent: row must be one of the features, got {row!r}")
        with self._lock:
            assigned, numbers = self._assign_row(rows, row, key, asks)
            self._await_reward(x := tuple(numbers.tolist()), x)
            return assigned

    def _assign_row(self, rows: FeatureRows, row: Any, key: bytes | None, asks: bool) -> tuple[Assigned, FloatArray]:
        """Make a decision among rows, and return it with its row."""
        given = -1 if row is None else rows.names.index(row)
        self._make_room_for(rows)
        call = self._bare, self._located, rows.features, self._seen, self._rng
        slots = range(len(rows.names))
        played, made, _ = self._decided(slots, given, key, asks, lambda chosen: self._name(chosen, rows), *call)
        self._change_over()
        return made, rows.features[played]

    def _await_reward(self, key: Hashable, row: FeatureRow | FloatArray) -> None:
        """Note a pending decision; if there are too many, give the oldest one up."""
        lost = self._awaited.add(key, row)
        if lost is not None:
            self._give_up(lost)

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
            return self._peek_row(rows, copy.deepcopy(self._state))

    def _peek_row(self, rows: FeatureRows, state: Any) -> Any:
        """Return the name of the row that would be selected with this state, which may be changed."""
        state, rng = with_rows(state, max(self._n_rows, len(rows.features))), copy.deepcopy(self._rng)
        row = self._decide(self._bare, self._locate(state), rows.features, self._seen, rng, -1)
        taken = self._floor.peek(range(len(rows.names)))
        return self._name(row if taken is None else taken, rows)

    def _make_room_for(self, rows: FeatureRows) -> None:
        """Give the state room for what it keeps per row; refuse unusable rows before anything changes."""
        n_rows = len(rows.features)
        if n_rows > self._n_rows:
            if not are_usable(rows.features):
                raise culprit(rows)
            self._n_rows = n_rows
            self._adopt(with_rows(self._state, n_rows))

    def _name(self, row: int, rows: FeatureRows) -> Any:
        if row == REFUSED:
            raise culprit(rows)
        try:
            return rows.names[row if row >= 0 else len(rows.names)]
        except (IndexError, TypeError):
            owner, last = type(self.policy).__name__, len(rows.names) - 1
            raise TypeError(f"LinearAgent: {owner}.select must return a row from 0 to {last}, got {row!r}") from None

    @renamed(asked="selected")
    def update(self, x: Any, reward: float, *, selected: bool = True) -> None:
        """Learn from the reward of a row.

        It settles a pending decision for an equal row, if there is one.  Pass ``selected=False`` if no selection led to
        it.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
        >>> agent.update([1.0, 0.5], 2.0)
        >>> agent.update([1.0, float("nan")], 2.0)
        Traceback (most recent call last):
            ...
        ValueError: LinearAgent: x must be between -1e+100 and 1e+100, got nan in feature 1
        """
        row, value = row_of(x, self.n_features), reward_of(reward, "LinearAgent")
        with self._lock:
            self._take_in(row, value, selected)

    @renamed(asked="selected")
    def update_many(self, rows: Any, rewards: Iterable[float], *, selected: bool = True) -> None:
        """Learn from the rewards of several rows: from all of them or, if one is refused, from none.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LinearAgent(hb.make("lin-ucb"), n_features=2)
        >>> agent.update_many([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.7])
        >>> agent.seen
        2
        """
        values = [reward_of(reward, "LinearAgent") for reward in rewards]
        table = [row_of(x, self.n_features) for x in (rows.to_numpy() if hasattr(rows, "columns") else rows)]
        for row in table:
            if not are_usable(row):
                raise culprit_of(row)
        if len(table) != len(values):
            raise ValueError(f"LinearAgent: there must be a reward per row, got {len(values)} for {len(table)} rows")
        with self._lock:
            for row, value in zip(table, values, strict=True):
                self._take_in(row, value, selected)

    def _take_in(self, x: FloatArray, reward: float, selected: bool) -> None:
        row = tuple(x.tolist())
        self._learn_row(x, reward, row if selected and row in self._awaited else None)

    def _learn_row(self, x: FloatArray, reward: float, settled: Hashable | None) -> None:
        """Learn from the reward of a row, and settle the pending decision with this key, if any."""
        if self._pools:
            self._make_room()
        settles = settled is not None
        if not self._learn_from(self._bare, self._located, x, reward, settles):
            raise culprit_of(x)
        self._seen += 1
        if settles:
            self._awaited.take(settled)
        self._change_over()

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
            if row not in self._awaited:
                raise ValueError(
                    f"LinearAgent: x must have a pending decision to be cancelled, got {list(row)} without one"
                )
            self._give_up(row)

    def _give_up(self, key: Hashable) -> None:
        x = padded(self._awaited.take(key), self.n_features)
        if self._pending is not None:
            with np.errstate(all="ignore"):  # as silent as compiled code
                self._pending.settle(x)

    @property
    def pending(self) -> int:
        """Number of decisions whose rewards have not come; beyond 10,000, the oldest are given up."""
        return self._awaited.total

    def estimates(self, features: Any) -> pd.DataFrame:
        """Return a data frame of what is known about each row.

        ``estimate`` is that of its expected reward.  ``high`` is the index by which the policy compares rows, and
        ``low`` lies equally far below the estimate.  They are missing (NaN) if the policy has none.

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
        if not are_usable(rows.features):
            raise culprit(rows)
        with self._lock:
            bounds = self._known(copy.deepcopy(self._state)).bounds(rows.features)
        return pd.DataFrame({"arm": list(rows.names), **bounds})

    def __repr__(self) -> str:
        return f"LinearAgent({self.policy!r}, {self.n_features} features, {self._seen} rewards)"

    def _table(self) -> tuple[str, list[list[str]]]:
        """Return a title, and the effects of the first features: how much a unit of each adds."""
        with self._lock:
            known = self._known(copy.deepcopy(self._state))
            nothing, *values = known.values([np.zeros(self.n_features), *np.eye(self.n_features)[:MOST_PRINTED_ROWS]])
            all_shown = self.n_features <= MOST_PRINTED_ROWS
            more = "" if all_shown else f"; the first {MOST_PRINTED_ROWS} of {self.n_features} features"
            waiting = f", {self._awaited.total} pending" if self._awaited.total else ""
            title = f"{plural(self._seen, 'reward')}{waiting}{more}"
            columns = zip(*self._columns(), values, strict=False)  # the last are not shown
            effects = [[label, cell((value - nothing) / unit)] for label, unit, value in columns]
        return title, [["feature", "effect"], *effects]

    def _columns(self) -> tuple[Sequence[str], FloatArray]:
        """Return the label of each feature, and how many units of the user one unit of it is; needs the lock."""
        return [str(feature) for feature in range(self.n_features)], np.ones(self.n_features)
