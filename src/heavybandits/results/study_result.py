"""The results of a study: those of its cases, and which setting of each policy did best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._format import html_table, plural
from .._validate import require_extra
from ..palette import look
from .result import CHOOSING, Result
from .summary import with_error

if TYPE_CHECKING:
    import xarray as xr

MOST_CASES = 6  # side by side in a notebook


@dataclass(frozen=True, repr=False)
class StudyResult:
    """The results of a study, one per case, and how they were made.

    Attributes
    ----------
    name, title, description
        What the study is called and what it is about.
    results
        The result of each case by its label, in the order of the study.
    families
        The name of each policy in the study file, by its label; a sweep makes several policies of one name.
    swept
        The parameters that were swept to make a case, by its label.
    spec
        The study in plain values.
    provenance
        Versions, digest of the study, seed, machine, sessions.

    Examples
    --------
    >>> import heavybandits as hb
    >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
    >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
    >>> study
    StudyResult(cauchy; 1 case, 1 policy)
    >>> study.best
    {'UCB': 'UCB'}
    """

    name: str
    title: str
    description: str
    results: dict[str, Result]
    families: dict[str, str]
    swept: dict[str, dict[str, float]]
    spec: dict[str, Any]
    provenance: dict[str, Any]

    @property
    def figure(self) -> str:
        """The figure that the study asks for: "curves", "sweep", "runtime" or "matrix"."""
        return str(self.spec.get("report", {}).get("figure", "curves"))

    @property
    def targets(self) -> list[float]:
        """The targets for mean regret that the study asks about."""
        return [float(target) for target in self.spec.get("report", {}).get("targets", (0.1, 0.05))]

    def to_xarray(self) -> xr.DataTree:
        """Return all results as a tree with a dataset per case, as ``xarray.open_datatree`` opens a store.

        Cases that were swept have their parameters as coordinates, so that they can be put side by side:
        ``xr.concat([case.to_dataset() for case in tree.children.values()], "case")``.

        Examples
        --------
        >>> import heavybandits as hb
        >>> result = hb.simulate(hb.env2(hb.Cauchy()), {"UCB": hb.UCB()}, horizon=100, replications=5)
        >>> study = StudyResult("cauchy", "Cauchy noise", "", {"Env2": result}, {"UCB": "UCB"}, {}, {}, {})
        >>> list(study.to_xarray()["Env2"])
        ['regret', 'pulls', 'wall_time']
        """
        require_extra("studies", "xarray")
        import xarray as xr

        datasets = {label: result.to_xarray() for label, result in self.results.items()}
        return xr.DataTree.from_dict(datasets, name=self.name)

    @cached_property
    def scores(self) -> dict[str, float]:
        """How well each policy does on the replications that choose, by label; lower is better.

        The score is the mean, over the instances in which arms differ, of the logarithm of mean regret at the horizon.
        """
        final = [np.log(np.maximum(result._regret[:, CHOOSING, -1].mean(axis=1), 1e-300))
                 for result in self.results.values() if result.instance.gaps.any()]  # fmt: skip
        scores = np.mean(final, axis=0) if final else np.zeros(len(self.families))
        return dict(zip(self.families, scores.tolist(), strict=True))

    def __repr__(self) -> str:
        policies = plural(len(self.families), "policy", "policies")
        return f"StudyResult({self.name}; {plural(len(self.results), 'case')}, {policies})"

    def _repr_html_(self) -> str:
        """Show mean regret in a notebook: the best policy of each family, by case."""
        shown = dict(list(self.results.items())[:MOST_CASES])
        summaries = {case: result.summary().loc[list(self.best.values())] for case, result in shown.items()}
        rows = [[label, *(with_error(summary.loc[label, "mean"], summary.loc[label, "se"])
                          for summary in summaries.values())]
                for label in self.best.values()]  # fmt: skip
        bold = {(int(summary["mean"].to_numpy().argmin()), column)
                for column, summary in enumerate(summaries.values(), start=1)}  # fmt: skip
        more = f"; the first {MOST_CASES} of {len(self.results)} cases" if len(self.results) > MOST_CASES else ""
        units = f"regret at the horizon, in units of reward, mean ± standard error{more}"
        caption = f"{self.title or self.name} ({units})"
        return html_table(caption, ["policy", *shown], rows, bold, [look(family).colour for family in self.best])

    @cached_property
    def best(self) -> dict[str, str]:
        """The label of the policy of each family that has the lowest of :attr:`scores`.

        Even replications choose it, so that odd ones can judge it: a policy looks better than it is on the numbers it
        was chosen by.
        """
        best: dict[str, str] = {}
        for label, family in self.families.items():
            if family not in best or self.scores[label] < self.scores[best[family]]:
                best[family] = label
        return best
