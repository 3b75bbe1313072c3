"""The replications of a study that judge its best policies, and those that chose them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..protocols import IntArray
from ..results.result import CHOOSING, JUDGING, Result
from ..results.study_result import StudyResult

OURS = ("SGD-UCB", "SGD-UCB-Median", "SGD-UCB-SMoM")
BEST_OF_OURS = "the best of the SGD-UCBs"
CHECKPOINTS = 400  # instead of every round, which would not fit in memory for thousands of replications

LEAST_JUDGES = 10  # replications that judge; as many choose


class NotRunError(LookupError):
    """A study lacks what a claim is about."""


@dataclass(frozen=True)
class StudyEvidence:
    """The evidence on a study's claims: its best policies, in replications that were not used to choose them.

    Attributes
    ----------
    study
        The study whose even replications choose the best policy of each family.
    further
        More replications of the best policies alone.
    """

    study: StudyResult
    further: StudyResult | None = None

    @cached_property
    def families(self) -> list[str]:
        """The families whose best policies are judged."""
        return [
            family for family in self.study.best if self.further is None or family in self.further.families.values()
        ]

    @cached_property
    def results(self) -> dict[str, Result]:
        """The results of the replications that judge, by label: first those of the study, then further ones.

        So what was measured once is never measured again, and evidence only gets longer.
        """
        return {label: self._of_best(label, JUDGING) for label in self.study.results}

    @cached_property
    def choosing(self) -> dict[str, Result]:
        """The results of the replications that chose, by label."""
        return {label: self._of_best(label, CHOOSING) for label in self.study.results}

    def _of_best(self, label: str, part: slice) -> Result:
        first = self.study.results[label]
        rounds = first.regret["round"].to_numpy()
        rounds = coarse_rounds(first.horizon) if len(rounds) == first.horizon else rounds
        played = [(first.at(part), [self.study.best[family] for family in self.families])]
        if self.further is not None and part == JUDGING:
            played.append((self.further.results[label].at(slice(_replications(first), None)), self.families))
        regret, pulls, wall_time = (
            np.concatenate([getattr(result, name).sel(policy=labels, **at).to_numpy() for result, labels in played], 1)
            for name, at in (("regret", {"round": rounds}), ("pulls", {}), ("wall_time", {}))
        )
        return Result(
            first.instance, labels=tuple(self.families), rounds=rounds, regret=regret, pulls=pulls,
            wall_time=wall_time, horizon=first.horizon, seed=first.seed,
        )  # fmt: skip

    @property
    def played(self) -> int:
        """How many replications were played."""
        last = self.further or self.study
        return max(_replications(result) for result in last.results.values())

    @property
    def judged(self) -> int:
        """How many of them judge."""
        return max(_replications(result) for result in self.results.values())

    def result(self, label: str) -> Result:
        """Return the result of an instance.

        Raises
        ------
        NotRunError
            If too few replications judge.
        """
        result = self.results[label]
        if _replications(result) < LEAST_JUDGES:
            played = _replications(self.study.results[label])
            raise NotRunError(f"too few replications ({played}): half of them choose variants, the other half judge")
        return result

    def resolve(self, family: str) -> str:
        """Return the family itself, or the best of ours on the replications that choose."""
        wanted = OURS if family == BEST_OF_OURS else (family,)
        for name in wanted:
            if name not in self.study.best:
                raise NotRunError(f"{name} was not run")
        return min(wanted, key=lambda name: self.study.scores[self.study.best[name]])

    def position(self, family: str) -> int:
        """Return the position of the family's best policy among the policies of the results."""
        return self.families.index(self.resolve(family))


def coarse_rounds(horizon: int) -> IntArray:
    """Return rounds at which regret is compared if a study keeps it at every round.

    Examples
    --------
    >>> coarse_rounds(1000)[:3], int(coarse_rounds(1000)[-1])
    (array([3, 6, 9]), 1000)
    """
    step = -(-horizon // CHECKPOINTS)
    return np.append(np.arange(step, horizon, step), horizon)


def _replications(result: Result) -> int:
    return int(result.regret.sizes["replication"])
