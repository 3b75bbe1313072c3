"""Runs studies: work items go to an executor, and whoever plays one stores it."""

from __future__ import annotations

import functools
import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import NamedTuple

from ..engine.loop import Run, play_chunk
from .schema import StudyError
from .store import Archive, Item
from .study import Study

_compiling = threading.Lock()


class Step(NamedTuple):
    """How far a run is."""

    last: str  # what was finished last
    pulls: int  # done in this session
    total: int  # of this session


def run_studies(
    studies: Mapping[str, Study],
    executor: Executor,
    watch: Callable[[Step], None] = lambda step: None,
    finished: Callable[[str], None] = lambda location: None,
) -> list[str]:
    """Play what is missing of these studies, given by the place of their store; return what was found damaged.

    ``watch`` is called before the first item and after each, ``finished`` when the last item of a study is stored;
    meanwhile workers go on.

    Examples
    --------
    >>> import tempfile
    >>> from heavybandits.studies.study import read_study
    >>> location = f"{tempfile.mkdtemp()}/cauchy.zarr"
    >>> with workers(2) as threads:
    ...     run_studies({location: read_study("cauchy").with_replications(1)}, threads)
    []
    >>> Archive(location).load().results["Env2"].regret.sizes["replication"]
    1
    """
    archives = [Archive.create(location, study) for location, study in studies.items()]
    with ExitStack() as reserved:
        for archive in archives:
            reserved.enter_context(archive.reserved())
        return _run(archives, executor, watch, finished)


def _run(
    archives: list[Archive], executor: Executor, watch: Callable[[Step], None], finished: Callable[[str], None]
) -> list[str]:
    """Do it, when the stores are open and no other run is at work on them."""
    began, start = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    work, damaged = [], []
    for archive in archives:
        missing, broken = archive.missing()
        work += [(archive, item) for item in missing]
        damaged += [f"{archive.study.name}: {item}" for item in broken]
    total = sum(_pulls(archive, item) for archive, item in work)
    watch(Step("", 0, total))
    done: Counter[str] = Counter()  # pulls, by archive
    left = Counter(archive.location for archive, _ in work)  # items
    # Not concurrent.futures.wait, which holds the locks of all futures for a while: Ctrl-C at that moment would hang.
    ready: SimpleQueue[Future[None]] = SimpleQueue()
    futures = {executor.submit(play_item, archive.location, archive.study, item): (archive, item)
               for archive, item in work}  # fmt: skip

    def close(archive: Archive) -> None:
        archive.add_session(started=began, seconds=round(time.perf_counter() - start, 1), machine=_machine(),
                            pulls=done.pop(archive.location), executor=type(executor).__name__)  # fmt: skip

    order, pulls = {future: place for place, future in enumerate(futures)}, 0
    try:
        for future in futures:
            future.add_done_callback(ready.put)
        while left.total():
            for future in sorted(_take(ready), key=order.__getitem__):  # of several errors the first item's is told
                future.result()
                archive, item = futures[future]
                done[archive.location] += _pulls(archive, item)
                left[archive.location] -= 1
                pulls += _pulls(archive, item)
                watch(Step(f"{archive.study.name}: {item.case}", pulls, total))
                if not left[archive.location]:
                    close(archive)
                    finished(archive.location)
    finally:
        for future in futures:
            future.cancel()
        for archive in archives:
            if archive.location in done:
                close(archive)
    return damaged


def _take(ready: SimpleQueue[Future[None]]) -> list[Future[None]]:
    """Wait for something in the queue, and take all that is there."""
    taken = [ready.get()]
    while not ready.empty():
        taken.append(ready.get())
    return taken


def play_item(location: str, study: Study, item: Item) -> None:
    """Play an item and store it: what a worker does, be it a thread or another machine."""
    with _compiling:
        runs = _runs(study, item.case)
    instance, horizon, *_ = study.cases[item.case]
    try:
        outcome = play_chunk(instance, list(runs.values()), horizon, study.spec["study"]["seed"], item.replications)
    except Exception as error:  # whatever a user's policy or noise may raise
        raise StudyError(f"{study.name}: {item}: {type(error).__name__}: {error}") from error
    _opened(location, study).write(item, outcome)


@functools.lru_cache(maxsize=256)
def _runs(study: Study, case: str) -> dict[str, Run]:
    instance, horizon, _, rounds, _ = study.cases[case]
    runs = {}
    for label, policy in study.policies(case).items():
        try:
            runs[label] = Run(instance, policy, horizon, rounds, study.spec["study"]["seed"])
        except Exception as error:  # whatever a user's policy may raise
            raise StudyError(f"{study.name}: policy.{label}: {type(error).__name__}: {error}") from error
    return runs


@functools.lru_cache(maxsize=256)
def _opened(location: str, study: Study) -> Archive:
    return Archive.create(location, study)


def _pulls(archive: Archive, item: Item) -> int:
    return archive.study.cases[item.case].horizon * len(item.replications) * len(archive.study.families)


@contextmanager
def workers(threads: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """Threads of this process, by default one per core; or the workers of a Dask cluster, by its scheduler's address.

    When an exception ends it, what has not begun is dropped, and what has is not waited for.
    """
    if scheduler:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError("a scheduler needs Dask: pip install 'heavybandits[distributed]'") from None
        try:
            client = Client(scheduler, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ValueError(f"there is no Dask scheduler at {scheduler!r}: {error}") from None
        with client, client.get_executor(retries=3) as executor:  # type: ignore[no-untyped-call]
            yield executor
        return
    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
