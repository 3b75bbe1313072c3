"""A folder of results: run studies into it, and report on the studies it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..results.study_result import StudyResult
from ..studies.executors import workers
from ..studies.places import absolute, find_stores
from ..studies.progress import RunProgress
from ..studies.run import resumable, run_studies
from ..studies.store import Store
from ..studies.study import Study
from .artist import Artist
from .page import write_page
from .section import Section, study_section


class Reported(NamedTuple):
    """A report that was written."""

    studies: list[StudyResult]
    page: Path
    closing: str = ""  # what the terminal says after the tables
    damaged: Sequence[str] = ()  # parts of the stores that were damaged and have been computed again


def report_folder(
    folder: Path, store: str | None = None, drawn: Mapping[str, Section] = MappingProxyType({})
) -> Reported:
    """Write figures, tables and the page for all studies in a folder; ``drawn`` has finished sections, by store."""
    sections = stored_sections(folder, store, drawn)
    return Reported([section.study for section in sections], write_page(folder, sections))


def stored_sections(folder: Path, store: str | None, drawn: Mapping[str, Section]) -> list[Section]:
    """Return what the page shows of all studies in a folder; those that are not drawn yet are drawn."""
    return [drawn.get(location) or study_section(folder, Store(location).load())
            for location in find_stores(store or folder)]  # fmt: skip


def run_and_report(
    studies: Sequence[Study], folder: Path, threads: int | None, scheduler: str | None, store: str | None,
    further: Callable[[Executor], list[str]] = lambda executor: [], write: Callable[..., Reported] = report_folder,
) -> Reported:  # fmt: skip
    """Run studies into a folder, drawing each as soon as it is finished, and write the report.

    Parameters
    ----------
    studies, folder
        What is run, and where results and report go.
    threads, scheduler
        Who runs it; see :func:`~heavybandits.studies.executors.workers`.
    store
        An address for the results, if they are not to be kept in the folder.
    further
        Runs more once the studies are finished, and returns what it found damaged.
    write
        Writes the report; called like :func:`report_folder`.
    """
    stores = {absolute(f"{store or folder}/{study.name}.zarr"): study for study in studies}
    with workers(threads, scheduler) as executor, Artist(folder) as artist, RunProgress() as progress:
        damaged = run_studies(stores, executor, progress, artist.draw)
        with resumable(lambda: True):
            drawn = artist.sections()
            damaged += further(executor)
    with resumable(lambda: True):
        return write(folder, store, drawn)._replace(damaged=damaged)
