"""What happens to states when arms come and go, when pools fill up, and when they are saved and loaded.

All of it is done part by part, and a part may say how: see :class:`~heavybandits.protocols.Part`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...._validate import LARGEST_COUNT, require_within
from ....protocols import BoolArray, IntArray, is_named_tuple
from ....tree import changed, parts, walk
from ..choice.ftrl import Draws
from .pool import Pool
from .scalars import are_scalars
from .stream import Stream

SMOOTHING = (1,)  # key that distinguishes the generators in a state from others with the same seed


def fresh_state(policy: Any, n_arms: int, horizon: int | None) -> Any:
    """Return a fresh state of the policy whose pools start small.

    In a simulation, pools must have room for the whole horizon; online they grow, and so do the files of saved agents.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.make("rucb-catoni", v=1)
    >>> policy.init(2, 10**6).mean.rewards.records.nbytes, fresh_state(policy, 2, 10**6).mean.rewards.records.nbytes
    (32000000, 8192)
    """
    return changed(policy.init(n_arms, horizon), lambda part: part.emptied() if isinstance(part, Pool) else part)


def carried(old: Any, same: Any, fresh: Any, rows: IntArray) -> Any:
    """Return a ``fresh`` state for another number of arms, its first rows filled from the arms ``rows`` of ``old``.

    ``same`` is a fresh state for the old number of arms.  If an array has the same shape in both fresh states, it does
    not depend on the number of arms and is kept as it is.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.ThompsonGaussian()
    >>> state = policy.init(n_arms=3, horizon=None)
    >>> policy.update(state, 2, 7.0)
    >>> carried(state, policy.init(3, None), policy.init(2, None), np.array([0, 2])).mean.tolist()
    [0.0, 7.0]
    """
    if hasattr(old, "carry"):
        return old.carry(fresh, rows)
    if is_named_tuple(old):
        return fresh._make(carried(*fields, rows) for fields in zip(old, same, fresh, strict=True))
    if old is None or same.shape == fresh.shape:
        return old
    if same.shape[1:] != fresh.shape[1:]:
        raise TypeError(f"arrays must have a row per arm or no such axis, got shapes {same.shape} and {fresh.shape}")
    fresh[: len(rows)] = old[rows]
    return fresh


def find_open(state: Any) -> Callable[[IntArray | None], None] | None:
    """Return a function that restricts a state's choices to some arms (``None``: all), or None if it cannot be.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state = hb.KLUCB().init(n_arms=3, horizon=None)
    >>> restrict = find_open(state)
    >>> restrict(np.array([1]))
    >>> state.open.tolist()
    [False, True, False]
    """
    for _, part in walk(state):
        if hasattr(part, "restrict"):
            return part.restrict  # type: ignore[no-any-return]
        if is_named_tuple(part) and getattr(part, "open", None) is not None:
            return partial(open_only, part.open)
    return None


def open_only(open: BoolArray, among: IntArray | None) -> None:
    """Open these arms and close all others; ``None`` opens all."""
    open[:] = among is None
    if among is not None:
        open[among] = True


def find_draws(state: Any) -> Draws | None:
    """Return the part of a state that holds the probabilities of the arms, or None if there is none.

    Examples
    --------
    >>> import heavybandits as hb
    >>> find_draws(hb.TsallisINF().init(n_arms=2, horizon=None)).chance
    array([0.5, 0.5])
    """
    return next(parts(state, Draws), None)


def streams(state: Any) -> Iterator[Stream]:
    """Return the random number generators in a state.

    Examples
    --------
    >>> import heavybandits as hb
    >>> [len(list(streams(hb.make("sgd-ucb", theta=theta).init(2, 100)))) for theta in (0.0, 0.1)]
    [0, 1]
    """
    return parts(state, Stream)


def reseed(found: Iterable[Stream], seed: np.random.SeedSequence) -> None:
    """Start each of the generators in a fresh state from its own number.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state = hb.make("sgd-ucb").init(2, 100)
    >>> reseed(streams(state), np.random.SeedSequence(1))
    >>> int(state.sgd.waiting.stream.number[0])
    2051410269420622340
    """
    found = list(found)
    for stream, number in zip(found, seed.generate_state(len(found), np.uint64), strict=True):
        stream.reseed(int(number))


def pools(state: Any) -> Iterator[Pool]:
    """Return the pools in which a state keeps rewards.

    Examples
    --------
    >>> import heavybandits as hb
    >>> len(list(pools(hb.UCB().init(2, None)))), len(list(pools(hb.make("rucb-catoni", v=1).init(2, None))))
    (0, 1)
    """
    return parts(state, Pool)


def with_room(state: Any) -> Any:
    """Return the state with room for another reward of any arm.

    Examples
    --------
    >>> import heavybandits as hb
    >>> policy = hb.make("rucb-catoni", v=1)
    >>> state = policy.init(n_arms=1, horizon=1)
    >>> for reward in range(100):  # past the horizon
    ...     state = with_room(state)
    ...     policy.update(state, 0, reward)
    >>> int(state.pulls[0])
    100
    """
    return changed(state, lambda part: part.grown() if isinstance(part, Pool) else part)


def with_rows(state: Any, n_rows: int) -> Any:
    """Return the state of a linear policy with room for what it keeps about each of ``n_rows`` rows.

    Examples
    --------
    >>> import heavybandits as hb
    >>> with_rows(hb.UCB().init(2, None), n_rows=3).pulls  # keeps nothing per row
    array([0, 0])
    """
    return changed(state, lambda part: part.with_rows(n_rows) if hasattr(part, "with_rows") else part)


def find_asking(state: Any) -> Any:
    """Return the part of a linear policy's state that records pending rows, or None if there is none.

    Examples
    --------
    >>> import heavybandits as hb
    >>> from heavybandits.algorithms.linear._design import init_design
    >>> find_asking((1, 2)) is None, type(find_asking(init_design(2, ridge=1.0))).__name__
    (True, 'Design')
    """
    return next((part for _, part in walk(state) if hasattr(part, "ask")), None)


def arrays(state: Any, path: str = "state") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the arrays of a state, each with its path in the state; scalars one by one, under their names.

    Examples
    --------
    >>> import heavybandits as hb
    >>> next(arrays(hb.UCB().init(n_arms=2, horizon=None)))
    ('state.pulls', array([0, 0]))
    """
    for where, part in walk(state, path):
        if are_scalars(part):
            yield from ((f"{where}.{name}", part[name]) for name in part.dtype.names)
        elif part is not None and not is_named_tuple(part):
            yield where, part


def check_state(state: Any, fresh: Any, n_arms: int) -> None:
    """Refuse a state whose numbers would lead compiled code, which does not check indices, out of its arrays.

    A part of a state may have a method ``check(fresh, n_arms)`` that checks what else it relies on.  Whole numbers in
    states of this package are counts or positions, generators excepted: they are never below the least number of a
    ``fresh`` state, or below 0 among scalars and in parts that have a ``check``.  Arrays that have no NaN in a fresh
    state never have any.  Between decisions, all arms are open.

    Examples
    --------
    >>> import heavybandits as hb
    >>> state, fresh = (hb.UCB().init(n_arms=2, horizon=None) for _ in range(2))
    >>> state.tournament.turn[0].arm = 7
    >>> check_state(state, fresh, n_arms=2)
    Traceback (most recent call last):
        ...
    ValueError: state.tournament: the arm chosen last must be from 0 to 1, got 7
    """
    for (path, part), (_, blank) in zip(walk(state), walk(fresh), strict=True):
        if hasattr(part, "check"):
            try:
                part.check(blank, n_arms)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
        if is_named_tuple(part):
            for name, field, blank_field in zip(part._fields, part, blank, strict=True):
                _check_numbers(part, f"{path}.{name}", field, blank_field)
            if getattr(part, "open", None) is not None and not part.open.all():
                raise ValueError(f"{path}.open must be all true")
        elif are_scalars(part):
            for name in part.dtype.names:
                _check_numbers(part, f"{path}.{name}", part[name], blank[name])


def _check_numbers(part: Any, path: str, numbers: Any, blank: Any) -> None:
    """Refuse wild numbers in an array of one of our own parts."""
    ours = are_scalars(part) or type(part).__module__.startswith(f"{__package__.partition('.')[0]}.")
    kind = numbers.dtype.kind if ours and isinstance(numbers, np.ndarray) and numbers.size else None
    if kind == "i" and not isinstance(part, Stream):
        least = int(blank.min())
        low = min(least, 0) if are_scalars(part) or hasattr(part, "check") else least
        require_within(path, numbers, low, LARGEST_COUNT)
    if kind == "f" and np.isnan(numbers).any() and not np.isnan(blank).any():
        raise ValueError(f"{path} must not be NaN")


def rebuilt(template: Any, values: dict[str, npt.NDArray[Any]], path: str = "state", grows: bool = False) -> Any:
    """Return ``template`` with other arrays of the same types and shapes; only the records of a pool may be longer.

    Compiled code does not check indices, so arrays of other shapes must be refused.

    Examples
    --------
    >>> import heavybandits as hb
    >>> values = dict(arrays(hb.UCB().init(n_arms=2, horizon=None)))
    >>> rebuilt(hb.UCB().init(n_arms=3, horizon=None), values)
    Traceback (most recent call last):
        ...
    ValueError: state.pulls must be int64 of shape (3,), got int64 of shape (2,)
    """
    if template is None:
        return None
    if is_named_tuple(template):
        fields = zip(template._fields, template, strict=True)
        growing = "records" if isinstance(template, Pool) else None
        return template._make(rebuilt(field, values, f"{path}.{name}", name == growing) for name, field in fields)
    if are_scalars(template):
        scalars = template.copy()
        for name in scalars.dtype.names:
            scalars[name] = rebuilt(template[name], values, f"{path}.{name}")
        return scalars
    value = values[path]
    shapes = (len(template.shape), len(value.shape)) if grows else (template.shape, value.shape)
    if value.dtype != template.dtype or shapes[0] != shapes[1]:
        raise ValueError(f"{path} must be {template.dtype} of shape {template.shape}, "
                         f"got {value.dtype} of shape {value.shape}")  # fmt: skip
    return value
