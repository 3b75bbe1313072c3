"""Generators that are set to a key."""

from __future__ import annotations

import numpy as np


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
