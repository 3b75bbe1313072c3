"""What a simulation gives back: labelled arrays, a summary, a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._format import html_table, number
from .._validate import unknown
from ..palette import look
from ..protocols import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Shown(Protocol):
    """What results tell of an instance, of whatever kind, played just now or read from a store."""

    @property
    def means(self) -> FloatArray:
        """Locations of the arms."""
        ...

    @property
    def gaps(self) -> FloatArray:
        """How far each lies below the best."""
        ...

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        ...

    def lai_robbins(self, horizon: int) -> float | None:
        """Return the regret that no policy can beat as the horizon grows; None if it is not known."""
        ...


@dataclass(frozen=True)
class StoredInstance:
    """What a stored result tells of its instance: all but the noise itself, which may be a user's code.

    Attributes
    ----------
    means, gaps
        Locations of the arms, and how far each lies below the best.
    noise
        The law of the noise, in words.
    horizon, limit
        A horizon, and the Lai-Robbins limit there; None if it is not known.
    """

    means: FloatArray
    gaps: FloatArray
    noise: str
    horizon: int
    limit: float | None

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.means.size

    def lai_robbins(self, horizon: int) -> float | None:
        """Return the regret that no policy can beat as the horizon grows; see :meth:`Instance.lai_robbins`.

        Examples
        --------
        >>> StoredInstance(np.zeros(2), np.zeros(2), "Cauchy", horizon=10, limit=3.0).lai_robbins(100)
        6.0
        """
        if self.limit is None or horizon == self.horizon:
            return self.limit
        return self.limit * math.log(horizon) / math.log(self.horizon)


def noise_of(instance: Any) -> str:
    """Return the law of an instance's noise, in words."""
    if isinstance(instance, StoredInstance):
        return instance.noise
    return repr(instance.noises[0]) if instance.shared_noise else "noises that differ between arms"


# Even replications choose the best policy of a family, odd ones judge it.
CHOOSING, JUDGING = slice(0, None, 2), slice(1, None, 2)


class Result:
    """Regret and pulls of every policy and replication.

    Attributes
    ----------
    instance, horizon, seed
        What was played; of a result read from a store, the instance is a :class:`StoredInstance`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    Result(UCB; 5 replications of 100 pulls, seed 0)
    """

    def __init__(
        self, instance: Shown, labels: tuple[str, ...], rounds: IntArray,
        regret: FloatArray, pulls: IntArray, duration: FloatArray, *, horizon: int, seed: int,
        coordinates: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.instance, self.horizon, self.seed = instance, horizon, seed
        self._coordinates = coordinates  # arrays along the policies, and single values
        self._labels, self._rounds = labels, rounds
        self._regret, self._pulls, self._duration = regret, pulls, duration

    @cached_property
    def regret(self) -> xr.DataArray:
        """Cumulative pseudo-regret at checkpoints: (policy, replication, round)."""
        return self._labelled(self._regret, "regret", round=self._rounds)

    @cached_property
    def pulls(self) -> xr.DataArray:
        """How often each arm was pulled: (policy, replication, arm)."""
        return self._labelled(self._pulls, "pulls", arm=np.arange(self.instance.n_arms))

    @cached_property
    def wall_time(self) -> xr.DataArray:
        """Nanoseconds per pull, noise not included: (policy, replication)."""
        return self._labelled(self._duration, "ns per pull")

    def _labelled(self, values: Any, name: str, **last: Any) -> xr.DataArray:
        import xarray as xr

        axes = {"policy": list(self._labels), "replication": np.arange(self._regret.shape[1]), **last}
        more = {key: ("policy", value) if np.ndim(value) else value for key, value in self._coordinates.items()}
        return xr.DataArray(values, {**axes, **more}, list(axes), name)

    def to_xarray(self) -> xr.Dataset:
        """Return regret, pulls and wall time as one dataset.

        Policies of a study have the parameters that were swept as coordinates, such as ``policy_c``, and the name in
        the study file as ``family``; the parameters of the instance are single values, such as ``instance_df``.

        Examples
        --------
        >>> import heavybandits as hb
        >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
        >>> list(result.to_xarray())
        ['regret', 'pulls', 'wall_time']
        """
        import xarray as xr

        arrays = {"regret": self.regret, "pulls": self.pulls, "wall_time": self.wall_time}
        return xr.Dataset(arrays, attrs={"horizon": self.horizon, "seed": self.seed})

    def at(self, replications: slice | IntArray) -> Result:
        """Return the result of some replications only.

        Examples
        --------
        >>> import heavybandits as hb
        >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
        >>> result.at(slice(1, None, 2))
        Result(UCB; 2 replications of 100 pulls, seed 0)
        """
        return Result(
            self.instance, self._labels, self._rounds, self._regret[:, replications], self._pulls[:, replications],
            self._duration[:, replications], horizon=self.horizon, seed=self.seed, coordinates=self._coordinates,
        )  # fmt: skip

    @property
    def failed(self) -> Any:
        """Replications that end in linear regret: (policy, replication).

        A replication fails if in the last tenth of the horizon a pull loses more than a fifth of what choosing arms at
        random loses, and more than twice what the Lai-Robbins limit still adds there.  It then has settled on a bad
        arm.  One that loses less is either close to the best arm or still exploring, as the best policies would.
        """
        last = self._rounds >= self.horizon - self.horizon // 10
        first = int(np.argmax(last))
        pulls = self._rounds[-1] - self._rounds[first]
        if pulls == 0:
            return np.zeros(self._regret.shape[:2], bool)
        lost = (self._regret[:, :, -1] - self._regret[:, :, first]) / pulls
        still_exploring = self.lai_robbins_slope * math.log(self._rounds[-1] / self._rounds[first]) / pulls
        limits = (0.2 * float(np.mean(self.instance.gaps)), 2.0 * still_exploring)
        return lost > np.nanmax(limits)

    @cached_property
    def lai_robbins(self) -> float:
        """The regret that no policy can beat as the horizon grows, at this horizon; NaN if it is not known."""
        limit = self.instance.lai_robbins(self.horizon)
        return math.nan if limit is None else limit

    @property
    def lai_robbins_slope(self) -> float:
        """What a unit of ln(t) adds to that limit; NaN if it says nothing, being unknown or zero."""
        return self.lai_robbins / math.log(self.horizon) if self.horizon > 1 and self.lai_robbins > 0 else math.nan

    def summary(self) -> pd.DataFrame:
        """One row per policy.

        ``mean``, its standard error ``se``, ``std``, ``median``, ``q10``, ``q90`` (quantiles) and ``worst`` are of the
        regret at the horizon over the replications; ``failures`` is the share of replications that failed (see
        :attr:`failed`).  ``above best`` is how much higher the mean is than that of the policy with the lowest, between
        ``above best low`` and ``above best high`` with 95% confidence: a bootstrap over replications, in each of which
        all policies met the same noise.  ``ns per pull`` is the median cost of a pull, noise not included; ``ratio to
        Lai-Robbins`` is the mean divided by the regret that no policy can beat as the horizon grows.  That limit is
        asymptotic: a good policy may be below it for long.

        Examples
        --------
        >>> import heavybandits as hb
        >>> instance = hb.Instance(means=[0, 1], noise=hb.Gaussian())
        >>> result = hb.simulate(instance, {"UCB": hb.UCB()}, horizon=100, replications=5)
        >>> result.summary().loc["UCB"].index.tolist()
        ['mean', 'se', 'std', 'median', 'q10', 'q90', 'worst', 'failures', 'above best', 'above best low',
         'above best high', 'ns per pull', 'ratio to Lai-Robbins']
        """
        import pandas as pd

        final = self._regret[:, :, -1]
        limit = self.lai_robbins
        mean = final.mean(axis=1)
        std = final.std(axis=1, ddof=1) if final.shape[1] > 1 else np.full(len(final), math.nan)
        low, high = _bootstrap_interval(final - final[mean.argmin()])
        columns = {
            "mean": mean,
            "se": std / math.sqrt(final.shape[1]),
            "std": std,
            "median": np.median(final, axis=1),
            "q10": np.quantile(final, 0.1, axis=1),
            "q90": np.quantile(final, 0.9, axis=1),
            "worst": final.max(axis=1),
            "failures": self.failed.mean(axis=1),
            "above best": mean - mean.min(),
            "above best low": low,
            "above best high": high,
            "ns per pull": np.median(self._duration, axis=1),
            "ratio to Lai-Robbins": mean / limit if limit > 0 else np.full(len(final), math.nan),
        }
        return pd.DataFrame(columns, index=pd.Index(self._labels, name="policy"))

    def plot(
        self, ax: Axes | None = None, policies: Sequence[str] | None = None, band: Sequence[str] | None = None,
        scale: str = "linear",
    ) -> Figure:  # fmt: skip
        """Draw mean regret over rounds, each policy's name at the right end of its line.

        Parameters
        ----------
        ax
            The axis to draw into; by default that of a new figure.
        policies
            Labels of the policies to draw; by default all.
        band
            Labels of the policies that get a band from the 10% to the 90% quantile; by default the two best.
        scale
            ``"linear"``, or ``"log"`` for two logarithmic axes.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, to be changed or saved.  The Lai-Robbins line is part of it where it lies below all curves.

        Examples
        --------
        >>> import heavybandits as hb
        >>> policies = {"UCB": hb.UCB(), "KL-UCB": hb.KLUCB()}
        >>> result = hb.simulate(hb.gaussian_env1(), policies, horizon=100, replications=5)
        >>> figure = result.plot(policies=["UCB"], band=[])
        >>> figure.axes[0].get_ylabel()
        'mean regret'
        """
        from .plot import Picture, plot_regret

        if scale not in ("linear", "log"):
            raise ValueError(f"plot: scale must be 'linear' or 'log', got {scale!r}")
        drawn = self._known("policies", self._labels if policies is None else policies)
        if not drawn:
            raise ValueError(f"plot: policies must name at least one policy, got {policies!r}")
        final = dict(zip(self._labels, self._regret[:, :, -1].mean(axis=1), strict=True))
        banded = sorted(drawn, key=final.__getitem__)[:2] if band is None else self._known("band", band)
        if ax is None:
            ax = Picture(figsize=(7, 4.2), layout="constrained").subplots()
        regret = {label: self._regret[self._labels.index(label)] for label in drawn}
        plot_regret(ax, self._rounds, regret, banded, limit=self.lai_robbins_slope, scale=scale)
        ax.set(xlabel="pulls", ylabel="mean regret")
        figure = ax.get_figure(root=True)
        assert figure is not None  # of an axis that can be drawn into
        return figure

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        summary, count = self.summary(), self._regret.shape[1]
        rows = [[label, with_error(row["mean"], row["se"]), *(number(row[name]) for name in ("median", "worst")),
                 f"{round(row['failures'] * count)}", number(row["ns per pull"])]
                for label, row in summary.iterrows()]  # fmt: skip
        head = ["policy", "mean ± standard error", "median", "worst", f"failed (of {count})", "cost (ns per pull)"]
        caption = f"Regret after {self.horizon:,} pulls, in units of reward; {count} replications, seed {self.seed}"
        best = int(summary["mean"].to_numpy().argmin())
        return html_table(caption, head, rows, {(best, 1)}, [look(label).colour for label in self._labels])

    def _known(self, argument: str, labels: Sequence[str]) -> list[str]:
        """Return the labels if all are of this result."""
        if isinstance(labels, str):
            raise TypeError(f"plot: {argument} must be a list of labels, got {labels!r}")
        for label in labels:
            if label not in self._labels:
                raise ValueError(f"plot: {unknown('policy', label, self._labels)} ({argument})")
        return list(labels)

    def __repr__(self) -> str:
        replications = self._regret.shape[1]
        return (
            f"Result({', '.join(self._labels)}; {replications} replications of {self.horizon} pulls, seed {self.seed})"
        )


def with_error(mean: float, error: float) -> str:
    return number(mean) if math.isnan(error) else f"{number(mean)} ± {number(error)}"


def _bootstrap_interval(values: FloatArray, resamples: int = 1000) -> FloatArray:
    """Return the ends of 95% intervals for the means of the rows; all rows share the resamples.

    The seed is fixed, so that a stored result always gives the same table.
    """
    n = values.shape[1]
    if n < 2:
        return np.full((2, len(values)), math.nan)
    rng, means = np.random.default_rng(0), []
    block = max(1, 1_000_000 // n)  # resamples at once, so that memory stays small
    for first in range(0, resamples, block):
        size = min(block, resamples - first)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)  # how often each was drawn
        means.append(times @ values.T / n)
    ends: FloatArray = np.quantile(np.concatenate(means), (0.025, 0.975), axis=0)
    return ends
