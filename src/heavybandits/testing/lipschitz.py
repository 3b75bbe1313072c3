"""Checks of policies whose arms are points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._format import plural
from ..algorithms.parts.state.tree import arrays, with_room
from ..jit.compiled import without_text
from ..protocols import FloatArray, IntArray
from .common import (
    WILD,
    check_arrays,
    check_randomness,
    check_repetition,
    is_number,
    machine_code_check,
    require,
    rng_for,
    some_rewards,
)

DIMS = (1, 2, 3)


def check_lipschitz(policy: Any, name: str, horizon: int) -> Callable[[], None]:
    """Check an interpreted policy, and return a function that checks the compiled one against it."""
    for method in ("point", "n_cells"):
        require(callable(getattr(policy, method, None)), f"{name} must have a method {method}")
    check_arrays(policy, name, *(policy.init(2, horizon) for _ in range(2)))
    played = {dim: check_repetition(name, "cells", partial(_interpreted, policy, name, dim), horizon) for dim in DIMS}
    check_randomness(policy, name, played[2][0], lambda rng: _interpreted(policy, name, 2, horizon, rng=rng)[0])
    _check_wild_rewards(policy, name, horizon)
    _check_disorder(policy, name, horizon)
    return machine_code_check(policy, name, "cells", played, horizon)


def _check_wild_rewards(policy: Any, name: str, horizon: int) -> None:
    """Check that infinite and huge rewards leave no NaN where tame ones leave a number."""
    rng = np.random.default_rng(6)
    tame = rng.standard_normal(horizon)
    wild = np.where(rng.random(horizon) < 0.3, np.inf, tame)
    wild[: 2 * len(WILD)] = np.resize(WILD, min(horizon, 2 * len(WILD)))
    (_, calm), (cells, state) = (_interpreted(policy, name, 2, horizon, rewards) for rewards in (tame, wild))
    fresh = dict(arrays(policy.init(2, horizon)))
    for path, array in arrays(state):
        new = np.isnan(array).any() and not np.isnan(fresh[path]).any()
        require(not new, f"{name}: {path} must not be NaN after infinite rewards")
    for method, arguments in (("value", ()), ("index_of", (horizon,))):
        for cell in dict.fromkeys(cells.tolist()) if hasattr(policy, method) else ():
            if cell < policy.n_cells(calm) and not np.isnan(getattr(policy, method)(calm, cell, *arguments)):
                shown = getattr(policy, method)(state, cell, *arguments)
                require(not np.isnan(shown), f"{name}.{method} must not be NaN after infinite rewards")


def _check_disorder(policy: Any, name: str, horizon: int) -> None:
    """Check pending selections, rewards nobody asked for, and rounds beyond the horizon."""
    bare, state, rng = without_text(policy), policy.init(1, horizon), rng_for(policy)
    rewards, t = iter(some_rewards(4 * horizon).tolist()), 0
    points: dict[int, tuple[float, ...]] = {}
    for _ in range(horizon):
        waiting = [_selected(bare, name, state, t, rng) for _ in range(3)]
        for cell in [*reversed(waiting), 0]:
            point = tuple(np.asarray(policy.point(state, cell)).tolist())
            require(points.setdefault(cell, point) == point, f"{name}.point of a cell must stay the same")
            state = with_room(state)
            bare.update(state, cell, next(rewards))
            t += 1


def _interpreted(
    policy: Any, name: str, dim: int, horizon: int, rewards: FloatArray | None = None, rng: Any = None
) -> tuple[IntArray, Any]:
    """Return the cells that a fresh policy chooses, and its final state."""
    bare, state, rng = without_text(policy), policy.init(dim, horizon), rng or rng_for(policy)
    cells = np.full(horizon, -1)
    for t, reward in enumerate((some_rewards(horizon) if rewards is None else rewards).tolist()):
        cells[t] = _selected(bare, name, state, t, rng)
        point = np.asarray(policy.point(state, int(cells[t])))
        inside = point.shape == (dim,) and bool(((point >= 0.0) & (point <= 1.0)).all())
        require(inside, f"{name}.point must return {plural(dim, 'number')} from 0 to 1, got {point!r}")
        bare.update(state, int(cells[t]), reward)
    return cells, state


def _selected(policy: Any, name: str, state: Any, t: int, rng: Any) -> int:
    cell = policy.select(state, t, rng)
    is_cell = is_number(cell, policy.n_cells(state))
    require(is_cell, f"{name}.select must return a cell, from 0 to n_cells(state) - 1, got {cell!r}")
    return int(cell)
