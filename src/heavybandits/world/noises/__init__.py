r"""What a pull adds to the location of its arm: the laws, their draws and their information.

Each law is a frozen dataclass of its parameters.  ``sample`` is all that a simulation needs; the other
methods serve theory and tests.  A law of one's own needs ``cdf``, ``log_pdf`` and ``moment_order``, and
inherits the rest from :class:`Noise`; one that is only to be simulated needs ``sample`` and no base class.

``repr`` spells a law out completely, because the random streams are keyed by it.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..._validate import unknown
from .adaptor import ScipyNoise
from .base import Noise
from .mixtures import CauchyExponential, CauchyPareto, Mixture
from .skewed import Frechet, LogNormal, Pareto
from .symmetric import Cauchy, Gaussian, Laplace, StudentT, SymmetricStable

__all__ = [
    "Cauchy", "CauchyExponential", "CauchyPareto", "Frechet", "Gaussian", "Laplace", "LogNormal", "Mixture",
    "Noise", "Pareto", "ScipyNoise", "StudentT", "SymmetricStable", "make_noise", "noise_spec",
    "noises",
]  # fmt: skip


def noises() -> dict[str, type[Noise]]:
    """Return the laws by the names they have in study files and on the command line.

    Examples
    --------
    >>> noises()["student-t"]
    <class 'heavybandits.world.noises.symmetric.StudentT'>
    """
    return {
        "cauchy": Cauchy,
        "frechet": Frechet,
        "cauchy-exponential": CauchyExponential,
        "cauchy-pareto": CauchyPareto,
        "gaussian": Gaussian,
        "student-t": StudentT,
        "symmetric-stable": SymmetricStable,
        "pareto": Pareto,
        "log-normal": LogNormal,
        "laplace": Laplace,
        "mixture": Mixture,
        "scipy": ScipyNoise,
    }


def make_noise(kind: str, **parameters: Any) -> Noise:
    """Make a noise from its registered name and its parameters, as a study file gives them.

    Each part of a mixture is a noise, or a mapping of ``kind`` and parameters.  For a ``"scipy"`` noise,
    ``law`` names the law, and all other parameters are that law's.

    Examples
    --------
    >>> make_noise("cauchy", scale=2)
    Cauchy(scale=2.0)
    >>> make_noise("mixture", weights=[0.9, 0.1], noises=[{"kind": "gaussian"}, Cauchy()])
    Mixture(weights=(0.9, 0.1), noises=(Gaussian(scale=1.0), Cauchy(scale=1.0)))
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
    if kind == "mixture":
        parts = parameters["noises"]
        parameters["noises"] = [make_noise(**part) if isinstance(part, Mapping) else part for part in parts]
    return known[kind](**parameters)


def noise_spec(noise: Noise) -> dict[str, Any]:
    """Describe a noise by plain values from which :func:`make_noise` makes it again.

    Examples
    --------
    >>> noise_spec(Mixture([0.9, 0.1], [Gaussian(), Cauchy()]))["noises"]
    [{'kind': 'gaussian', 'scale': 1.0}, {'kind': 'cauchy', 'scale': 1.0}]
    """
    kinds = {cls: kind for kind, cls in noises().items()}
    if type(noise) not in kinds:
        raise ValueError(f"noise must be one of {', '.join(noises())}, got {noise!r}")
    if isinstance(noise, ScipyNoise):
        return {"kind": "scipy", "law": noise.frozen.dist.name, **noise._parameters()}
    values = {field.name: getattr(noise, field.name) for field in fields(noise)}  # type: ignore[arg-type]
    if isinstance(noise, Mixture):
        values["noises"] = [noise_spec(part) for part in noise.noises]
    return {"kind": kinds[type(noise)], **values}


def _make_scipy(law: str = "", **parameters: Any) -> ScipyNoise:
    import scipy.stats

    kinds = scipy.stats.rv_continuous | scipy.stats.rv_discrete
    laws = [name for name, value in vars(scipy.stats).items() if isinstance(value, kinds)]
    if law not in laws:
        raise ValueError(f"scipy: {unknown('law', law, sorted(laws))}")
    try:
        return ScipyNoise(getattr(scipy.stats, law)(**parameters))
    except TypeError as error:
        raise ValueError(f"scipy: {law} cannot be made of {parameters}: {error}") from error
