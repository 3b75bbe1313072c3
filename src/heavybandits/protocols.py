"""What a policy (of each kind), an estimator and a noise are, in types and in words.

A *policy* or an *estimator* is a ``NamedTuple`` of parameters that never changes.  All that changes is its *state*, a
``NamedTuple`` of NumPy arrays, updated in place; a number that changes is an array of length one, or one of the named
numbers that ``parts/state/scalars.py`` puts into one array.  States may nest.  Their arrays are of two kinds, told
apart by their shape: one row per arm (first axis ``n_arms``), or a shape that has nothing to do with the number of
arms.  Whatever needs more care is a part of its own: :class:`Part` lists what a state, or a state nested in it, may
define.

The methods are plain Python that numba can compile: scalars, loops, arrays, :mod:`math`.  The engine and the online
agent compile these very methods; a debugger steps through them when ``NUMBA_DISABLE_JIT=1`` is set.  Only ``init`` is
always plain Python, so text and ``None`` among the parameters may be read there and nowhere else.  Mark module-level
functions that these methods call with :func:`compilable`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
State = TypeVar("State")
AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])
AnyClass = TypeVar("AnyClass", bound=type)

KINDS = ("arms", "linear", "lipschitz")
DECLARE = "a policy whose select draws random numbers says so: @hb.policy(randomised=True)"
COMPILABLE: dict[Callable[..., Any], bool] = {}  # the marked functions, and whether to inline each
COMPILED_AS: dict[Callable[..., Any], Callable[..., Any]] = {}  # those for which another function is compiled


def compilable(function: AnyFunction, inline: bool = True) -> AnyFunction:
    """Mark a module-level function as one that compiled policies and estimators may call.

    It stays an ordinary function; numba, which is slow to import, learns of it when something is first compiled.  It is
    inlined, because passing a state costs more than most functions do; ``inline=False`` keeps a function that is rarely
    called out of line.

    Examples
    --------
    >>> @compilable
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    COMPILABLE[function] = inline
    return function


rarely_called = partial(compilable, inline=False)


def compiled_as(loops: Callable[..., Any]) -> Callable[[AnyFunction], AnyFunction]:
    """Mark a function for plain Python in whose place compiled code calls ``loops``, which is compilable.

    Loops over an array are quick only if compiled, so what takes long as plain Python may have a form for whole arrays.
    Both forms must agree to the last bit: sums are those of ``np.cumsum``, because ``np.sum`` adds in another order,
    and logarithms and exponentials those of ``math``.

    Examples
    --------
    >>> @compilable
    ... def total_in_loops(x):
    ...     total = 0.0
    ...     for value in x:
    ...         total += value
    ...     return total
    >>> @compiled_as(total_in_loops)
    ... def total(x):
    ...     return np.cumsum(x)[-1]
    >>> float(total([0.1] * 10)), total_in_loops([0.1] * 10)
    (0.9999999999999999, 0.9999999999999999)
    """

    def mark(function: AnyFunction) -> AnyFunction:
        COMPILABLE[function], COMPILED_AS[function] = COMPILABLE[loops], loops
        return function

    return mark


def is_named_tuple(value: object) -> bool:
    """Return whether the value is an instance of a ``NamedTuple`` class, as parameters and states are.

    Examples
    --------
    >>> is_named_tuple((1, 2))
    False
    """
    return isinstance(value, tuple) and hasattr(value, "_fields")


def copy_into(target: Any, source: Any) -> None:
    """Copy the arrays of one state into those of another; compiled policies may call it.

    If one array is longer than the other, as when a pool has grown, the rest of it is left alone.

    Examples
    --------
    >>> old, new = np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0])
    >>> copy_into(old, new)
    >>> old
    array([7., 8., 3.])
    """
    if isinstance(target, np.ndarray):
        size = min(target.size, source.size)
        target.flat[:size] = source.flat[:size]
    elif target is not None:
        for one, other in zip(target, source, strict=True):
            copy_into(one, other)


class Part(Protocol):
    """What a state, or a part of it, may define; all of it is optional, and whoever plays the policy looks for it.

    The methods are plain Python that is never compiled, but for ``ask`` and ``settle``.
    """

    open: BoolArray  # per arm: whether it may be chosen now; without it all arms may
    pulls: IntArray  # per arm: rewards
    late: Any  # a `Late`: decisions per arm, if those whose rewards are pending matter
    tournament: Any  # a `Tournament`, which also has the estimates and indices of arms
    draws: Any  # a `Draws`: probabilities of arms
    propensity: FloatArray | None  # per arm: probability in a draw, written if asked: see parts/choice/propensity.py
    inner: Any  # the state of a policy inside that gets one number for several rewards ...
    waiting: FloatArray  # ... which are kept here meanwhile: (arm, number of rewards)
    hides_pending: bool  # whether the policy inside is not told of pending decisions

    def carry(self, fresh: Any, rows: IntArray) -> Any:
        """Return ``fresh``, for another number of arms, with what is known of the arms ``rows`` in its first ones."""
        ...

    def check(self, fresh: Any, n_arms: int) -> None:
        """Refuse numbers that lead out of arrays: compiled code does not check, and agents are loaded from files."""
        ...

    def complete(self) -> None:
        """Work out, in a state from a file of an earlier version, what that version did not keep."""
        ...

    def restrict(self, among: IntArray | None) -> None:
        """Restrict choices to these arms; ``None`` allows all."""
        ...

    def with_rows(self, n_rows: int) -> Any:
        """Return this part of a linear policy's state with room for what it keeps about each of ``n_rows`` rows."""
        ...

    def ask(self, x: FloatArray) -> None:
        """Record that the reward of a row is pending."""
        ...

    def settle(self, x: FloatArray) -> None:
        """Record that the reward of a row is no longer pending; comes after ``update``."""
        ...


class Policy(Protocol[State]):
    """A policy that chooses among K arms.

    ``select`` may change the state, for example to count initial pulls.  ``t`` is the number of rewards seen so far.
    A deterministic policy does not read ``rng`` and gets ``None`` for it.  ``update`` may be called for any arm at any
    time: rewards come late, in any order, or for arms that were never selected.

    An agent shows what two more methods return, which policies of all kinds may have: ``value(state, arm)``, the
    estimate of the arm's location, NaN before there is one, and ``index_of(state, arm, t)``, its index after t rewards,
    infinite before there is one.  ``goal(state)`` says what arms are compared by, if that changes.
    """

    def init(self, n_arms: int, horizon: int | None) -> State:
        """Return a fresh state; ``horizon`` is the planned number of pulls, or ``None``."""
        ...

    def select(self, state: State, t: int, rng: Any) -> int:
        """Return the arm to pull next."""
        ...

    def update(self, state: State, arm: int, reward: float) -> None:
        """Learn from a reward, which is never NaN but may be infinite."""
        ...


class LinearPolicy(Protocol[State]):
    """A policy that chooses among rows of features; rewards are linear in the features.

    ``features`` is an array of K rows of d numbers, all finite; rows may differ in number and content from round to
    round.  It is only lent: a policy that needs it later copies it.  A policy that saves work while rows stay the same
    compares them with its copy, number by number: the same array may come with new content.  What it keeps per row
    belongs in a :class:`Part` with a method ``with_rows``: the simulator calls it once, the agent whenever there are
    more rows than before.

    Rewards come late, in any order, or for rows that were never selected: ``update`` is told the row itself, not its
    number.  Decisions whose rewards are not yet known are recorded by a :class:`Part` with ``ask`` and ``settle``.
    """

    def init(self, n_features: int, horizon: int | None) -> State:
        """Return a fresh state; ``horizon`` is the planned number of rounds, or ``None``."""
        ...

    def select(self, state: State, features: FloatArray, t: int, rng: Any) -> int:
        """Return the number of the row to play after ``t`` rewards; apart from caches it changes no state."""
        ...

    def update(self, state: State, x: FloatArray, reward: float) -> None:
        """Learn from the reward of the row ``x``, which is never NaN but may be infinite."""
        ...


class LipschitzPolicy(Protocol[State]):
    """A policy that chooses points of the cube [0, 1]^dim, where nearby points have similar rewards.

    A policy plays cells, which it numbers as it makes them: 0, 1, 2, ...  A cell always keeps its number and its point.
    """

    def init(self, dim: int, horizon: int | None) -> State:
        """Return a fresh state."""
        ...

    def select(self, state: State, t: int, rng: Any) -> int:
        """Return the number of the cell to play after ``t`` rewards."""
        ...

    def point(self, state: State, cell: int) -> FloatArray:
        """Return the point of the cell that is played, an array of ``dim`` numbers that is only lent."""
        ...

    def n_cells(self, state: State) -> int:
        """Return how many cells there are now; plain Python, like ``point``."""
        ...

    def update(self, state: State, cell: int, reward: float) -> None:
        """Learn from the reward of a cell."""
        ...


def policy(*, kind: str = "arms", randomised: bool | None = None) -> Callable[[AnyClass], AnyClass]:
    """Declare what the policies of a class are; a class that says nothing is for K arms, and draws nothing itself.

    Parameters
    ----------
    kind
        What ``select`` chooses: ``"arms"``, rows of features (``"linear"``) or points (``"lipschitz"``).
    randomised
        Whether ``select`` draws random numbers; only then does it get a generator.  By default it does if a policy
        among its parameters does.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @policy(randomised=True)
    ... class Coin(NamedTuple):
    ...     share: float = 0.5
    >>> is_randomised(Coin()), kind_of(Coin())
    (True, 'arms')
    """
    if kind not in KINDS:
        raise ValueError(f"policy: kind must be one of {', '.join(KINDS)}, got {kind!r}")

    def declared(cls: AnyClass) -> AnyClass:
        cls.kind = kind  # type: ignore[attr-defined]
        if randomised is not None:
            cls.randomised = randomised  # type: ignore[attr-defined]
        return cls

    return declared


def kind_of(policy: Any) -> str:
    """Return the kind that a policy declares: ``"arms"``, which is the default, ``"linear"`` or ``"lipschitz"``.

    Examples
    --------
    >>> import heavybandits as hb
    >>> kind_of(hb.UCB())
    'arms'
    """
    return str(getattr(policy, "kind", "arms"))


def is_randomised(policy: Any) -> bool:
    """Return whether ``select`` draws random numbers, and so gets a generator: as the policy declares.

    A policy that does not say gets a generator if a policy among its parameters does.

    Examples
    --------
    >>> import heavybandits as hb
    >>> is_randomised(hb.UCB()), is_randomised(hb.ThompsonGaussian()), is_randomised(hb.Restarting(hb.UCB()))
    (False, True, False)
    """
    declared = getattr(policy, "randomised", None)
    return bool(declared) if declared is not None else any(is_randomised(p) for p in policy if hasattr(p, "select"))


def require_kind(what: str, kind: str, policy: Any) -> None:
    """Refuse a policy that is not of the kind that an instance or an agent takes.

    Examples
    --------
    >>> import heavybandits as hb
    >>> require_kind("policy", "linear", hb.UCB())
    Traceback (most recent call last):
        ...
    TypeError: policy must be of kind 'linear' here, got one of kind 'arms': UCB(c=1.0)
    """
    found = kind_of(policy)
    if found != kind:
        hint = "" if hasattr(policy, "kind") else f"; a class of kind {kind!r} says so: @hb.policy(kind={kind!r})"
        raise TypeError(f"{what} must be of kind {kind!r} here, got one of kind {found!r}: {policy!r}{hint}")


class Sampler(Protocol):
    """The minimum that a noise must offer to be simulated."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Return ``size`` independent draws."""
        ...
