"""Checks of policies for K arms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..algorithms.parts.choice.estimates import index_of, value_of
from ..algorithms.parts.state.tree import arrays, carried, find_open, with_room
from ..jit.compiled import without_text
from ..protocols import FloatArray, IntArray, is_named_tuple
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


def check_arms(policy: Any, name: str, horizon: int) -> Callable[[], None]:
    """Check an interpreted policy, and return a function that checks the compiled one against it."""
    _check_states(policy, name, horizon)
    played = {
        n_arms: check_repetition(name, "arms", partial(_interpreted, policy, name, n_arms), horizon)
        for n_arms in (1, 3, 70)
    }
    check_randomness(policy, name, played[3][0], lambda rng: _interpreted(policy, name, 3, horizon, rng)[0])
    _check_wild_rewards(policy, name, horizon)
    _check_disorder(policy, name, horizon)
    return machine_code_check(policy, name, "arms", played, horizon)


def _check_states(policy: Any, name: str, horizon: int) -> None:
    """Check that states have arrays of their own, and show the number of arms in the first axis or not at all."""
    first, second, larger = (policy.init(n_arms, horizon) for n_arms in (3, 3, 4))
    check_arrays(policy, name, first, second)
    for (path, array), (_, grown) in zip(arrays(first), arrays(larger), strict=True):
        require(array.dtype == grown.dtype, f"{name}: the type of {path} must not depend on the number of arms")
    _check_shapes(name, "state", first, larger)


def _check_shapes(name: str, path: str, three: Any, four: Any) -> None:
    """Check that states for three and four arms differ only in the first axis; parts that ``carry`` are exempt."""
    if is_named_tuple(three):
        for field, one, two in zip(three._fields, three, four, strict=True):
            if not hasattr(one, "carry"):
                _check_shapes(name, f"{path}.{field}", one, two)
        return
    if three is None and four is None:  # a part that this policy does not use
        return
    rows = (three.shape[:1], four.shape[:1]) == ((3,), (4,)) and three.shape[1:] == four.shape[1:]
    require(rows or three.shape == four.shape, f"{name}: {path} must have a row per arm, or always the same shape")


def _interpreted(policy: Any, name: str, n_arms: int, horizon: int, rng: Any = None) -> tuple[IntArray, Any]:
    """Return the arms that a fresh policy chooses, and its final state; by default ``rng`` is what it would get."""
    bare, state, rng = without_text(policy), policy.init(n_arms, horizon), rng or rng_for(policy)
    arms = np.full(horizon, -1)
    for t, reward in enumerate(some_rewards(horizon).tolist()):
        arms[t] = _selected(bare, name, state, t, rng, n_arms)
        bare.update(state, int(arms[t]), reward)
    return arms, state


def _selected(policy: Any, name: str, state: Any, t: int, rng: Any, n_arms: int) -> int:
    arm = policy.select(state, t, rng)
    last = n_arms - 1
    require(is_number(arm, n_arms), f"{name}.select must return an arm, a whole number from 0 to {last}, got {arm!r}")
    return int(arm)


def _check_wild_rewards(policy: Any, name: str, horizon: int) -> None:
    """Check that infinite and huge rewards leave no NaN where tame ones leave a number."""
    tame = np.random.default_rng(5).standard_normal((max(3 * len(WILD), horizon // 3), 3))
    wild = tame.copy()
    wild[: 2 * len(WILD)] = np.random.default_rng(6).permuted(np.tile(WILD, (3, 2)), axis=1).T
    tame_seen, wild_seen = (_numbers_after(policy, table) for table in (tame, wild))
    for path, array in wild_seen.items():
        new = np.isnan(array) & ~np.isnan(tame_seen[path])
        require(not new.any(), f"{name}: {path} must not be NaN after infinite rewards")


def _numbers_after(policy: Any, table: FloatArray) -> dict[str, FloatArray]:
    """Return everything that a policy shows after each arm has had a column of rewards."""
    n_arms = table.shape[1]
    bare, state, t = without_text(policy), policy.init(n_arms, table.size), table.size
    for row in table.tolist():
        for arm, reward in enumerate(row):
            bare.update(state, arm, reward)
    seen = {path: array.astype(float) for path, array in arrays(state)}
    seen["value"] = np.array([value_of(bare, state, arm) for arm in range(n_arms)])
    seen["index_of"] = np.array([index_of(bare, state, arm, t) for arm in range(n_arms)])
    return seen


def _check_disorder(policy: Any, name: str, horizon: int) -> None:
    """Check pending selections, rewards nobody asked for, rounds beyond the horizon, and arms that come and go."""
    n_arms = 4
    bare, state, rng = without_text(policy), policy.init(n_arms, horizon), rng_for(policy)
    t = 0

    def learn(arm: int, reward: float) -> None:
        nonlocal state, t
        state = with_room(state)
        bare.update(state, arm, reward)
        t += 1

    rewards = iter(some_rewards(6 * horizon).tolist())
    learn(1, next(rewards))  # before anything was selected
    for stage in range(3):
        for _ in range(horizon // 4):
            waiting = [_selected(bare, name, state, t, rng, n_arms) for _ in range(3)]
            for arm in [*reversed(waiting), n_arms - 1]:
                learn(arm, next(rewards))
        restrict = find_open(state)
        if restrict is not None:
            restrict(np.array([1, 2]))
            arm = _selected(bare, name, state, t, rng, n_arms)
            require(arm in (1, 2), f"{name}.select must keep to the open arms 1 and 2, got {arm}")
            restrict(None)
        kept = np.array([0, 2, 3]) if stage == 0 else np.arange(n_arms)
        size = len(kept) + 2 * stage
        state = carried(state, policy.init(n_arms, horizon), policy.init(size, horizon), kept)
        n_arms = size
