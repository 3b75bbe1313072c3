"""What the checks of all kinds share: rewards to play with, and ways to say what is wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from numbers import Integral, Number
from typing import Any

import numpy as np

from ..algorithms.parts.state.tree import arrays
from ..jit.compiled import compiled, without_text
from ..protocols import DECLARE, FloatArray, IntArray, is_randomised

Played = tuple[IntArray, Any]  # choices, and the final state

WILD = (math.inf, -math.inf, 1e308, -1e308, 1e17, 0.0, 0.0, -1.0, 1.0, 1e-300)


def some_rewards(n: int) -> FloatArray:
    """Return rewards: zeros, so that all arms tie, then heavy tails, some of them wild."""
    rng = np.random.default_rng(7)
    rewards = rng.standard_cauchy(n)
    wild = rng.random(n) < 0.1
    rewards[wild] = rng.choice(WILD, int(wild.sum()))
    rewards[: n // 10] = 0.0
    return rewards


def rng_for(policy: Any) -> np.random.Generator | None:
    return np.random.default_rng(3) if is_randomised(policy) else None


def global_streams() -> tuple[object, ...]:
    state: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), state[1].tobytes(), *state[2:]


def is_plain(value: object) -> bool:
    """Return whether the value cannot change."""
    return all(map(is_plain, value)) if isinstance(value, tuple) else value is None or isinstance(value, Number | str)


def same(one: FloatArray | IntArray, two: FloatArray | IntArray) -> bool:
    return bool(np.array_equal(one, two, equal_nan=True))


def require(holds: bool, message: str) -> None:
    """Raise an error with this message unless something holds."""
    if not holds:
        raise AssertionError(message)


def check_arrays(policy: Any, name: str, first: Any, second: Any) -> None:
    """Check that two fresh states are equal but share no arrays, and what ``init`` does without a horizon."""
    for (path, array), (_, other) in zip(arrays(first), arrays(second), strict=True):
        require(isinstance(array, np.ndarray), f"{name}: {path} must be an array (of one element, for a number)")
        require(array.dtype.kind in "bif", f"{name}: {path} must hold numbers or booleans, not {array.dtype}")
        require(not np.shares_memory(array, other), f"{name}.init must make a fresh {path} each time")
        require(same(array, other), f"{name}.init must make the same {path} each time")
    try:
        policy.init(4, None)
    except ValueError as error:
        require(
            "horizon" in str(error), f"{name}.init without a horizon must work, or raise a ValueError that names it"
        )


def is_number(chosen: Any, n: int) -> bool:
    """Return whether a policy has chosen a whole number from 0 to n - 1."""
    return isinstance(chosen, Integral) and not isinstance(chosen, bool) and 0 <= int(chosen) < n


def check_repetition(name: str, noun: str, play: Callable[[int], Played], horizon: int) -> Played:
    """Check that a policy chooses the same each time it plays; return its choices with its final state."""
    play(1)
    chosen, state = play(horizon)
    again, _ = play(horizon)
    require(same(chosen, again), f"{name} must choose the same {noun} when it is given the same rewards and seed")
    return chosen, state


def check_randomness(policy: Any, name: str, chosen: IntArray, play: Callable[[Any], IntArray]) -> None:
    """Check that a policy that gets no generator does not use one when it is given one, and chooses the same."""
    if not is_randomised(policy):
        rng = np.random.default_rng(3)
        given = play(rng)
        untouched = rng.bit_generator.state == np.random.default_rng(3).bit_generator.state
        require(
            untouched and same(chosen, given),
            f"{name}.select must not draw random numbers: {DECLARE}",
        )


def check_compiled(
    policy: Any, name: str, noun: str, play: Callable[..., None], played: Played, fresh: Any, *lent: Any
) -> None:
    """Check that compiled code makes the same choices and ends in the same state as interpreted code did.

    ``play(policy, state, rng, *lent, rewards, chosen)`` is compiled, and plays from the ``fresh`` state on.
    """
    chosen, state = played
    machine = np.full(len(chosen), -1)
    arguments = (without_text(policy), fresh, rng_for(policy), *lent, some_rewards(len(chosen)), machine)
    try:
        fast = compiled(play, *arguments)
    except Exception as error:
        raise AssertionError(f"{name} must compile: {error}") from error
    fast(*arguments)
    require(same(chosen, machine), f"{name} must choose the same {noun} compiled and interpreted")
    for (path, one), (_, two) in zip(arrays(state), arrays(fresh), strict=True):
        require(same(one, two), f"{name}: {path} must come out the same compiled and interpreted, to the last bit")


def play_numbers(policy: Any, state: Any, rng: Any, rewards: FloatArray, chosen: IntArray) -> None:
    """Play a policy that chooses arms or cells by number."""
    for t in range(len(rewards)):
        number = policy.select(state, t, rng)
        policy.update(state, number, rewards[t])
        chosen[t] = number


def machine_code_check(
    policy: Any, name: str, noun: str, played: dict[int, Played], horizon: int
) -> Callable[[], None]:  # fmt: skip
    """Return a function that compares compiled code with what was played, by the number of arms or of axes."""

    def check() -> None:
        for size, known in played.items():
            check_compiled(policy, name, noun, play_numbers, known, policy.init(size, horizon))

    return check
