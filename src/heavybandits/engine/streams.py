"""Random streams, identified by keys and never by the order in which things happen to run."""

from __future__ import annotations

import functools
import hashlib
import math
from typing import Any

import numpy as np

from ..protocols import FloatArray


def stream_key(seed: int, *names: str) -> tuple[int, ...]:
    """Return the key of the random streams that belong to these names and this seed.

    Examples
    --------
    >>> len(stream_key(7, "an instance")), stream_key(7, "an instance")[0]
    (5, 7)
    """
    digest = hashlib.sha256("\n".join(names).encode()).digest()
    return (seed, *np.frombuffer(digest[:16], "<u4").tolist())


def generator(key: tuple[int, ...], replication: int) -> np.random.Generator:
    """Return the random stream of a replication.

    Examples
    --------
    >>> key = stream_key(7, "an instance")
    >>> generator(key, 0).random() == generator(key, 0).random() != generator(key, 1).random()
    True
    """
    return np.random.Generator(np.random.SFC64(seeds(key, replication)))


def seeds(key: tuple[int, ...], *numbers: int) -> np.random.SeedSequence:
    """Return the seeds that belong to a key and to numbers below 2**32.

    They equal those of ``SeedSequence(key[0], spawn_key=(*key[1:], *numbers))``, which takes three times as long.

    Examples
    --------
    >>> plain = np.random.SeedSequence(7, spawn_key=(8, 9))
    >>> bool((seeds((7, 8), 9).generate_state(4) == plain.generate_state(4)).all())
    True
    """
    return np.random.SeedSequence(np.array([*_words(key), *numbers], np.uint32))


@functools.lru_cache(maxsize=4096)
def _words(key: tuple[int, ...]) -> list[int]:
    """Return a key in words of 32 bits, at least four of them for the seed."""
    seed, *names = key
    return [*(seed >> shift & 0xFFFFFFFF for shift in range(0, max(seed.bit_length(), 128), 32)), *names]


def checked_draws(noise: Any, rng: np.random.Generator, size: int) -> FloatArray:
    """Return ``size`` draws of a noise; refuse anything else that it returns.

    Examples
    --------
    >>> import heavybandits as hb
    >>> checked_draws(hb.Cauchy(), np.random.default_rng(0), 3).shape
    (3,)
    """
    drawn = np.ascontiguousarray(noise.sample(rng, size), dtype=float)
    if drawn.shape != (size,) or math.isnan(drawn.max()):
        raise ValueError(
            f"noise {noise!r}: sample(rng, {size}) must return {size} numbers that are not NaN, got {drawn!r}"
        )
    return drawn
