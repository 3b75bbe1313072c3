"""Instances from the literature, by name."""

from collections.abc import Callable, Sequence

import numpy as np

from .._validate import non_negative
from ..protocols import Sampler
from .instances import Instance
from .noises import Cauchy, Gaussian


def env1(noise: Sampler | Sequence[Sampler]) -> Instance:
    """Return ten arms at 0, 1, ..., 9.

    Examples
    --------
    >>> env1(Cauchy()).means
    array([0., 1., 2., 3., 4., 5., 6., 7., 8., 9.])
    """
    return Instance(np.arange(10), noise)


def env2(noise: Sampler | Sequence[Sampler]) -> Instance:
    """Return ten arms at 0, 0.1, ..., 0.9.

    Examples
    --------
    >>> env2(Cauchy()).means
    array([0. , 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    """
    return Instance(np.arange(10) / 10, noise)


def env3(noise: Sampler | Sequence[Sampler]) -> Instance:
    """Return a hundred arms at 0, 0.02, ..., 1.98.

    Examples
    --------
    >>> env3(Cauchy()).means[[0, 1, 99]]
    array([0.  , 0.02, 1.98])
    """
    return Instance(np.arange(100) / 50, noise)


def gaussian_env1() -> Instance:
    """Return ten arms at 0, 0.1, ..., 0.9 with standard Gaussian noise.

    Examples
    --------
    >>> gaussian_env1().noise
    Gaussian(scale=1.0)
    """
    return env2(Gaussian())


def gaussian_env2() -> Instance:
    """Return ten arms at 0, 0.02, ..., 0.18 with standard Gaussian noise.

    Examples
    --------
    >>> gaussian_env2().means[[0, 1, 9]]
    array([0.  , 0.02, 0.18])
    """
    return Instance(np.arange(10) / 50, Gaussian())


def gaussian_env3() -> Instance:
    """Return a hundred arms at 0, 0.02, ..., 1.98 with standard Gaussian noise.

    Examples
    --------
    >>> gaussian_env3().n_arms
    100
    """
    return env3(Gaussian())


def delta_gaussian(delta: float) -> Instance:
    """Return two arms at 0 and ``delta`` with standard Gaussian noise.

    Examples
    --------
    >>> delta_gaussian(0.5).gaps
    array([0.5, 0. ])
    """
    return Instance([0.0, non_negative("delta_gaussian", "delta", delta)], Gaussian())


def delta_cauchy(delta: float) -> Instance:
    """Return four arms at 0 and one at ``delta`` with standard Cauchy noise.

    Examples
    --------
    >>> delta_cauchy(2).gaps
    array([2., 2., 2., 2., 0.])
    """
    return Instance([0.0] * 4 + [non_negative("delta_cauchy", "delta", delta)], Cauchy())


def instances() -> dict[str, Callable[..., Instance]]:
    """Return the functions that make instances from the literature, by name.

    Examples
    --------
    >>> instances()["delta-cauchy"](2) == delta_cauchy(2)
    True
    """
    makers: list[Callable[..., Instance]] = [
        env1, env2, env3, gaussian_env1, gaussian_env2, gaussian_env3, delta_gaussian, delta_cauchy,
    ]  # fmt: skip
    return {make.__name__.replace("_", "-"): make for make in makers}
