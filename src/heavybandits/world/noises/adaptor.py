"""Any law of SciPy as a noise."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._validate import finite
from ..registered import register_noise
from .base import Noise, Size, checked_probability, finite_or_none
from .integrals import Floats

__all__ = ["ScipyNoise"]


@register_noise("scipy")
@dataclass(frozen=True, repr=False, eq=False)
class ScipyNoise(Noise):
    """Any law of ``scipy.stats``; the ``pdf`` of a discrete one is its probability mass.

    Parameters
    ----------
    frozen
        The law with its parameters, such as ``scipy.stats.t(df=3)``.

    Notes
    -----
    ``moment_order`` is read off the decay of the density far out; a tail that is not a power law has all moments.

    Examples
    --------
    >>> import scipy.stats
    >>> noise = ScipyNoise(scipy.stats.t(3, scale=2))
    >>> noise, noise.moment_order
    (ScipyNoise(t(df=3.0, scale=2.0)), 3.0)
    """

    frozen: Any

    def __post_init__(self) -> None:
        import scipy.stats

        laws = scipy.stats.rv_continuous | scipy.stats.rv_discrete
        if not isinstance(getattr(self.frozen, "dist", None), laws):
            rule = "frozen must be a scipy.stats law with its parameters, such as scipy.stats.t(df=3)"
            raise TypeError(f"ScipyNoise: {rule}, got {self.frozen!r}")
        self._parameters()  # they must be numbers

    def _parameters(self) -> dict[str, float]:
        """Return the parameters by name, so that ``t(3)`` and ``t(df=3)`` are one law."""
        names = [*(self.frozen.dist.shapes or "").replace(",", " ").split(), "loc", "scale"]
        given = dict(zip(names, self.frozen.args, strict=False)) | self.frozen.kwds
        values = {name: finite("ScipyNoise", name, given[name]) for name in names if name in given}
        defaults = {"loc": 0.0, "scale": 1.0}
        return {name: value for name, value in values.items() if value != defaults.get(name)}

    @property
    def is_scipys_own(self) -> bool:
        """Whether SciPy defines the law, so that its name and parameters say everything."""
        import scipy.stats

        dist = self.frozen.dist
        own: Any = getattr(scipy.stats, dist.name, None)
        return type(dist) is type(own) and (dist.a, dist.b) == (own.a, own.b)

    def __repr__(self) -> str:
        dist = self.frozen.dist
        parameters = [f"{name}={value!r}" for name, value in self._parameters().items()]
        if not self.is_scipys_own:
            # A user's own law, such as a histogram: its name says little, its quantiles nearly everything.
            quantiles = np.asarray(self.frozen.ppf(np.arange(1, 256) / 256), float)
            parameters.append(f"quantiles={hashlib.sha256(quantiles.tobytes()).hexdigest()[:16]}")
        return f"ScipyNoise({dist.name}({', '.join(parameters)}))"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScipyNoise):
            return NotImplemented
        if self.is_scipys_own and other.is_scipys_own:
            return repr(self) == repr(other)
        return self.frozen is other.frozen  # the code of a user's law may do anything

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def mean(self) -> float | None:
        return finite_or_none(self.frozen.mean())

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        return hasattr(self.frozen.dist, "logpdf")

    @property
    def moment_order(self) -> float:
        return min(self._order(-1.0), self._order(1.0))

    def _order(self, sign: float) -> float:
        """Return the moment order of one tail."""
        for start, step in ((60, 5), (20, 3), (6, 1)):  # as far out as the density allows without underflow
            with np.errstate(all="ignore"):
                heights = self.log_pdf(sign * 10.0 ** np.arange(start, start + 3 * step, step))
            if np.isfinite(heights).all():
                near, far = -np.diff(heights) / (step * math.log(10)) - 1
                return round(float(far), 6) if math.isclose(near, far, rel_tol=1e-2) else math.inf
        return math.inf

    def sample(self, rng: np.random.Generator, size: Size) -> Floats:
        return np.asarray(self.frozen.rvs(size=size, random_state=rng), float)

    def cdf(self, x: ArrayLike) -> Floats:
        return np.asarray(self.frozen.cdf(x), float)

    def quantile(self, u: ArrayLike) -> Floats:
        return np.asarray(self.frozen.ppf(checked_probability(u)), float)

    def log_pdf(self, x: ArrayLike) -> Floats:
        return np.asarray((self.frozen.logpdf if self.has_density else self.frozen.logpmf)(x), float)

    def kl_shift(self, d: float) -> float:
        # A discrete law without ends lives on the integers.
        return math.inf if not self.has_density and finite("ScipyNoise", "d", d) % 1 else super().kl_shift(d)

    def _expect(self, function: Callable[[Floats], Floats], marks: Floats) -> float:
        if not self.has_density:
            return float(self.frozen.expect(function))
        return super()._expect(function, marks)
