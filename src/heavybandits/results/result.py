"""The result of a simulation: labelled arrays, a summary, a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from .._format import html_table, number, plural, text_table
from .._validate import require_extra, unknown, visible
from ..palette import look
from ..protocols import FloatArray, IntArray
from .stored_instance import PlayedInstance
from .summary import summary_of, with_error

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Even replications choose the best policy of a family, odd ones judge it.
CHOOSING, JUDGING = slice(0, None, 2), slice(1, None, 2)


class Chunk(NamedTuple):
    """The outcome of some replications; the first axis is for policies, the second for replications."""

    regret: FloatArray  # at checkpoints
    pulls: IntArray  # per arm
    wall_time: FloatArray  # nanoseconds per pull


class Result:
    """Regret and pulls of every policy and replication.

    Attributes
    ----------
    instance, horizon, seed
        What was played; in a result read from a store, the instance is a :class:`.StoredInstance`.
    rounds
        The checkpoints.

    Examples
    --------
    >>> import heavybandits as hb
    >>> hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    Result(UCB; 5 replications of 100 pulls, seed 0)
    """

    def __init__(
        self, instance: PlayedInstance, *, labels: tuple[str, ...], rounds: IntArray, regret: FloatArray,
        pulls: IntArray, wall_time: FloatArray, horizon: int, seed: int,
        coordinates: Mapping[str, Any] = MappingProxyType({}), named: tuple[IntArray, FloatArray] | None = None,
    ) -> None:  # fmt: skip
        self.instance, self.horizon, self.seed = instance, horizon, seed
        self._coordinates = coordinates  # arrays along the policies, and single values
        self._labels, self.rounds = labels, rounds
        self._regret, self._pulls, self._wall_time, self._named = regret, pulls, wall_time, named

    @property
    def arrays(self) -> Chunk:
        """Regret, pulls and wall time as plain arrays, which need no xarray.

        Examples
        --------
        >>> import heavybandits as hb
        >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
        >>> [array.shape for array in result.arrays]
        [(1, 5, 56), (1, 5, 10), (1, 5)]
        """
        return Chunk(self._regret, self._pulls, self._wall_time)

    @cached_property
    def regret(self) -> xr.DataArray:
        """Cumulative pseudo-regret at checkpoints: (policy, replication, round)."""
        return self._labelled(self._regret, "regret", round=self.rounds)

    @cached_property
    def pulls(self) -> xr.DataArray:
        """How often each arm was pulled: (policy, replication, arm)."""
        return self._labelled(self._pulls, "pulls", arm=np.arange(self.instance.n_arms))

    @cached_property
    def wall_time(self) -> xr.DataArray:
        """Nanoseconds per pull, noise not included: (policy, replication)."""
        return self._labelled(self._wall_time, "ns per pull")

    @cached_property
    def named(self) -> xr.Dataset:
        """Which arm the rewards show to be the best, if the simulation was asked for ``evidence``.

        For each policy and replication: ``arm``, -1 if none was named; ``decisions``, after how many it was, infinite
        if none was; and ``wrong``, whether it is not better than every other arm.  One looks after 50 rewards, and
        again each time that they have grown by 4%.  Rewards are counted up to an amount, so if tails differ, an arm
        that is named by rights may have a lower mean than another.
        """
        if self._named is None:
            raise ValueError("Result: simulate must be called with evidence=True for arms to be named, got False")
        arm, decisions = self._named
        arrays = {"arm": arm, "decisions": decisions, "wrong": self._misnamed()}
        return _dataset({name: self._labelled(values, name) for name, values in arrays.items()})

    def _misnamed(self) -> Any:
        """Return in which replications the arm that was named is not the only best one."""
        assert self._named is not None
        arm, gaps = self._named[0], np.asarray(self.instance.gaps)
        right = int(np.argmin(gaps)) if np.count_nonzero(gaps == gaps.min()) == 1 else -1
        return (arm >= 0) & (arm != right)

    def _labelled(self, values: Any, name: str, **last: Any) -> xr.DataArray:
        require_extra("studies", "xarray")
        import xarray as xr

        axes = {"policy": list(self._labels), "replication": np.arange(self._regret.shape[1]), **last}
        more = {key: ("policy", value) if np.ndim(value) else value for key, value in self._coordinates.items()}
        return xr.DataArray(values, {**axes, **more}, list(axes), name)

    def to_xarray(self) -> xr.Dataset:
        """Return regret, pulls and wall time as one dataset.

        Policies of a study have their swept parameters as coordinates, such as ``policy_c``, and their name in the
        study file as ``family``; swept parameters of the instance are single values, such as ``instance_df``.

        Examples
        --------
        >>> import heavybandits as hb
        >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
        >>> list(result.to_xarray())
        ['regret', 'pulls', 'wall_time']
        """
        arrays = {"regret": self.regret, "pulls": self.pulls, "wall_time": self.wall_time}
        return _dataset(arrays, {"horizon": self.horizon, "seed": self.seed})

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
            self.instance, labels=self._labels, rounds=self.rounds, regret=self._regret[:, replications],
            pulls=self._pulls[:, replications], wall_time=self._wall_time[:, replications], horizon=self.horizon,
            seed=self.seed, coordinates=self._coordinates,
            named=None if self._named is None else (self._named[0][:, replications], self._named[1][:, replications]),
        )  # fmt: skip

    @property
    def failed(self) -> Any:
        """Replications that end in linear regret: (policy, replication).

        A replication fails if, in the last tenth of the horizon, a pull loses more than a fifth of what choosing arms
        at random loses, and also more than twice what the Lai-Robbins limit still adds there or, with linear rewards,
        what a learner that has seen as many random rows still loses.  Such a replication has settled on a bad arm.  One
        that loses less is either close to the best arm or still exploring, as the best policies would.
        """
        last = self.rounds >= self.horizon - self.horizon // 10
        first = int(np.argmax(last))
        pulls = self.rounds[-1] - self.rounds[first]
        if pulls == 0:
            return np.zeros(self._regret.shape[:2], bool)
        lost = (self._regret[:, :, -1] - self._regret[:, :, first]) / pulls
        still_exploring = self.lai_robbins_slope * math.log(self.rounds[-1] / self.rounds[first]) / pulls
        still_learning = self.instance.learning_loss(self.horizon)
        limits = (
            0.2 * float(np.mean(self.instance.gaps)),
            2.0 * still_exploring,
            math.nan if still_learning is None else 2.0 * still_learning,
        )
        return lost > np.nanmax(limits)

    @cached_property
    def lai_robbins(self) -> float:
        """The regret that no policy can beat as the horizon grows, at this horizon; NaN if it is not known."""
        limit = self.instance.lai_robbins(self.horizon)
        return math.nan if limit is None else limit

    @property
    def lai_robbins_slope(self) -> float:
        """What a unit of ln(t) adds to that limit; NaN if the limit is unknown or zero."""
        return self.lai_robbins / math.log(self.horizon) if self.horizon > 1 and self.lai_robbins > 0 else math.nan

    def summary(self) -> pd.DataFrame:
        """Return a table with one row per policy.

        ``mean``, its standard error ``se``, ``std``, ``median``, ``q10``, ``q90`` (quantiles) and ``worst`` describe
        the regret at the horizon over the replications; ``failures`` is the share of replications that failed (see
        :attr:`failed`).  ``above best`` is the difference between the mean and the lowest mean of any policy.  Its 95%
        confidence interval, from ``above best low`` to ``above best high``, comes from a bootstrap over replications,
        in each of which all policies met the same noise.  ``ns per pull`` is the median cost of a pull, noise not
        included; ``ratio to Lai-Robbins`` is the mean divided by the regret that no policy can beat as the horizon
        grows.  That limit is asymptotic: a good policy may stay below it for a long time.

        If the simulation was asked for ``evidence``, ``named`` is the share of replications in which an arm was shown
        to be the best, ``named wrongly`` that of a wrong one, and ``decisions until named`` their median; see
        :attr:`named`.

        Examples
        --------
        >>> import heavybandits as hb
        >>> instance = hb.Instance(means=[0, 1], noise=hb.Gaussian())
        >>> result = hb.simulate(instance, {"UCB": hb.UCB()}, horizon=100, replications=5)
        >>> result.summary().loc["UCB"].index.tolist()
        ['mean', 'se', 'std', 'median', 'q10', 'q90', 'worst', 'failures', 'above best', 'above best low',
         'above best high', 'ns per pull', 'ratio to Lai-Robbins']
        """
        table = summary_of(self._labels, self._regret[:, :, -1], self.failed, self._wall_time, self.lai_robbins)
        if self._named is None:
            return table
        arm, decisions = self._named
        return table.assign(
            **{"named": (arm >= 0).mean(axis=1), "named wrongly": self._misnamed().mean(axis=1),
               "decisions until named": np.median(decisions, axis=1)}
        )  # fmt: skip

    @overload
    def plot(
        self, ax: None = None, policies: Sequence[str] | None = None, band: Sequence[str] | None = None,
        scale: str = "linear",
    ) -> Figure: ...  # fmt: skip

    @overload
    def plot(
        self, ax: Axes, policies: Sequence[str] | None = None, band: Sequence[str] | None = None, scale: str = "linear"
    ) -> Axes: ...

    def plot(
        self, ax: Axes | None = None, policies: Sequence[str] | None = None, band: Sequence[str] | None = None,
        scale: str = "linear",
    ) -> Figure | Axes:  # fmt: skip
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
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The new figure, to be changed or saved, or the given axis: its figure is the caller's, and notebooks would
            show it twice.  The Lai-Robbins limit is drawn if it lies below all curves after the first tenth of the
            rounds.

        Examples
        --------
        >>> import heavybandits as hb
        >>> policies = {"UCB": hb.UCB(), "KL-UCB": hb.KLUCB()}
        >>> result = hb.simulate(hb.env2(hb.Gaussian()), policies, horizon=100, replications=5)
        >>> figure = result.plot(policies=["UCB"], band=[])
        >>> figure.axes[0].get_ylabel()
        'mean regret'
        """
        require_extra("plot", "matplotlib")
        from .plot import NotebookFigure, plot_regret

        if scale not in ("linear", "log"):
            raise ValueError(f"plot: scale must be 'linear' or 'log', got {scale!r}")
        drawn = self._known("policies", self._labels if policies is None else policies)
        if not drawn:
            raise ValueError(f"plot: policies must name at least one policy, got {policies!r}")
        final = dict(zip(self._labels, self._regret[:, :, -1].mean(axis=1), strict=True))
        banded = sorted(drawn, key=final.__getitem__)[:2] if band is None else self._known("band", band)
        if ax is not None and not hasattr(ax, "plot"):
            raise TypeError(f"plot: ax must be a matplotlib axis, got {ax!r}")
        figure = NotebookFigure(figsize=(7, 4.2), layout="constrained")
        axes = figure.subplots() if ax is None else ax
        regret = {label: self._regret[self._labels.index(label)] for label in drawn}
        banded = [label for label in banded if label in drawn]
        plot_regret(axes, self.rounds, regret, banded, limit=self.lai_robbins_slope, scale=scale)
        axes.set(xlabel="pulls", ylabel="mean regret (bands: 80% of runs)" if banded else "mean regret")
        return figure if ax is None else ax

    def __str__(self) -> str:
        """Return the summary as a small table."""
        caption, head, rows = self._table()
        return f"{caption}\n{text_table(head, [[visible(row[0]), *row[1:]] for row in rows])}"

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        best = int(self._regret[:, :, -1].mean(axis=1).argmin())
        return html_table(*self._table(), {(best, 1)}, [look(label).colour for label in self._labels])

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        """Return a caption, a head and a row for each policy."""
        summary, count = self.summary(), self._regret.shape[1]
        rows = [[label, with_error(row["mean"], row["se"]), *(number(row[name]) for name in ("median", "worst")),
                 f"{round(row['failures'] * count)}", number(row["ns per pull"])]
                for label, row in summary.iterrows()]  # fmt: skip
        head = ["policy", "mean ± standard error", "median", "worst", f"failed (of {count})", "cost (ns per pull)"]
        done, played = plural(self.horizon, "pull"), plural(count, "replication")
        return f"Regret after {done}, in units of reward; {played}, seed {self.seed}", head, rows

    def _known(self, argument: str, labels: Sequence[str]) -> list[str]:
        """Return the labels; refuse those that this result does not have."""
        if isinstance(labels, str):
            raise TypeError(f"plot: {argument} must be a list of labels, got {labels!r}")
        for label in labels:
            if label not in self._labels:
                raise ValueError(f"plot: {unknown('policy', label, self._labels)} ({argument})")
        return list(labels)

    def __repr__(self) -> str:
        replications, pulls = plural(self._regret.shape[1], "replication"), plural(self.horizon, "pull")
        return f"Result({', '.join(self._labels)}; {replications} of {pulls}, seed {self.seed})"


def _dataset(arrays: Mapping[str, xr.DataArray], attributes: Mapping[str, int] = MappingProxyType({})) -> xr.Dataset:
    import xarray as xr

    return xr.Dataset(arrays, attrs=attributes)
