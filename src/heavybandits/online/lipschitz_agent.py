"""Online use where arms are points: an agent that chooses points of a cube, one decision at a time."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._format import plural
from .._validate import LARGEST_COUNT, count, whole
from ..algorithms.parts.choice.pending import find_pending, give_up, move_decision
from ..algorithms.parts.state.tree import fresh_state
from ..jit.background_compile import Call
from ..protocols import FloatArray, LipschitzPolicy
from .arguments import plan_of, policy_of, renamed, reward_of, set_key
from .base import BaseAgent
from .estimates import MOST_PRINTED_ROWS, FrozenAgent, cell
from .file import Contents, counted
from .pending import calls_on_arms

if TYPE_CHECKING:
    import pandas as pd

Point = tuple[float, ...]


class PointEstimate(NamedTuple):
    """What is known about one point; NaN where the policy has no estimate or no index."""

    point: Point
    pulls: int
    pending: int
    estimate: float
    low: float
    high: float


class LipschitzAgent(BaseAgent):
    """An agent that chooses points of the cube [0, 1]^dim and learns from rewards, one decision at a time.

    Rewards may come late, in any order, in bulk, or for points that were never selected: those count for the nearest
    point that the policy plays.  Several decisions may be pending at once, and the next one takes them into account.  A
    call that is refused, such as an update with NaN, changes nothing; infinite rewards are accepted.  Threads may share
    an agent.

    Parameters
    ----------
    policy
        The policy, such as ``hb.make("lipschitz-auto")``.
    dim
        The number of coordinates of a point.
    horizon
        Planned number of rounds, for policies that must know it.
    seed
        Seed of a randomised policy; by default a fresh one.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.LipschitzAgent(hb.make("lipschitz-auto"), dim=1)
    >>> for _ in range(500):
    ...     x = agent.select()
    ...     agent.update(x, 1.0 - abs(x[0] - 0.3))
    >>> bool(abs(agent.select()[0] - 0.3) < 0.05)
    True
    """

    _kind = "lipschitz"

    def __init__(
        self, policy: LipschitzPolicy[Any], dim: int, *, horizon: int | None = None, seed: int | None = None
    ) -> None:
        policy = policy_of("LipschitzAgent", "lipschitz", policy)
        self._name_points(count("LipschitzAgent", "dim", dim), Counter(), Counter())
        horizon, seed = plan_of("LipschitzAgent", horizon, seed)
        self._start(policy, horizon, seed, fresh_state(policy, self.dim, horizon))

    def _parts(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "horizon": self.horizon, "dim": self.dim, "seen": self._seen, "rng": self._rng,
            "state": self._state, "pulls": sorted(self._pulls.items()), "pending": sorted(self._awaited.items()),
        }  # fmt: skip

    @staticmethod
    def _checked(contents: Contents) -> dict[str, Any]:
        contents.require("dim", "pulls", "pending")
        header, policy = contents.header, contents.policy
        template = fresh_state(policy, count("agent", "dim", header["dim"]), contents.horizon)
        state = contents.state(template, _room_for(template) or policy.n_cells(template))
        n_cells = policy.n_cells(state)
        pulls, pending = ([(whole("agent", "cell", i), n) for i, n in header[name]] for name in ("pulls", "pending"))
        counted(header["seen"], *(n for _, n in [*pulls, *pending]))
        if any(cell >= n_cells for cell, _ in [*pulls, *pending]):
            raise ValueError(f"rewards and pending decisions must belong to the {n_cells} cells")
        return contents.parts(state=state, pulls=pulls, pending=pending)

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self._name_points(parts["dim"], Counter(dict(parts["pulls"])), Counter(dict(parts["pending"])))
        self._go_on(parts["policy"], parts["horizon"], parts["seen"], parts["rng"], parts["state"])

    def _name_points(self, dim: int, pulls: Counter[int], awaited: Counter[int]) -> None:
        """Use points with this many coordinates; rewards and pending decisions are counted by cell."""
        self.dim, self._pulls, self._awaited = dim, pulls, awaited
        self._cells: dict[Point, int] = {}  # by point
        self._looked_at = 0  # cells among these, as many as were needed so far

    def _adopt(self, state: Any) -> None:
        super()._adopt(state)
        self._room = _room_for(state) or LARGEST_COUNT

    _pending_in = staticmethod(find_pending)

    def _calls(self, state: Any) -> tuple[Call, Call]:
        return calls_on_arms(self._bare, state, self._rng)

    def select(self) -> FloatArray:
        """Return the point to play next, an array of ``dim`` numbers.

        The decision is pending until a reward of the point comes, or until it is given up by :meth:`cancel`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> hb.LipschitzAgent(hb.make("lipschitz-auto"), dim=2).select()
        array([0.5, 0.5])
        """
        return self.assign()

    def assign(self, x: Any = None, key: bytes | None = None) -> FloatArray:
        """Make a decision for the point ``x``, whatever the policy would play, or for the policy's own choice if None.

        The policy is consulted either way, so repeating the calls of an agent, with the points that it returned, leads
        to the same state.  With a ``key`` of 32 bytes, all draws depend on that alone.  A point that the policy does
        not play counts as the nearest one that it does, which is returned.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LipschitzAgent(hb.make("smooth-auto"), dim=1)
        >>> agent.assign(0.5), agent.pending
        (array([0.5]), 1)
        """
        given = None if x is None else self._given_point(x)
        with self._lock:
            if key is not None and self._rng is not None:
                set_key(self._rng, key)
            chosen = self._choose()
            cell = self._cell_at(tuple(self._point(self._state, chosen).tolist()) if given is None else given)
            if cell != chosen:  # another point, or the first of several cells with this point, which rewards go to
                move_decision(self._pending, chosen, cell)
            self._awaited[cell] += 1
            self._change_over()
            return self._point(self._state, cell)

    def peek(self) -> FloatArray:
        """Return the point that :meth:`select` would return, without making a decision.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LipschitzAgent(hb.make("lipschitz-auto"), dim=1)
        >>> agent.peek(), agent.pending
        (array([0.5]), 0)
        """
        with self._lock:
            state, rng = copy.deepcopy((self._state, self._rng))
            cell = self._decide(self._bare, self._locate(state), self._seen, rng, self._room, -1)
            return self._point(state, cell)

    def _point(self, state: Any, cell: int) -> FloatArray:
        """Return a copy of the point of a cell; refuse a number that is not a cell."""
        n_cells = self.policy.n_cells(state)
        if not 0 <= cell < n_cells:
            owner = type(self.policy).__name__
            raise TypeError(f"LipschitzAgent: {owner}.select must return a cell from 0 to {n_cells - 1}, got {cell!r}")
        return np.array(self.policy.point(state, cell), dtype=float)

    @renamed(asked="selected")
    def update(self, x: Any, reward: float, *, selected: bool = True) -> None:
        """Learn from the reward of a point.

        It settles a pending decision for the point, if there is one.

        Parameters
        ----------
        x
            ``dim`` numbers from 0 to 1; for one dimension a number will do.
        reward
            Any number but NaN.
        selected
            Whether a selection led to the reward.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LipschitzAgent(hb.make("lipschitz-auto"), dim=1)
        >>> agent.update(0.5, 1.5)
        >>> agent.update(1.5, 1.5)
        Traceback (most recent call last):
            ...
        ValueError: LipschitzAgent: x must have 1 number from 0 to 1, got 1.5
        """
        point, value = self._given_point(x), reward_of(reward, "LipschitzAgent")
        with self._lock:
            self._learn(self._cell_at(point), value, bool(selected))

    @renamed(asked="selected")
    def update_many(self, points: Iterable[Any], rewards: Iterable[float], *, selected: bool = True) -> None:
        """Learn from the rewards of several points: from all of them or, if one is refused, from none.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LipschitzAgent(hb.make("lipschitz-auto"), dim=1)
        >>> agent.update_many([0.1, 0.5, 0.9], [1.0, 2.0, 1.0])
        >>> agent.seen
        3
        """
        given, values = [self._given_point(x) for x in points], [reward_of(r, "LipschitzAgent") for r in rewards]
        if len(given) != len(values):
            raise ValueError(f"LipschitzAgent: there must be a reward per point, got {len(values)} for {len(given)}")
        with self._lock:
            for point, value in zip(given, values, strict=True):
                self._learn(self._cell_at(point), value, bool(selected))

    def _given_point(self, x: Any) -> Point:
        try:
            point = np.atleast_1d(np.asarray(x, dtype=float))
        except (TypeError, ValueError):
            point = np.empty(0)
        if point.shape != (self.dim,) or not ((point >= 0.0) & (point <= 1.0)).all():
            numbers = f"{self.dim} number{'s' * (self.dim > 1)}"
            raise ValueError(f"LipschitzAgent: x must have {numbers} from 0 to 1, got {x!r}")
        return tuple(point.tolist())

    def _choose(self) -> int:
        cell: int = self._decide(self._bare, self._located, self._seen, self._rng, self._room, -1)
        return cell

    def _cell_at(self, x: Point) -> int:
        """Return the cell whose point this is, the first of several, or else the one whose point is nearest."""
        if x not in self._cells:
            if self.policy.n_cells(self._state) == 0:  # some policies have no cell before they are asked
                give_up(self._pending, self._choose())
            n_cells = self.policy.n_cells(self._state)
            for cell in range(self._looked_at, n_cells):
                self._cells.setdefault(tuple(self._point(self._state, cell).tolist()), cell)
            self._looked_at = n_cells
        if x not in self._cells:
            points = np.array(list(self._cells))
            return list(self._cells.values())[int(np.abs(points - x).max(axis=1).argmin())]
        return self._cells[x]

    def _learn(self, cell: int, reward: float, selected: bool) -> None:
        if self._pools:
            self._make_room()
        self._learn_from(self._bare, self._located, cell, reward, selected)
        self._pulls[cell] += 1
        self._seen += 1
        if selected:
            self._settle(cell)
        self._change_over()

    def _settle(self, cell: int) -> None:
        """Remove a pending decision, if there is one."""
        self._awaited -= Counter({cell: 1})

    def cancel(self, x: Any) -> None:
        """Give up a pending decision for a point, whose reward will never come.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LipschitzAgent(hb.make("lipschitz-auto"), dim=1)
        >>> agent.cancel(agent.select())
        >>> agent.cancel(0.5)
        Traceback (most recent call last):
            ...
        ValueError: LipschitzAgent: x must have a pending decision to be cancelled, got 0.5 without one
        """
        point = self._given_point(x)
        with self._lock:
            cell = self._cell_at(point) if self._awaited else None
            if cell is None or self._awaited[cell] == 0:
                raise ValueError(
                    f"LipschitzAgent: x must have a pending decision to be cancelled, got {x!r} without one"
                )
            self._settle(cell)
            give_up(self._pending, cell)

    @property
    def pending(self) -> int:
        """Number of decisions whose rewards have not come."""
        with self._lock:
            return self._awaited.total()

    @property
    def estimates(self) -> pd.DataFrame:
        """What is known about the points that have rewards or pending decisions, the most played first.

        ``x0``, ``x1``, ... are the coordinates.  ``high`` is the index by which the policy compares points, and ``low``
        lies equally far below the estimate.  They are missing (NaN) if the policy has none.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LipschitzAgent(hb.make("zooming", nu=1.0), dim=1)
        >>> agent.update(agent.select(), 1.0)
        >>> agent.estimates
            x0  pulls  pending  estimate  low  high
        0  0.5      1        0       1.0 -1.0   3.0
        """
        import pandas as pd

        axes, fields = [f"x{axis}" for axis in range(self.dim)], PointEstimate._fields[1:]
        return pd.DataFrame([(*row.point, *row[1:]) for row in self.rows_later()()], columns=[*axes, *fields])

    def rows_later(self) -> Callable[[], list[PointEstimate]]:
        """Return a function with which another thread finds :attr:`estimates` as they are now, as rows.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.LipschitzAgent(hb.make("zooming", nu=1.0), dim=1)
        >>> agent.update(agent.select(), 1.0)
        >>> agent.rows_later()()
        [PointEstimate(point=(0.5,), pulls=1, pending=0, estimate=1.0, low=-1.0, high=3.0)]
        """
        with self._lock:
            cells = sorted({*self._pulls, *self._awaited}, key=lambda cell: (-self._pulls[cell], cell))
            counts = [(self._pulls[cell], self._awaited[cell]) for cell in cells]
            points = [tuple(self._point(self._state, cell).tolist()) for cell in cells]
            frozen = FrozenAgent(self.policy, copy.deepcopy(self._state), self._seen)

        def rows() -> list[PointEstimate]:
            bounds = [column.tolist() for column in frozen.bounds(cells).values()]
            known = zip(points, counts, *bounds, strict=True)
            return [PointEstimate(point, *counted, *ends) for point, counted, *ends in known]

        return rows

    def __repr__(self) -> str:
        return f"LipschitzAgent({self.policy!r}, dim={self.dim}, {self._seen} rewards)"

    def _table(self) -> tuple[str, list[list[str]]]:
        """Return a title, and a table of the points that were played most."""
        table = self.estimates.drop(columns="low").rename(columns={"high": "index"})
        more = f"; the {MOST_PRINTED_ROWS} most played of {len(table)} points" if len(table) > MOST_PRINTED_ROWS else ""
        rows = [list(map(cell, row)) for row in table.to_numpy()[:MOST_PRINTED_ROWS].tolist()]
        return f"{plural(self._seen, 'reward')}{more}", [list(table.columns), *rows]


def _room_for(state: Any) -> int | None:
    """Return how many cells a state has room for; None if it does not say."""
    pulls = find_pending(state).pulls
    return None if pulls is None else len(pulls)
