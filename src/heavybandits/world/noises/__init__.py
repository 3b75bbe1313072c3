r"""Laws of rewards: a law is the noise that is added to the location of an arm, or gives the arm's rewards itself.

Each law is a frozen dataclass of its parameters.  A simulation needs only ``sample``; the other methods serve
theory and tests.  A law of your own needs ``cdf``, ``log_pdf`` and ``moment_order``, and inherits the rest from
:class:`Noise`; if you only want to simulate it, it needs ``sample`` and no base class.

``repr`` spells a law out completely, because the random streams are keyed by it.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..._validate import unknown
from ..registered import NOISES
from . import adaptor, counts, empirical, mixtures, skewed, symmetric, transformed
from .adaptor import *  # noqa: F403
from .base import Noise
from .counts import *  # noqa: F403
from .empirical import *  # noqa: F403
from .mixtures import *  # noqa: F403
from .skewed import *  # noqa: F403
from .symmetric import *  # noqa: F403
from .transformed import *  # noqa: F403

__all__ = ["Noise", "make_noise", "noise_spec", "noises"]
__all__ += adaptor.__all__ + counts.__all__ + empirical.__all__ + mixtures.__all__
__all__ += skewed.__all__ + symmetric.__all__ + transformed.__all__


def noises() -> dict[str, type[Noise]]:
    """Return the laws by the names they have in study files and on the command line.

    Examples
    --------
    >>> noises()["student-t"]
    <class 'heavybandits.world.noises.symmetric.StudentT'>
    """
    return dict(sorted(NOISES.items()))


def make_noise(kind: str, **parameters: Any) -> Noise:
    """Make a noise from its registered name and its parameters, as a study file gives them.

    A parameter that is itself a law, or a list of them, may be given as mappings with ``kind`` and parameters.
    For a ``"scipy"`` noise, ``law`` names the law, and all other parameters are that law's.

    Examples
    --------
    >>> make_noise("cauchy", scale=2)
    Cauchy(scale=2.0)
    >>> make_noise("mixture", weights=[0.9, 0.1], noises=[{"kind": "gaussian"}, Cauchy()])
    Mixture(weights=(0.9, 0.1), noises=(Gaussian(scale=1.0), Cauchy(scale=1.0)))
    >>> make_noise("zero-inflated", share=0.1, law={"kind": "log-normal"})
    ZeroInflated(share=0.1, law=LogNormal(sigma=1.0))
    >>> make_noise("scipy", law="t", df=3)
    ScipyNoise(t(df=3.0))
    """
    known = noises()
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(unknown("noise", kind, known))
    if kind == "scipy":
        return _make_scipy(**parameters)
    accepted = {field.name: field for field in fields(known[kind])}  # type: ignore[arg-type]
    for name in parameters:
        if name not in accepted:
            raise ValueError(f"{kind}: {unknown('parameter', name, accepted)}")
    for name, field in accepted.items():
        if field.default is MISSING and name not in parameters:
            raise ValueError(f"{kind}: parameter {name!r} is missing")
    return known[kind](**{name: _made(value) for name, value in parameters.items()})


def _made(value: Any) -> Any:
    """Return a parameter after making the laws in it."""
    if isinstance(value, list | tuple) and any(isinstance(part, Mapping) for part in value):
        return [_made(part) for part in value]
    if isinstance(value, Mapping) and "kind" in value:
        return make_noise(**value)
    return value


def noise_spec(noise: Noise) -> dict[str, Any]:
    """Return plain values from which :func:`make_noise` makes a noise again.

    Examples
    --------
    >>> noise_spec(Mixture([0.9, 0.1], [Gaussian(), Cauchy()]))["noises"]
    [{'kind': 'gaussian', 'scale': 1.0}, {'kind': 'cauchy', 'scale': 1.0}]
    """
    kinds = {cls: kind for kind, cls in noises().items()}
    if type(noise) not in kinds:
        raise ValueError(f"noise must be one of {', '.join(noises())}, got {noise!r}")
    if isinstance(noise, adaptor.ScipyNoise):
        return {"kind": "scipy", "law": noise.frozen.dist.name, **noise._parameters()}
    values = {field.name: getattr(noise, field.name) for field in fields(noise)}  # type: ignore[arg-type]
    return {"kind": kinds[type(noise)], **{name: _plain(value) for name, value in values.items()}}


def _plain(value: Any) -> Any:
    """Return a parameter in plain values."""
    if isinstance(value, Noise):
        return noise_spec(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _make_scipy(law: str = "", **parameters: Any) -> adaptor.ScipyNoise:
    import scipy.stats

    kinds = scipy.stats.rv_continuous | scipy.stats.rv_discrete
    laws = [name for name, value in vars(scipy.stats).items() if isinstance(value, kinds)]
    if law not in laws:
        raise ValueError(f"scipy: {unknown('law', law, sorted(laws))}")
    try:
        return adaptor.ScipyNoise(getattr(scipy.stats, law)(**parameters))
    except TypeError as error:
        raise ValueError(f"scipy: {law} cannot be made with {parameters}: {error}") from error
