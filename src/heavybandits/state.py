"""Walks through nested states: what happens to them when arms come and go, when stores fill up, and on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .protocols import IntArray
from .store import Store


def _is_state(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def carried(old: Any, same: Any, fresh: Any, rows: IntArray) -> Any:
    """``fresh`` state for another number of arms, with what ``old`` knows of its arms ``rows`` in the first rows.

    ``same`` is a fresh state for the old number of arms: an array belongs to the arms if its first axis tells the two
    numbers apart, else it is kept as it is.
    """
    if hasattr(old, "carry"):
        return old.carry(fresh, rows)
    if _is_state(old):
        return fresh._make(carried(*fields, rows) for fields in zip(old, same, fresh, strict=True))
    if same.shape == fresh.shape:
        return old
    fresh[: len(rows)] = old[rows]
    return fresh


def find_open(state: Any) -> Callable[[IntArray | None], None] | None:
    """How to let a state choose among some arms only (``None``: all), if it can."""
    if hasattr(state, "restrict"):
        return state.restrict  # type: ignore[no-any-return]
    if not _is_state(state):
        return None
    flags = getattr(state, "open", None)
    if flags is not None:

        def restrict(among: IntArray | None) -> None:
            flags[:] = among is None
            if among is not None:
                flags[among] = True

        return restrict
    return next(filter(None, map(find_open, state)), None)


def has_store(state: Any) -> bool:
    """Whether the state keeps rewards, and so may need room for more."""
    return isinstance(state, Store) or (_is_state(state) and any(map(has_store, state)))


def with_room(state: Any) -> Any:
    """The same state with room for another reward of any arm."""
    if isinstance(state, Store):
        return state.grown()
    return state._make(map(with_room, state)) if _is_state(state) and has_store(state) else state


def arrays(state: Any, path: str = "state") -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """The arrays of a state with their places in it."""
    if not _is_state(state):
        yield path, state
    else:
        for name, field in zip(state._fields, state, strict=True):
            yield from arrays(field, f"{path}.{name}")


def rebuilt(template: Any, values: dict[str, Any], path: str = "state") -> Any:
    """A state of the same shape as ``template`` with other arrays."""
    if not _is_state(template):
        return values[path]
    fields = zip(template._fields, template, strict=True)
    return template._make(rebuilt(field, values, f"{path}.{name}") for name, field in fields)
