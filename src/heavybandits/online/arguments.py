"""The arguments of agents, as users give them: policies, rewards, names of arms, and rows of features."""

from __future__ import annotations

import difflib
import functools
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from .._validate import count, whole
from ..protocols import FloatArray, kind_of, require_kind
from .pending import LARGEST_FEATURE

if TYPE_CHECKING:
    from ..evidence.ledger import Ledger

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

EXAMPLE_POLICIES = {"arms": "auto", "linear": "linear-auto", "lipschitz": "lipschitz-auto"}
AGENTS_BY_KIND = {"arms": "Agent", "linear": "LinearAgent", "lipschitz": "LipschitzAgent"}
ALLOWED_FEATURES = f"between {-LARGEST_FEATURE:g} and {LARGEST_FEATURE:g}"


def policy_of(owner: str, kind: str, policy: Any) -> Any:
    """Return a policy of this kind; refuse anything else."""
    methods = all(callable(getattr(policy, name, None)) for name in ("init", "select", "update"))
    if not (isinstance(policy, tuple) and methods):
        raise TypeError(f"{owner}: policy must be a policy such as hb.make({EXAMPLE_POLICIES[kind]!r}), got {policy!r}")
    try:
        require_kind(f"{owner}: policy", kind, policy)
    except TypeError as error:
        raise TypeError(f"{error}; use hb.{AGENTS_BY_KIND[kind_of(policy)]} for it") from None
    return policy


def plan_of(owner: str, horizon: Any, seed: Any) -> tuple[int | None, int | None]:
    """Return a horizon, which is a positive whole number, and a seed; either may be None."""
    return (
        None if horizon is None else count(owner, "horizon", horizon),
        None if seed is None else whole(owner, "seed", seed),
    )


def reward_of(reward: Any, owner: str = "Agent") -> float:
    """Return a reward, which may be infinite, as a float; refuse NaN and anything that is not a number."""
    if type(reward) is not float:
        lacks_one = not hasattr(reward, "__float__") or isinstance(reward, np.complexfloating)
        if lacks_one or getattr(reward, "ndim", 0) > 0:
            raise TypeError(f"{owner}: reward must be a number, got {brief(reward)}")
        try:
            reward = float(reward)
        except OverflowError:  # a whole number too large for a float
            reward = math.inf if reward > 0 else -math.inf
        except (TypeError, ValueError):
            raise TypeError(f"{owner}: reward must be a number, got {brief(reward)}") from None
    if reward != reward:
        raise ValueError(f"{owner}: reward must not be NaN (leave out missing rewards), got {reward!r}")
    return reward  # type: ignore[no-any-return]


def renamed(**new_names: str) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Let a method take keywords by their old names too, with a warning that says the new one.

    Examples
    --------
    >>> @renamed(asked="selected")
    ... def update(*, selected=True):
    ...     return selected
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     update(asked=False), str(caught[0].message)
    (False, "update: 'asked' is called 'selected' now; the next version removes the old name")
    """

    def decorate(method: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        @functools.wraps(method)
        def call(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Answer:
            old_names = keywords.keys() & new_names.keys() if keywords else ()  # the search costs a fifth of an update
            for old in old_names:
                renaming = f"{old!r} is called {new_names[old]!r} now; the next version removes the old name"
                if new_names[old] in keywords:
                    raise TypeError(f"{method.__name__}: {renaming}, and only one of them can be given")
                warnings.warn(f"{method.__name__}: {renaming}", DeprecationWarning, stacklevel=2)
                keywords[new_names[old]] = keywords.pop(old)
            return method(*arguments, **keywords)

        return call

    return decorate


class ArmNames:
    """Different names, in order; a name's *slot* is its number in that order.

    Parameters
    ----------
    names
        One or more hashable names.
    unused
        The first number that may name a new arm; lower ones may have named arms that were removed.

    Examples
    --------
    >>> arms = ArmNames(["red", "green"])
    >>> arms.slot("green")
    1
    >>> arms.slot("gren")
    Traceback (most recent call last):
        ...
    ValueError: Agent: arm must be one of ['red', 'green'], got 'gren'; did you mean 'green'?
    """

    def __init__(self, names: Iterable[Any], unused: int = 0) -> None:
        self.labels = [_plain(name) for name in list(names)]  # a list of 1e12 numbers fails at once, a loop does not
        try:
            self._slots = {label: slot for slot, label in enumerate(self.labels)}
        except TypeError:
            raise TypeError(f"Agent: names of arms must be hashable, got {brief(self.labels)}") from None
        if not self.labels:
            raise ValueError("Agent: arms must be one name or more, got none")
        for slot, label in enumerate(self.labels):
            if self._slots[label] != slot:
                raise ValueError(f"Agent: arms must have different names, got {label!r} twice")
        self.unused: int = max([unused, *(label + 1 for label in self.labels if type(label) is int)])

    def slot(self, arm: Any) -> int:
        """Return the slot of an arm, which must be one of the names."""
        try:
            slot = self._slots[arm]
        except (KeyError, TypeError):  # TypeError: not hashable
            if isinstance(arm, np.generic):
                return self.slot(arm.item())
        else:
            label = self.labels[slot]
            if type(arm) is type(label):
                return slot
            # 1.0 and True are found where 1 is, but do not name that arm.
            arm = _plain(arm)
            if isinstance(arm, type(label)) and not isinstance(arm, bool):
                return slot
        if self.labels == list(range(len(self.labels))):
            raise ValueError(f"Agent: arm must be a whole number from 0 to {len(self.labels) - 1}, got {brief(arm)}")
        near = difflib.get_close_matches(str(arm), map(str, self.labels[:1000]), n=1)  # more would take too long
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"Agent: arm must be one of {brief(self.labels)}, got {brief(arm)}{hint}")


def listed(name: str, values: Any) -> list[Any]:
    """Return the values as a list; a string is not taken for a list of letters.

    Examples
    --------
    >>> listed("among", np.arange(3))
    [0, 1, 2]
    >>> listed("among", "red")
    Traceback (most recent call last):
        ...
    TypeError: Agent: among must be a list, got 'red'
    """
    try:
        if not isinstance(values, str | bytes):
            return list(values.tolist() if isinstance(values, np.ndarray) else values)
    except TypeError:  # not iterable
        pass
    raise TypeError(f"Agent: {name} must be a list, got {brief(values)}")


def _plain(name: Any) -> Any:
    """Return the name in a type of Python's own, if it has one of NumPy's."""
    return name.item() if isinstance(name, np.generic) else name


class FeatureRows(NamedTuple):
    """Rows of features with their names."""

    features: FloatArray  # (K, d), contiguous
    names: Sequence[Hashable]
    columns: Sequence[Hashable]


def rows_of(features: Any, n_features: int) -> FeatureRows:
    """Return the rows of an array, a mapping of names to vectors or a data frame, without looking at their values.

    Examples
    --------
    >>> rows_of({"red": [1, 0], "green": [0, 1]}, n_features=2).names
    ['red', 'green']
    """
    columns: Sequence[Hashable] = range(n_features)
    names: Sequence[Hashable] | None = None
    values = features
    if type(features) is not np.ndarray:
        if isinstance(features, Mapping):
            names, values = list(features), list(features.values())
        elif hasattr(features, "columns"):
            names, columns, values = list(features.index), list(features.columns), features.to_numpy()
            if not features.index.is_unique:
                raise ValueError(f"LinearAgent: features must have an index without repeated names, got {brief(names)}")
    try:
        table = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"LinearAgent: features must be rows of {n_features} numbers, got {brief(features)}") from None
    if table.ndim != 2 or table.shape[1] != n_features or not len(table):
        raise ValueError(f"LinearAgent: features must be at least one row of {n_features} numbers, "
                         f"got an array of shape {table.shape}")  # fmt: skip
    return FeatureRows(table, range(len(table)) if names is None else names, columns)


def row_of(x: Any, n_features: int) -> FloatArray:
    """Return one row as an array, finite or not; refuse anything else.

    Examples
    --------
    >>> row_of([1, 2], n_features=2)
    array([1., 2.])
    """
    try:
        row = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"LinearAgent: x must be a row of {n_features} numbers, got {brief(x)}") from None
    if row.shape != (n_features,):
        raise ValueError(f"LinearAgent: x must be a row of {n_features} numbers, got an array of shape {row.shape}")
    return row


def are_usable(features: FloatArray) -> bool:
    """Return whether all features are numbers, and none is too large."""
    return bool((np.abs(features) <= LARGEST_FEATURE).all())


def culprit_of(row: FloatArray) -> ValueError:
    """Return the error that names the first feature of a row that is refused."""
    at = int(np.argmin(np.abs(row) <= LARGEST_FEATURE))
    return ValueError(f"LinearAgent: x must be {ALLOWED_FEATURES}, got {row[at]} in feature {at}")


def culprit(rows: FeatureRows) -> ValueError:
    """Return the error that names the first feature that is refused, and its row."""
    row, column = np.argwhere(~(np.abs(rows.features) <= LARGEST_FEATURE))[0]
    value, name, feature = rows.features[row, column], rows.names[row], rows.columns[column]
    return ValueError(
        f"LinearAgent: features must be {ALLOWED_FEATURES}, got {value} in row {name!r}, feature {feature!r}"
    )


def set_key(rng: np.random.Generator, key: bytes) -> None:
    """Set a PCG64 generator so that its next draws depend on this key alone, 32 bytes that look random.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> set_key(rng, bytes(range(32)))
    >>> first = rng.random()
    >>> set_key(rng, bytes(range(32)))
    >>> rng.random() == first
    True
    """
    if len(key) != 32:
        raise ValueError(f"key must be 32 bytes, got {len(key)}")
    start = {"state": int.from_bytes(key[:16]), "inc": int.from_bytes(key[16:]) | 1}  # the increment is odd
    rng.bit_generator.state = {"bit_generator": "PCG64", "state": start, "has_uint32": 0, "uinteger": 0}


def new_ledger(evidence: object, arms: Sequence[Any]) -> Ledger | None:
    """Return what evidence is kept in, or None if none is asked for.

    Examples
    --------
    >>> new_ledger("mode", ["a"])
    Traceback (most recent call last):
        ...
    ValueError: Agent: evidence must be True, False, 'mean' or 'location', got 'mode'
    """
    if evidence is False:
        return None
    if evidence is not True and evidence not in ("mean", "location"):
        raise ValueError(f"Agent: evidence must be True, False, 'mean' or 'location', got {evidence!r}")
    from ..evidence.ledger import Ledger

    names = [str(arm) for arm in arms]
    if len(set(names)) < len(names):
        raise ValueError(f"Agent: arms with evidence must have different names as text, got {names}")
    return Ledger(names, "location" if evidence == "location" else "mean")


def ledger_of(stored: Any) -> Ledger:
    """Return the evidence that an agent's file holds."""
    from ..evidence.ledger import Ledger

    return Ledger.loads(bytes.fromhex(stored))
