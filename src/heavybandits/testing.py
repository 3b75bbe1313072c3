"""Checks that every policy and every noise must pass; run them on your own."""

from __future__ import annotations

import math
import random
from numbers import Integral, Number
from typing import Any

import numpy as np

from .algorithms.kit.shown import index_of, value_of
from .algorithms.kit.state import arrays, carried, find_open, with_room
from .engine.compile.compiled import compiled, without_text
from .engine.compile.randomness import uses_rng
from .protocols import FloatArray, IntArray, is_named_tuple

WILD = (math.inf, -math.inf, 1e308, -1e308, 1e17, 0.0, 0.0, -1.0, 1.0, 1e-300)


def check_policy(policy: Any, *, horizon: int = 300) -> None:
    """Raise ``AssertionError``, saying what is wrong, unless the policy keeps to the protocol.

    It is played on one, three and seventy arms, with rewards that include ties and infinities, compiled against
    interpreted, which must choose the same arms and end in the same state.  Then rewards come late, in another order,
    past the horizon and for arms that were never selected, and arms come and go.

    Examples
    --------
    >>> import heavybandits as hb
    >>> check_policy(hb.UCB(), horizon=50)
    """
    name = type(policy).__name__
    _require(is_named_tuple(policy), f"{name} must be a NamedTuple of parameters, got {policy!r}")
    _require(len(policy) > 0, f"{name} must have at least one parameter, or numba cannot compile it")
    _require(
        _is_plain(policy), f"{name} must have parameters that cannot change (numbers, text, tuples), got {policy!r}"
    )
    for method in ("init", "select", "update"):
        _require(callable(getattr(policy, method, None)), f"{name} must have a method {method}")
    streams = _global_streams()
    try:
        with np.errstate(all="ignore"):  # as silent as compiled code
            _check_states(policy, name, horizon)
            played = {n_arms: _check_repetition(policy, name, n_arms, horizon) for n_arms in (1, 3, 70)}
            _check_randomness(policy, name, horizon, played[3][0])
            _check_wild_rewards(policy, name, horizon)
            _check_disorder(policy, name, horizon)
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{name} must not raise {type(error).__name__}: {error}") from error
    _require(_global_streams() == streams, f"{name} must draw random numbers from rng, not from a global generator")
    for n_arms, (arms, state) in played.items():
        _check_compiled(policy, name, n_arms, horizon, arms, state)


def _check_states(policy: Any, name: str, horizon: int) -> None:
    """Check that states have arrays of their own, and show the number of arms in the first axis or not at all."""
    first, second, larger = (policy.init(n_arms, horizon) for n_arms in (3, 3, 4))
    for (path, array), (_, other), (_, grown) in zip(arrays(first), arrays(second), arrays(larger), strict=True):
        _require(
            isinstance(array, np.ndarray), f"{name}: {path} must be an array (a number that changes: of one element)"
        )
        _require(array.dtype.kind in "bif", f"{name}: {path} must hold numbers or truth values, not {array.dtype}")
        _require(array.dtype == grown.dtype, f"{name}: the type of {path} must not depend on the number of arms")
        _require(not np.shares_memory(array, other), f"{name}.init must make a fresh {path} each time")
        _require(_same(array, other), f"{name}.init must make the same {path} each time")
    _check_shapes(name, "state", first, larger)
    try:
        policy.init(3, None)
    except ValueError as error:
        _require(
            "horizon" in str(error), f"{name}.init without a horizon must work, or raise a ValueError that names it"
        )


def _check_shapes(name: str, path: str, three: Any, four: Any) -> None:
    """Check that states for three and four arms differ only in the first axis; those that ``carry`` are exempt."""
    if is_named_tuple(three):
        for field, one, two in zip(three._fields, three, four, strict=True):
            if not hasattr(one, "carry"):
                _check_shapes(name, f"{path}.{field}", one, two)
        return
    if three is None and four is None:  # a part that this policy does without
        return
    rows = (three.shape[:1], four.shape[:1]) == ((3,), (4,)) and three.shape[1:] == four.shape[1:]
    _require(rows or three.shape == four.shape, f"{name}: {path} must have a row per arm, or always the same shape")


def _check_repetition(policy: Any, name: str, n_arms: int, horizon: int) -> tuple[IntArray, Any]:
    """Check that the policy plays the same arms each time; return them with the final state."""
    _interpreted(policy, name, n_arms, 1)
    arms, state = _interpreted(policy, name, n_arms, horizon)
    again, _ = _interpreted(policy, name, n_arms, horizon)
    _require(_same(arms, again), f"{name} must choose the same arms when it is given the same rewards and seed")
    return arms, state


def _check_randomness(policy: Any, name: str, horizon: int, arms: IntArray) -> None:
    """Check that a policy that gets no generator leaves one alone when it is given one."""
    if not uses_rng(policy):
        rng = np.random.default_rng(3)
        given, _ = _interpreted(policy, name, 3, horizon, rng)
        untouched = rng.bit_generator.state == np.random.default_rng(3).bit_generator.state
        _require(
            untouched and _same(arms, given),
            f"{name}.select must not draw random numbers: by its code it never uses its generator, so it gets None",
        )


def _check_compiled(policy: Any, name: str, n_arms: int, horizon: int, arms: IntArray, state: Any) -> None:
    """Check that compiled code plays the same arms and ends in the same state as interpreted code."""
    bare, fresh, rng = without_text(policy), policy.init(n_arms, horizon), _rng(policy)
    rewards, machine = _rewards(horizon), np.full(horizon, -1)
    try:
        play = compiled(_play, bare, fresh, rng, rewards, machine)
    except Exception as error:
        raise AssertionError(f"{name} must compile: {error}") from error
    play(bare, fresh, rng, rewards, machine)
    _require(_same(arms, machine), f"{name} must choose the same arms compiled as interpreted")
    for (path, one), (_, two) in zip(arrays(state), arrays(fresh), strict=True):
        _require(_same(one, two), f"{name}: {path} must come out the same compiled as interpreted, to the last bit")


def _play(policy: Any, state: Any, rng: Any, rewards: FloatArray, arms: IntArray) -> None:
    for t in range(len(rewards)):
        arm = policy.select(state, t, rng)
        policy.update(state, arm, rewards[t])
        arms[t] = arm


def _interpreted(policy: Any, name: str, n_arms: int, horizon: int, rng: Any = None) -> tuple[IntArray, Any]:
    """Return the arms that a fresh policy chooses, and its final state; ``rng`` defaults to what it would get."""
    bare, state, rng = without_text(policy), policy.init(n_arms, horizon), rng or _rng(policy)
    arms = np.full(horizon, -1)
    for t, reward in enumerate(_rewards(horizon).tolist()):
        arms[t] = _selected(bare, name, state, t, rng, n_arms)
        bare.update(state, int(arms[t]), reward)
    return arms, state


def _selected(policy: Any, name: str, state: Any, t: int, rng: Any, n_arms: int) -> int:
    arm = policy.select(state, t, rng)
    is_arm = isinstance(arm, Integral) and not isinstance(arm, bool) and 0 <= int(arm) < n_arms
    _require(is_arm, f"{name}.select must return an arm, a whole number from 0 to {n_arms - 1}, got {arm!r}")
    return int(arm)


def _check_wild_rewards(policy: Any, name: str, horizon: int) -> None:
    """Check that infinite and huge rewards leave no NaN where tame ones leave a number."""
    tame = np.random.default_rng(5).standard_normal((max(3 * len(WILD), horizon // 3), 3))
    wild = tame.copy()
    wild[: 2 * len(WILD)] = np.random.default_rng(6).permuted(np.tile(WILD, (3, 2)), axis=1).T
    tame_seen, wild_seen = (_numbers_after(policy, table) for table in (tame, wild))
    for path, array in wild_seen.items():
        new = np.isnan(array) & ~np.isnan(tame_seen[path])
        _require(not new.any(), f"{name}: {path} must not be NaN after infinite rewards")


def _numbers_after(policy: Any, table: FloatArray) -> dict[str, FloatArray]:
    """Return all that a policy shows once each arm has had a column of rewards."""
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
    """Check pending selections, rewards nobody asked for, a horizon that passes, and arms that come and go."""
    n_arms = 4
    bare, state, rng = without_text(policy), policy.init(n_arms, horizon), _rng(policy)
    t = 0

    def learn(arm: int, reward: float) -> None:
        nonlocal state, t
        state = with_room(state)
        bare.update(state, arm, reward)
        t += 1

    rewards = iter(_rewards(6 * horizon).tolist())
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
            _require(arm in (1, 2), f"{name}.select must keep to the open arms 1 and 2, got {arm}")
            restrict(None)
        kept = np.array([0, 2, 3]) if stage == 0 else np.arange(n_arms)
        size = len(kept) + 2 * stage
        state = carried(state, policy.init(n_arms, horizon), policy.init(size, horizon), kept)
        n_arms = size


def _rewards(n: int) -> FloatArray:
    """Return rewards: zeros, so that all arms tie, then heavy tails, some of them wild."""
    rng = np.random.default_rng(7)
    rewards = rng.standard_cauchy(n)
    wild = rng.random(n) < 0.1
    rewards[wild] = rng.choice(WILD, int(wild.sum()))
    rewards[: n // 10] = 0.0
    return rewards


def _rng(policy: Any) -> np.random.Generator | None:
    return np.random.default_rng(3) if uses_rng(policy) else None


def _global_streams() -> tuple[object, ...]:
    state: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), state[1].tobytes(), *state[2:]


def _is_plain(value: object) -> bool:
    """Return whether the value cannot change."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else value is None or isinstance(value, Number | str)


def _same(one: FloatArray | IntArray, two: FloatArray | IntArray) -> bool:
    return bool(np.array_equal(one, two, equal_nan=True))


def check_noise(noise: Any, *, draws: int = 100_000) -> None:
    """Raise ``AssertionError``, saying what is wrong, unless the noise keeps to the protocol.

    A noise that can only be sampled is checked for that; one that has ``cdf``, ``quantile``, ``is_symmetric`` and
    ``kl_shift`` is checked for their agreement with each other and with its draws.  Discrete laws are welcome.

    Examples
    --------
    >>> import heavybandits as hb
    >>> check_noise(hb.Cauchy(scale=2.0))
    """
    name = type(noise).__name__
    _require(callable(getattr(noise, "sample", None)), f"{name} must have a method sample(rng, size)")
    sample = noise.sample(np.random.default_rng(1), draws)
    _require(
        isinstance(sample, np.ndarray) and sample.shape == (draws,), f"{name}.sample must return an array of its size"
    )
    _require(sample.dtype == np.float64, f"{name}.sample must return 64-bit floats, not {sample.dtype}")
    _require(not np.isnan(sample).any(), f"{name}.sample must not return NaN")
    again = noise.sample(np.random.default_rng(1), draws)
    _require(np.array_equal(sample, again), f"{name}.sample must depend on its generator alone")
    if not hasattr(noise, "cdf"):
        return
    # Just below a value the distribution function leaves out the value's own probability, if it has any.
    values, times = np.unique(sample, return_counts=True)
    shares = np.cumsum(times) / draws
    after, before = np.abs(noise.cdf(values) - shares), np.abs(noise.cdf(_below(values)) - (shares - times / draws))
    distance = max(after.max(), before.max())
    _require(distance < 2.2 / math.sqrt(draws), f"{name}.sample must follow its cdf, but they differ by {distance:.4f}")
    grid = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = noise.quantile(grid)
    inverts = np.all(noise.cdf(quantiles) > grid - 1e-7) and np.all(noise.cdf(_below(quantiles)) < grid + 1e-7)
    _require(bool(inverts), f"{name}.quantile must invert its cdf")
    mirrored = np.allclose(noise.cdf(quantiles), 1.0 - noise.cdf(_below(-quantiles)), rtol=0.0, atol=1e-7)
    _require(
        bool(noise.is_symmetric) == mirrored, f"{name}.is_symmetric must say whether the law is symmetric about zero"
    )
    _require(noise.moment_order > 0, f"{name}.moment_order must be positive")
    _require(abs(noise.kl_shift(0.0)) < 1e-9, f"{name}.kl_shift(0) must be 0")
    _require(noise.kl_shift(1.0) > 0, f"{name}.kl_shift(1) must be positive")


def _below(x: FloatArray) -> FloatArray:
    """Return the next floats below."""
    return np.nextafter(x, -np.inf)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)
