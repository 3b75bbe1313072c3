"""Further replications where claims are undecided.

The results of `reproduce` are the first look; their even replications have chosen a variant of each algorithm.  Each
further look doubles the replications of the studies that undecided claims are about, for the chosen variants alone.
Evidence holds at all times, so one may stop at any look.  This ends when all claims are decided, or when a look would
need more pulls than the budget has left, or more than 128 times the replications of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from ..results.study_result import StudyResult
from ..studies.places import StoreError, absolute, find_stores
from ..studies.progress import RunProgress
from ..studies.run import run_studies
from ..studies.schema import StudyFile
from ..studies.store import Store
from ..studies.study import Study
from .study_evidence import coarse_rounds
from .verdicts import verdicts

BUDGET = 15_000_000_000  # pulls: about ten minutes on two cores
MOST_TIMES = 128  # the replications of the first look


def decide_further(
    studies: Mapping[str, Study], folder: str, executor: Executor, budget: int = BUDGET,
    tell: Callable[[str], None] = lambda line: None,
) -> list[str]:  # fmt: skip
    """Play further replications of studies whose results are in a folder, and return what was found damaged.

    Parameters
    ----------
    studies
        The studies that were run, by name.
    folder
        The folder or address of their stores; further replications go to ``further`` in it.
    executor
        The executor that plays them.
    budget
        The maximum number of pulls.
    tell
        Called with a sentence before each look.
    """
    results = {name: Store(f"{folder}/{name}.zarr").load() for name in studies}
    damaged: list[str] = []
    while True:
        further = load_further(folder)
        undecided = [verdict.claim for verdict in verdicts(results, further) if verdict.is_open]
        needed = {name for claim in undecided for name in (claim.study, *claim.rule.needs)}
        looks = [_next(study, results[name], name in further, folder) for name, study in studies.items()
                 if name in needed]  # fmt: skip
        work = {}
        for look in sorted(filter(None, looks), key=lambda look: look.pulls):
            if look.pulls <= budget:
                work[look.store] = look.study
                budget -= look.pulls
        if not work:
            return damaged
        names = ", ".join(study.name for study in work.values())
        tell(f"Undecided claims: {len(undecided)}. Playing further replications of {names}.")
        with RunProgress() as progress:
            damaged += run_studies(work, executor, progress)


def load_further(folder: str | Path) -> dict[str, StudyResult]:
    """Return the complete further results in a folder, by the name of their study."""
    try:
        stores = find_stores(f"{absolute(folder)}/further")
    except StoreError:
        return {}
    results = [Store(location).load() for location in stores]
    return {result.name: result for result in results if result.provenance["complete"]}


class _Look(NamedTuple):
    """A study with the replications that a look needs, its store, and the pulls to play for it."""

    store: str
    study: Study
    pulls: int


def _next(study: Study, result: StudyResult, complete: bool, folder: str) -> _Look | None:
    """Return the next look at a study, or the current one if it is incomplete; None after the longest look."""
    store, chosen = f"{absolute(folder)}/further/{study.name}.zarr", _chosen(study, result)
    label, replications = next(iter(study.replications.items()))
    try:
        began = Store(store).record.cases[label].replications // replications
    except StoreError:  # there has been none
        began = 1
    times = 2 * began if complete or began == 1 else began
    if times > MOST_TIMES:
        return None
    longer = chosen.repeated(times)
    return _Look(store, longer, _pulls(longer) - complete * _pulls(chosen.repeated(began)))


def _chosen(study: Study, result: StudyResult) -> Study:
    """Return the study with the best variant of each algorithm of the paper."""
    spec = study.only([label for family, label in result.best.items() if family != "auto"]).spec.plain()
    if spec["study"]["checkpoints"] == "all":
        spec["study"]["checkpoints"] = coarse_rounds(spec["study"]["horizon"]).tolist()
    return Study(study.name, StudyFile.checked(study.name, spec), study.folder)


def _pulls(study: Study) -> int:
    return sum(case.horizon * case.replications for case in study.cases.values()) * len(study.choices)
