"""Checks that every policy and every noise must pass; run them on your own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .compile import _bound, compiled, uses_rng, without_text
from .protocols import FloatArray, IntArray
from .state import arrays

WILD = (math.inf, -math.inf, 1e308, -1e308, 1e17, 0.0, 0.0, -1.0, 1.0, 1e-300)


def check_policy(policy: Any, *, horizon: int = 300) -> None:
    """Raise ``AssertionError``, saying what is wrong, unless the policy keeps to the protocol.

    It is played on one, three and seventy arms, with rewards that include infinities and ties; with rewards that come
    late, in another order and for arms that were never selected; past its horizon; and compiled against interpreted,
    which must choose the same arms.

    Examples
    --------
    >>> import heavybandits as hb
    >>> check_policy(hb.UCB(), horizon=50)
    """
    name = type(policy).__name__
    _require(isinstance(policy, tuple) and hasattr(policy, "_fields"), f"{name} must be a NamedTuple of parameters")
    _require(len(policy) > 0, f"{name} must have at least one parameter, or numba cannot compile it")
    for method in ("init", "select", "update"):
        _require(callable(getattr(policy, method, None)), f"{name} must have a method {method}")
    before = repr(policy)
    _check_states(policy, name, horizon)
    for n_arms in (1, 3, 70):
        rewards = _rewards(horizon)
        interpreted = _actions(_bound(_play, type(policy)), policy, n_arms, horizon, rewards)
        _require(
            bool(np.all((interpreted >= 0) & (interpreted < n_arms))), f"{name}.select must return an arm from 0 to K - 1"
        )
        again = _actions(_bound(_play, type(policy)), policy, n_arms, horizon, rewards)
        _require(
            np.array_equal(interpreted, again), f"{name} must choose the same arms when it is given the same rewards and seed"
        )
        machine = _actions(_compiled_play(policy, n_arms, horizon), policy, n_arms, horizon, rewards)
        _require(np.array_equal(interpreted, machine), f"{name} must choose the same arms compiled as interpreted")
    _check_disorder(policy, name, horizon)
    _require(repr(policy) == before, f"{name} must not change its parameters")


def _check_states(policy: Any, name: str, horizon: int) -> None:
    """States are arrays of their own, and the number of arms shows in their first axis only."""
    first, second, larger = (policy.init(n_arms, horizon) for n_arms in (3, 3, 4))
    for (place, array), (_, other), (_, grown) in zip(arrays(first), arrays(second), arrays(larger), strict=True):
        _require(isinstance(array, np.ndarray), f"{name}: {place} must be an array (a number that changes: of one element)")
        _require(not np.shares_memory(array, other), f"{name}.init must make a fresh {place} each time")
        _require(array.dtype == grown.dtype, f"{name}: the type of {place} must not depend on the number of arms")
    try:
        policy.init(3, None)
    except ValueError as error:
        _require("horizon" in str(error), f"{name}.init without a horizon must work, or raise a ValueError that names it")


def _check_disorder(policy: Any, name: str, horizon: int) -> None:
    """Several selections under way, rewards out of order, and rewards that nobody asked for."""
    n_arms = 4
    state, rng = policy.init(n_arms, horizon), np.random.default_rng(0)
    t = 0
    for reward in _rewards(horizon)[: horizon // 4]:
        waiting = [int(policy.select(state, t, rng)) for _ in range(3)]
        _require(all(0 <= arm < n_arms for arm in waiting), f"{name}.select must stay in range before its rewards come")
        for arm in [*reversed(waiting), n_arms - 1]:
            policy.update(state, arm, float(reward))
            t += 1
        if hasattr(policy, "value"):
            values = [policy.value(state, arm) for arm in set(waiting)]
            seen_all = t > 20 * n_arms
            _require(not (seen_all and any(map(math.isnan, values))), f"{name}.value must not be NaN once there are rewards")
    if hasattr(policy, "index_of"):
        heights = [policy.index_of(state, arm, t) for arm in range(n_arms)]
        _require(not any(map(math.isnan, heights)), f"{name}.index_of must never be NaN")


def _rewards(horizon: int) -> FloatArray:
    rng = np.random.default_rng(7)
    rewards = rng.standard_cauchy(horizon)
    wild = rng.random(horizon) < 0.1
    rewards[wild] = rng.choice(WILD, int(wild.sum()))
    return rewards


def _play(policy: Any, state: Any, rng: Any, rewards: FloatArray, actions: IntArray) -> None:
    for t in range(len(rewards)):
        arm = select(policy, state, t, rng)
        update(policy, state, arm, rewards[t] + 0.1 * arm)
        actions[t] = arm


def _compiled_play(policy: Any, n_arms: int, horizon: int) -> Any:
    rng = np.random.default_rng() if uses_rng(policy) else None
    return compiled(_play, without_text(policy), policy.init(n_arms, horizon), rng, np.zeros(1), np.zeros(1, np.int64))


def _actions(play: Any, policy: Any, n_arms: int, horizon: int, rewards: FloatArray) -> IntArray:
    """Arms chosen by a fresh policy."""
    actions = np.full(len(rewards), -1)
    rng = np.random.default_rng(3) if uses_rng(policy) else None
    play(without_text(policy), policy.init(n_arms, horizon), rng, rewards, actions)
    return actions


def check_noise(noise: Any, *, draws: int = 100_000) -> None:
    """Raise ``AssertionError``, saying what is wrong, unless the noise keeps to the protocol.

    A noise that can only be sampled is checked for that; one that has ``cdf``, ``quantile``, ``is_symmetric`` and
    ``kl_shift`` is checked for their agreement with each other and with its draws.

    Examples
    --------
    >>> import heavybandits as hb
    >>> check_noise(hb.Cauchy(scale=2.0))
    """
    name = type(noise).__name__
    sample = noise.sample(np.random.default_rng(1), draws)
    _require(isinstance(sample, np.ndarray) and sample.shape == (draws,), f"{name}.sample must return an array of its size")
    _require(sample.dtype == np.float64, f"{name}.sample must return 64-bit floats, not {sample.dtype}")
    _require(not np.isnan(sample).any(), f"{name}.sample must not return NaN")
    again = noise.sample(np.random.default_rng(1), draws)
    _require(np.array_equal(sample, again), f"{name}.sample must depend on its generator alone")
    if not hasattr(noise, "cdf"):
        return
    ordered = np.sort(sample)
    levels = noise.cdf(ordered)
    steps = np.arange(draws + 1) / draws
    distance = max(np.max(np.abs(levels - steps[1:])), np.max(np.abs(levels - steps[:-1])))
    _require(distance < 2.2 / math.sqrt(draws), f"{name}.sample must follow its cdf, but they differ by {distance:.4f}")
    grid = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = noise.quantile(grid)
    _require(np.allclose(noise.cdf(quantiles), grid, atol=1e-7), f"{name}.quantile must invert its cdf")
    mirrored = np.allclose(quantiles, -quantiles[::-1], atol=1e-7 * (1.0 + np.abs(quantiles).max()))
    _require(bool(noise.is_symmetric) == mirrored, f"{name}.is_symmetric must say whether the law is symmetric about zero")
    _require(noise.moment_order > 0, f"{name}.moment_order must be positive")
    _require(abs(noise.kl_shift(0.0)) < 1e-9, f"{name}.kl_shift(0) must be 0")
    _require(noise.kl_shift(1.0) > 0, f"{name}.kl_shift(1) must be positive")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)
