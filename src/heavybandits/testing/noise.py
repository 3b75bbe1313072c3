"""Checks that every noise must pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..protocols import FloatArray
from .common import require


def check_noise(noise: Any, *, draws: int = 100_000) -> None:
    """Raise ``AssertionError``, saying what is wrong, unless the noise follows the protocol.

    If the noise can only be sampled, only its draws are checked; if it has ``cdf``, ``quantile``, ``is_symmetric`` and
    ``kl_shift``, they must agree with each other and with the draws.  Discrete laws are fine.

    Examples
    --------
    >>> import heavybandits as hb
    >>> check_noise(hb.Cauchy(scale=2.0))
    """
    name = type(noise).__name__
    require(callable(getattr(noise, "sample", None)), f"{name} must have a method sample(rng, size)")
    sample = noise.sample(np.random.default_rng(1), draws)
    require(
        isinstance(sample, np.ndarray) and sample.shape == (draws,), f"{name}.sample must return an array of this size"
    )
    require(sample.dtype == np.float64, f"{name}.sample must return 64-bit floats, not {sample.dtype}")
    require(not np.isnan(sample).any(), f"{name}.sample must not return NaN")
    again = noise.sample(np.random.default_rng(1), draws)
    require(np.array_equal(sample, again), f"{name}.sample must depend on its generator alone")
    if not hasattr(noise, "cdf"):
        return
    # Just below a value, the distribution function excludes the value's own probability, if it has any.
    values, times = np.unique(sample, return_counts=True)
    shares = np.cumsum(times) / draws
    after, before = np.abs(noise.cdf(values) - shares), np.abs(noise.cdf(_below(values)) - (shares - times / draws))
    distance = max(after.max(), before.max())
    require(distance < 2.2 / math.sqrt(draws), f"{name}.sample must follow its cdf, but they differ by {distance:.4f}")
    grid = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = noise.quantile(grid)
    inverts = np.all(noise.cdf(quantiles) > grid - 1e-7) and np.all(noise.cdf(_below(quantiles)) < grid + 1e-7)
    require(bool(inverts), f"{name}.quantile must invert its cdf")
    mirrored = np.allclose(noise.cdf(quantiles), 1.0 - noise.cdf(_below(-quantiles)), rtol=0.0, atol=1e-7)
    require(
        bool(noise.is_symmetric) == mirrored, f"{name}.is_symmetric must say whether the law is symmetric about zero"
    )
    require(noise.moment_order > 0, f"{name}.moment_order must be positive")
    require(abs(noise.kl_shift(0.0)) < 1e-9, f"{name}.kl_shift(0) must be 0")
    require(noise.kl_shift(1.0) > 0, f"{name}.kl_shift(1) must be positive")


def _below(x: FloatArray) -> FloatArray:
    """Return the next float below each number."""
    return np.nextafter(x, -np.inf)
