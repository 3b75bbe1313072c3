"""A folder of results: run studies into it, and report on the studies it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..report import Artist, Section, study_section, write_page
from ..results.study_result import StudyResult
from ..studies.executors import workers
from ..studies.progress import Progress
from ..studies.run import resumable, run_studies
from ..studies.store import Store, absolute, find_stores
from ..studies.study import Study
from .claims import EXPERIMENTS
from .differences import DIFFERENCES
from .further import decide_further, load_further
from .paper import PAPER
from .verdicts import Verdict, verdicts


class Reported(NamedTuple):
    """A report that was written."""

    studies: list[StudyResult]
    verdicts: list[Verdict]
    page: Path
    damaged: list[str]  # parts of the stores that were damaged and have been computed again


def run_and_report(
    studies: Sequence[Study], folder: Path, threads: int | None, scheduler: str | None, store: str | None,
    decide: bool = False,
) -> Reported:  # fmt: skip
    """Run studies into a folder, drawing each as soon as it is finished, and write the report.

    ``store`` is an address for the results, if they are not to be kept in the folder; ``decide`` plays further
    replications where claims of the paper are undecided.
    """
    stores = {absolute(f"{store or folder}/{study.name}.zarr"): study for study in studies}
    with workers(threads, scheduler) as executor, Artist(folder) as artist, Progress() as progress:
        damaged = run_studies(stores, executor, progress, artist.draw)
        with resumable(lambda: True):
            drawn = artist.sections()
            if decide:
                damaged += decide_further(
                    {study.name: study for study in studies},
                    str(store or folder),
                    executor,
                    tell=partial(print, flush=True),
                )
    with resumable(lambda: True):
        return report_folder(folder, store, drawn)._replace(damaged=damaged)


def report_folder(
    folder: Path, store: str | None = None, drawn: Mapping[str, Section] = MappingProxyType({})
) -> Reported:
    """Write figures, tables and the page for all studies in a folder; ``drawn`` has finished sections, by store."""
    sections = [
        drawn.get(location) or study_section(folder, Store(location).load())
        for location in find_stores(store or folder)
    ]
    order = {name: number for number, name in enumerate(EXPERIMENTS)}
    sections.sort(key=lambda section: order.get(section.study.name, len(order)))
    studies = [section.study for section in sections]
    decided = verdicts({study.name: study for study in studies}, load_further(store or folder))
    page = write_page(folder, sections, decided, DIFFERENCES if decided else (), PAPER)
    return Reported(studies, decided, page, [])
