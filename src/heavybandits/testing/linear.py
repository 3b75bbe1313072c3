"""Checks of linear policies, on the worst rows that users may have."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..algorithms.parts.state.tree import arrays, find_asking, with_room, with_rows
from ..jit.compiled import without_text
from ..protocols import FloatArray, IntArray, is_randomised
from ..world.contexts import blocks
from .common import (
    WILD,
    check_arrays,
    check_compiled,
    check_randomness,
    is_number,
    require,
    rng_for,
    same,
    some_rewards,
)

N_FEATURES = 4  # features, where their number does not matter
ROUNDS = 40  # in each setting but the first two


def _settings(horizon: int) -> dict[str, FloatArray]:
    """Return contexts of shape (rounds, K, d), by what is special about them."""
    rng, n = np.random.default_rng(11), min(horizon, ROUNDS)
    normal = rng.standard_normal
    found = {
        "rows that change": normal((horizon, 5, N_FEATURES)),
        "rows that stay": np.tile(normal((1, 5, N_FEATURES)), (horizon, 1, 1)),
        "one row": normal((n, 1, 2)),
        "one feature": normal((n, 3, 1)),
        "more features than rounds": normal((min(n, 8), 3, 12)),
        "features of different scale": normal((n, 3, 3)) * np.array([1e-9, 1.0, 1e9]),
        "a constant feature": np.concatenate([normal((n, 3, 2)), np.ones((n, 3, 1))], axis=2),
        "rows of rank one": normal((n, 3, 1)) * np.array([1.0, 2.0, -1.0]),
        "equal rows": np.tile(normal((n, 1, 2)), (1, 3, 1)),
        "rows of zeros": np.zeros((n, 3, 2)),
        "a model for each arm": blocks(normal((n, 2)), 2),
    }
    for contexts in found.values():
        contexts.flags.writeable = False  # a policy must not write to what it is lent
    return found


def check_linear(policy: Any, name: str, horizon: int) -> Callable[[], None]:
    """Check an interpreted policy, and return a function that checks the compiled one against it."""
    check_arrays(policy, name, *(policy.init(N_FEATURES, horizon) for _ in range(2)))
    settings = {setting: contexts for setting, contexts in _settings(horizon).items() if _takes(policy, contexts)}
    played = {setting: _check_repetition(policy, name, setting, contexts) for setting, contexts in settings.items()}
    changing, (chosen, _) = settings["rows that change"], played["rows that change"]
    check_randomness(policy, name, chosen, lambda rng: _interpreted(policy, name, changing, rng=rng)[0])
    _check_wild_rewards(policy, name, changing)
    _check_disorder(policy, name, horizon)

    def check_machine_code() -> None:
        for setting, rows_and_state in played.items():
            fresh, writable = _fresh(policy, settings[setting]), settings[setting].copy()
            check_compiled(policy, f"{name} with {setting}", "rows", _play, rows_and_state, fresh, writable)

    return check_machine_code


def _takes(policy: Any, contexts: FloatArray) -> bool:
    """Return whether a policy takes this many features; one that does not says so in its ``init``."""
    try:
        policy.init(contexts.shape[2], len(contexts))
    except ValueError as error:
        if contexts.shape[2] == N_FEATURES or "n_features" not in str(error):
            raise
        return False
    return True


def _fresh(policy: Any, contexts: FloatArray) -> Any:
    return with_rows(policy.init(contexts.shape[2], len(contexts)), contexts.shape[1])


def _check_repetition(policy: Any, name: str, setting: str, contexts: FloatArray) -> tuple[IntArray, Any]:
    """Check that the policy plays the same rows each time, even if it is asked twice; return them and the state."""
    rows, state = _interpreted(policy, name, contexts)
    again, _ = _interpreted(policy, name, contexts)
    require(
        same(rows, again),
        f"{name} must choose the same rows when it is given the same rewards and seed, with {setting}",
    )
    if not is_randomised(policy):
        twice, _ = _interpreted(policy, name, contexts, times=2)
        require(same(rows, twice), f"{name}.select must choose the same row if it is asked twice, with {setting}")
    _require_numbers(policy, name, setting, state, contexts[-1], len(contexts))
    return rows, state


def _require_numbers(policy: Any, name: str, setting: str, state: Any, features: FloatArray, t: int) -> None:
    """Check that nothing is NaN that is not in a fresh state; on a copy, because ``value`` may use scratch space."""
    state = copy.deepcopy(state)
    fresh = dict(arrays(with_rows(policy.init(features.shape[1], t), features.shape[0])))
    for path, array in arrays(state):
        new = np.isnan(array).any() and not np.isnan(fresh[path]).any() if path in fresh else np.isnan(array).any()
        require(not new, f"{name}: {path} must not be NaN, with {setting}")
    for x in features:
        value = policy.value(state, x) if hasattr(policy, "value") else 0.0
        index = policy.index_of(state, x, t) if hasattr(policy, "index_of") else 0.0
        require(not np.isnan(index), f"{name}.index_of must not be NaN, with {setting}")
        known = not np.isnan(value) or np.isinf(index)
        require(known, f"{name}.value must not be NaN where the index is finite, with {setting}")


def _play(policy: Any, state: Any, rng: Any, contexts: FloatArray, rewards: FloatArray, rows: IntArray) -> None:
    for t in range(len(rewards)):
        row = policy.select(state, contexts[t], t, rng)
        policy.update(state, contexts[t, row], rewards[t])
        rows[t] = row


def _interpreted(
    policy: Any, name: str, contexts: FloatArray, *, rng: Any = None, times: int = 1
) -> tuple[IntArray, Any]:
    """Return the rows that a fresh policy chooses, asked this many times for each, and its final state."""
    bare, state, rng = without_text(policy), _fresh(policy, contexts), rng or rng_for(policy)
    rows = np.full(len(contexts), -1)
    for t, reward in enumerate(some_rewards(len(contexts)).tolist()):
        for _ in range(times):
            rows[t] = _selected(bare, name, state, contexts[t], t, rng)
        bare.update(state, contexts[t, rows[t]], reward)
    return rows, state


def _selected(policy: Any, name: str, state: Any, features: FloatArray, t: int, rng: Any) -> int:
    row, last = policy.select(state, features, t, rng), len(features) - 1
    require(
        is_number(row, len(features)), f"{name}.select must return a row, a whole number from 0 to {last}, got {row!r}"
    )
    return int(row)


def _check_wild_rewards(policy: Any, name: str, contexts: FloatArray) -> None:
    """Check that infinite and huge rewards at the very beginning leave no NaN."""
    bare, state = without_text(policy), _fresh(policy, contexts)
    wild = np.random.default_rng(6).permuted(np.tile(WILD, 3)).tolist()
    tame = np.random.default_rng(5).standard_normal(len(contexts)).tolist()
    for x, reward in zip(contexts[:, 0], [*wild, *tame], strict=False):
        bare.update(state, x, reward)
    _require_numbers(bare, name, "infinite rewards", state, contexts[-1], len(contexts))


def _check_disorder(policy: Any, name: str, horizon: int) -> None:
    """Check rewards nobody asked for, pending decisions, rounds beyond the horizon, and a changing number of rows."""
    bare, state, rng = without_text(policy), policy.init(N_FEATURES, horizon), rng_for(policy)
    draw, rewards, t = np.random.default_rng(13), iter(some_rewards(6 * horizon).tolist()), 0

    def learn(x: FloatArray) -> None:
        nonlocal state, t
        state = with_room(state)
        bare.update(state, x, next(rewards))
        t += 1

    learn(draw.standard_normal(N_FEATURES))  # before anything was selected
    for _ in range(horizon // 2):
        features = draw.standard_normal((int(draw.integers(1, 9)), N_FEATURES))
        state = with_rows(state, len(features))
        waiting = []
        for _ in range(3):
            x = features[_selected(bare, name, state, features, t, rng)]
            waiting.append(x)
            if (asking := find_asking(state)) is not None:
                asking.ask(x)
        for x in reversed(waiting):
            learn(x)
            if (asking := find_asking(state)) is not None:
                asking.settle(x)
    _require_numbers(bare, name, "rewards in another order", state, features, t)
