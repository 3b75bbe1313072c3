"""Walks through nested states, for when arms come and go, when pools fill up, and when states are saved and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...._validate import LARGEST_COUNT, require_within
from ....protocols import IntArray, is_named_tuple
from ..randomised.ftrl import Draws
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
    return _small(policy.init(n_arms, horizon))


def _small(state: Any) -> Any:
    if isinstance(state, Pool):
        return state._replace(records=np.zeros(0)).grown()
    return state._make(map(_small, state)) if is_named_tuple(state) else state


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
    if hasattr(state, "restrict"):
        return state.restrict  # type: ignore[no-any-return]
    if not is_named_tuple(state):
        return None
    flags = getattr(state, "open", None)
    if flags is None:
        return next(filter(None, map(find_open, state)), None)

    def restrict(among: IntArray | None) -> None:
        flags[:] = among is None
        if among is not None:
            flags[among] = True

    return restrict


def find_draws(state: Any) -> Draws | None:
    """Return the part of a state that holds the probabilities of the arms, or None if there is none.

    Examples
    --------
    >>> import heavybandits as hb
    >>> find_draws(hb.TsallisINF().init(n_arms=2, horizon=None)).chance
    array([0.5, 0.5])
    """
    if isinstance(state, Draws):
        return state
    return next(filter(None, map(find_draws, state)), None) if is_named_tuple(state) else None


def streams(state: Any) -> Iterator[Stream]:
    """Yield the random number generators in a state.

    Examples
    --------
    >>> import heavybandits as hb
    >>> [len(list(streams(hb.make("sgd-ucb", theta=theta).init(2, 100)))) for theta in (0.0, 0.1)]
    [0, 1]
    """
    if isinstance(state, Stream):
        yield state
    elif is_named_tuple(state):
        for field in state:
            yield from streams(field)


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
    """Yield the pools in which a state keeps rewards.

    Examples
    --------
    >>> import heavybandits as hb
    >>> len(list(pools(hb.UCB().init(2, None)))), len(list(pools(hb.make("rucb-catoni", v=1).init(2, None))))
    (0, 1)
    """
    if isinstance(state, Pool):
        yield state
    elif is_named_tuple(state):
        for field in state:
            yield from pools(field)


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
    if isinstance(state, Pool):
        return state.grown()
    return state._make(map(with_room, state)) if is_named_tuple(state) else state


def with_rows(state: Any, n_rows: int) -> Any:
    """Return the state of a linear policy with room for what it keeps about each of ``n_rows`` rows.

    Examples
    --------
    >>> import heavybandits as hb
    >>> with_rows(hb.UCB().init(2, None), n_rows=3).pulls  # keeps nothing per row
    array([0, 0])
    """
    if hasattr(state, "with_rows"):
        return state.with_rows(n_rows)
    return state._make(with_rows(field, n_rows) for field in state) if is_named_tuple(state) else state


def find_asking(state: Any) -> Any:
    """Return the part of a linear policy's state that records pending rows, or None if there is none.

    Examples
    --------
    >>> import heavybandits as hb
    >>> from heavybandits.algorithms.parts.regression.design import init_design
    >>> find_asking((1, 2)) is None, type(find_asking(init_design(2, ridge=1.0))).__name__
    (True, 'Design')
    """
    if hasattr(state, "ask"):
        return state
    return next(filter(None, map(find_asking, state)), None) if is_named_tuple(state) else None


def arrays(state: Any, path: str = "state") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the arrays of a state, each with its path in the state; scalars one by one, under their names.

    Examples
    --------
    >>> import heavybandits as hb
    >>> next(arrays(hb.UCB().init(n_arms=2, horizon=None)))
    ('state.pulls', array([0, 0]))
    """
    if state is None:
        return
    parts = _parts(state)
    if parts is None:
        yield path, state
    else:
        for name, part in parts.items():
            yield from arrays(part, f"{path}.{name}")


def _parts(state: Any) -> dict[str, Any] | None:
    """Return the parts of a nested state, or the numbers of scalars, by name; None for an array."""
    if is_named_tuple(state):
        return state._asdict()  # type: ignore[no-any-return]
    return {name: state[name] for name in state.dtype.names} if are_scalars(state) else None


def check_state(state: Any, fresh: Any, n_arms: int, path: str = "state") -> None:
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
    parts, blanks = _parts(state), _parts(fresh)
    if parts is None or blanks is None:
        return
    if hasattr(state, "check"):
        try:
            state.check(fresh, n_arms)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    ours = are_scalars(state) or type(state).__module__.startswith(f"{__package__.partition('.')[0]}.")
    for name, field in parts.items():
        blank = blanks[name]
        check_state(field, blank, n_arms, f"{path}.{name}")
        if name == "open" and not field.all():
            raise ValueError(f"{path}.open must be all true")
        kind = field.dtype.kind if ours and isinstance(field, np.ndarray) and field.size else None
        if kind == "i" and not isinstance(state, Stream):
            least = int(blank.min())
            low = min(least, 0) if are_scalars(state) or hasattr(state, "check") else least
            require_within(f"{path}.{name}", field, low, LARGEST_COUNT)
        if kind == "f" and np.isnan(field).any() and not np.isnan(blank).any():
            raise ValueError(f"{path}.{name} must not be NaN")


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
